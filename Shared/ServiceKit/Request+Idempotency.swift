import Crypto
public import EventLog
import HTTPTypes
public import Hummingbird
import NIOCore
import Records

extension Request {
    /// What makes this request recognisable when its caller repeats it; nil without an `Idempotency-Key`.
    ///
    /// The fingerprint is SHA-256 over method, path with query, and content. It depends on nothing that a release of the
    /// program may rename: a repeat is known after a deploy.
    ///
    /// - Parameter content: what makes two requests to the same path the same; by default the JSON document of the body, whatever
    ///   its spaces and the order of its members.
    /// - Throws: `invalid_header` where the key is no identifier.
    public func idempotency(
        of caller: Caller, _ context: ServiceContext, content: String? = nil
    ) throws(Problem) -> Idempotency? {
        guard let key = headers[.idempotencyKey] else { return nil }
        guard isIdentifier(key) else {
            throw .invalidHeader.because("Idempotency-Key must have 1 to 128 of A-Z a-z 0-9 . _ : -")
        }
        // A space can't be in a method or in a path.
        var words = Array("\(method) \(uri.string) ".utf8)
        words += content.map { Array($0.utf8) } ?? context.document ?? []
        // One caller's keys are no other's.
        return Idempotency(key: "\(caller.description) \(key)", fingerprint: Array(SHA256.hash(data: words)))
    }

    /// Reads the JSON document of a request that its caller may repeat, and leaves it where the handler finds it.
    ///
    /// - Returns: the document with its members sorted by name; nil where there is no key or no JSON.
    /// - Throws: ``Problem``: `body_too_large`, `malformed_json`.
    mutating func repeatableDocument() async throws -> [UInt8]? {
        guard headers[.idempotencyKey] != nil, headers[.contentType].map(Self.isJSON) ?? false else { return nil }
        let bytes = try await Self.collecting(upTo: Self.documentLimit) { try await collectBody(upTo: $0) }
        return try JSON(received: bytes.readableBytesView).bytes
    }
}
