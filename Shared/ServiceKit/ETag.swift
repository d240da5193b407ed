import HTTPTypes
public import Hummingbird
import NIOCore
public import Records

/// The strong validator of a document (RFC 9110 section 8.8.3): its version, in quotes on the wire.
public struct ETag: Sendable, Hashable, CustomStringConvertible {
    public let value: String

    public init(_ value: String) { self.value = value }

    /// The validator of an aggregate's state: the partition offset of its last event.
    public init(version: some BinaryInteger) { value = String(version) }

    public var description: String { "\"\(value)\"" }
}

extension Request {
    /// Holds the request to its `If-Match` (RFC 9110 section 13.1.1): one of the listed tags, or `*`, must be the current
    /// document's; weak tags never match. Without the header all is well.
    ///
    /// - Parameter current: nil where there is no document.
    /// - Throws: `precondition_failed`.
    public func requireMatch(_ current: ETag?) throws(Problem) {
        let listed = headers[values: .ifMatch].flatMap { $0.split(separator: ",") }.map { $0.trimmed() }
        guard !listed.isEmpty else { return }
        guard let current else { throw .preconditionFailed }
        guard listed.contains("*") || listed.contains(current.description) else { throw .preconditionFailed }
    }
}

extension Response {
    /// An answer with a document.
    public init(_ record: some Value, status: HTTPResponse.Status = .ok, etag: ETag? = nil) {
        self.init(json: record.jsonBytes, status: status, etag: etag)
    }

    /// An answer with bytes that are JSON already.
    public init(json bytes: [UInt8], status: HTTPResponse.Status = .ok, etag: ETag? = nil) {
        var headers: HTTPFields = [.contentType: "application/json"]
        if let etag { headers[.eTag] = etag.description }
        self.init(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// An answer with plain text.
    init(text: String, type: String = "text/plain; charset=utf-8", status: HTTPResponse.Status = .ok) {
        self.init(
            status: status, headers: [.contentType: type], body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}
