import Crypto
public import EventLog
import HTTPTypes
public import Hummingbird
public import Identity
import NIOCore
import Records

extension Request {
    /// Returns the key and fingerprint by which a repeat of the request is recognised; nil without `Idempotency-Key`.
    ///
    /// The fingerprint is the SHA-256 of method, path with query, and content. It contains no name that a release may
    /// change, so a repeat is recognised after a deploy.
    ///
    /// - Parameter content: the part that distinguishes two requests to the same path. By default it is the JSON
    ///   document of the body, normalised in whitespace and member order and without secrets.
    /// - Parameter line: the number of a line; the key then counts for each line of the request.
    /// - Throws: `invalid_header` if the key is not an identifier.
    public func idempotency(
        of caller: Caller, _ context: ServiceContext, content: String? = nil, line: Int? = nil
    ) throws(Problem) -> Idempotency? {
        guard let key = headers[.idempotencyKey] else { return nil }
        guard isIdentifier(key) else {
            throw .invalidHeader.with(detail: "Idempotency-Key must have 1 to 128 of A-Z a-z 0-9 . _ : -")
        }
        // A method and a path can't contain a space.
        var words = Array("\(method) \(uri.string) ".utf8)
        words += content.map { Array($0.utf8) } ?? context.document ?? []
        // Idempotency keys are scoped to the caller. They contain no space.
        let scope = line.map { " \($0)" } ?? ""
        return Idempotency(
            key: "\(caller.description) \(key)\(scope)", fingerprint: Array(SHA256.hash(data: words)))
    }

    /// Reads the JSON document of a request with an idempotency key, and keeps it for the handler.
    ///
    /// - Parameter omittingSecrets: returns the document without its secrets.
    /// - Returns: the document with its members sorted by name; nil without a key or without JSON.
    /// - Throws: ``Problem``: `body_too_large`, `malformed_json`.
    mutating func repeatableDocument(_ omittingSecrets: (JSON) -> JSON) async throws -> [UInt8]? {
        guard headers[.idempotencyKey] != nil, headers[.contentType].map(Self.isJSON) ?? false else { return nil }
        let bytes = try await Self.collecting(upTo: Self.documentLimit) { try await collectBody(upTo: $0) }
        return omittingSecrets(try JSON(received: bytes.readableBytesView)).bytes
    }
}
