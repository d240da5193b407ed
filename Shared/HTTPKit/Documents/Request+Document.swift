import HTTPTypes
public import Hummingbird
import NIOCore
public import Records

extension Request {
    /// The largest JSON body, in bytes.
    public static let documentLimit = 64 * 1024
    /// The most items of an array, and the most members of an object.
    public static let lengthLimit = 1024

    /// Reads the body as a record. Unknown members are faults.
    ///
    /// - Throws: ``Problem``: `unsupported_media_type`, `body_too_large`, `malformed_json`, `invalid_document`.
    public func document<R: Record>(as type: R.Type = R.self, limit: Int = Request.documentLimit) async throws -> R {
        guard headers[.contentType].map(Self.isJSON) ?? false else { throw Problem.unsupportedMediaType }
        let bytes = try await Self.collecting(upTo: limit) { try await body.collect(upTo: $0) }
        return try R(received: bytes.readableBytesView)
    }

    /// Reads a body, and reports the problems of a missing, slow or large one.
    static func collecting(
        upTo limit: Int, _ read: (Int) async throws -> ByteBuffer
    ) async throws -> ByteBuffer {
        do { return try await read(limit) } catch is NIOTooManyBytesError {
            throw Problem.bodyTooLarge.with(detail: "The body may have at most \(limit) bytes.")
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // The client is gone, so it does not see this. A 500 would count a fault that the service does not have.
            throw Problem.malformedJSON.with(detail: "The connection ended before the body was complete.")
        }
    }

    static func isJSON(_ media: String) -> Bool {
        // A fast path: nearly all clients send exactly this.
        media == "application/json" || media.split(separator: ";").first?.trimmed().lowercased() == "application/json"
    }
}

extension Record {
    /// Reads the body of a request with at most ``JSON/receivedDepth`` levels and `Request.lengthLimit` items.
    ///
    /// - Throws: `JSONSyntaxError`, `DocumentError`, or ``Problem``: `invalid_document`.
    package init(received bytes: some Collection<UInt8>) throws {
        let json = try JSON(received: bytes)
        // Each item takes at least two bytes, so most documents need no counting.
        if bytes.count > 2 * Request.lengthLimit, let fault = json.excess(over: Request.lengthLimit) {
            throw Problem.invalidDocument.with(fieldErrors: [fault])
        }
        self = try Self(json: json)
    }
}

extension JSON {
    /// Returns the fault of the first array or object that is too long. The parser has limited the depth.
    fileprivate func excess(over limit: Int, at pointer: String = "") -> FieldError? {
        switch self {
        case .array(let items):
            guard items.count <= limit else {
                return FieldError(pointer: pointer, detail: "has more than \(limit) items")
            }
            for (index, item) in items.enumerated() {
                if let fault = item.excess(over: limit, at: "\(pointer)/\(index)") { return fault }
            }
        case .object(let members):
            guard members.count <= limit else {
                return FieldError(pointer: pointer, detail: "has more than \(limit) members")
            }
            for member in members {
                let step = "\(pointer)/\(member.name.pointerStep)"
                if let fault = member.value.excess(over: limit, at: step) { return fault }
            }
        default: break
        }
        return nil
    }
}

extension HTTPField.Name {
    /// The trace of a request (W3C Trace Context).
    public static let traceparent = HTTPField.Name("traceparent")!
    public static let idempotencyKey = HTTPField.Name("Idempotency-Key")!
    public static let lastEventID = HTTPField.Name("Last-Event-ID")!
}

extension StringProtocol {
    /// Returns the text without white space at both ends.
    public func trimmed() -> String {
        var rest = self[...]
        while rest.first?.isWhitespace == true { rest = rest.dropFirst() }
        while rest.last?.isWhitespace == true { rest = rest.dropLast() }
        return String(rest)
    }
}
