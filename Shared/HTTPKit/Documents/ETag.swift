public import EventLog
import HTTPTypes
public import Hummingbird
import NIOCore
public import Records

/// The strong validator of a document (RFC 9110 section 8.8.3): its version, in quotes on the wire.
public struct ETag: Sendable, Hashable, CustomStringConvertible {
    /// The version, without quotes.
    public let value: String

    /// Creates a validator from text without quotes.
    public init(_ value: String) { self.value = value }

    /// Creates a validator from the number of events of a document, or from the offset of the last one.
    ///
    /// - Parameter incarnation: that of the log. In another one, the same number may belong to other events.
    public init(version: Int, in incarnation: LogIncarnation) { value = incarnation.marked(String(version)) }

    public var description: String { "\"\(value)\"" }
}

extension Request {
    /// Checks `If-Match` (RFC 9110 section 13.1.1) if the request has it: one of its tags must be the document's, or
    /// `*`. Weak tags never match.
    ///
    /// - Parameter current: the document's tag; nil if there is no document.
    /// - Throws: `precondition_failed`.
    public func requireMatch(_ current: ETag?) throws(Problem) {
        let listed = headers[values: .ifMatch].flatMap { $0.split(separator: ",") }.map { $0.trimmed() }
        guard !listed.isEmpty else { return }
        guard let current else { throw .preconditionFailed }
        guard listed.contains("*") || listed.contains(current.description) else { throw .preconditionFailed }
    }
}

extension Response {
    /// Creates an answer with a document.
    public init(_ record: some Value, status: HTTPResponse.Status = .ok, etag: ETag? = nil) {
        self.init(json: record.jsonBytes, status: status, etag: etag)
    }

    /// Creates an answer from the bytes of a JSON text.
    public init(json bytes: [UInt8], status: HTTPResponse.Status = .ok, etag: ETag? = nil) {
        var headers: HTTPFields = [.contentType: "application/json"]
        if let etag { headers[.eTag] = etag.description }
        self.init(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// Creates an answer with text.
    public init(text: String, type: String = "text/plain; charset=utf-8", status: HTTPResponse.Status = .ok) {
        self.init(
            status: status, headers: [.contentType: type], body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}
