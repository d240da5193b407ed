public import HTTPTypes
public import Hummingbird
import NIOCore
public import Records

/// A successful answer of a route. Its type is a part of the API description.
public protocol RouteResponse: Sendable {
    /// The type of the JSON document; nil if the answer has none.
    static var documentType: (any Value.Type)? { get }
    /// The status, unless the route has another one.
    static var defaultStatus: HTTPResponse.Status { get }
    /// Returns the response with the status of the route.
    func response(_ status: HTTPResponse.Status) -> Response
}

/// An answer with a JSON document.
public struct Reply<Document: Value>: RouteResponse {
    public static var documentType: (any Value.Type)? { Document.self }
    public static var defaultStatus: HTTPResponse.Status { .ok }
    /// The status, if it is not the route's.
    public var status: HTTPResponse.Status?
    public var headers: HTTPFields = [.contentType: "application/json"]
    private let json: [UInt8]

    /// Creates an answer.
    public init(_ document: Document, etag: ETag? = nil) { self.init(json: document.jsonBytes, etag: etag) }

    /// Creates an answer from the JSON of its document.
    public init(json: [UInt8], etag: ETag? = nil) {
        self.json = json
        headers[.eTag] = etag?.description
    }

    public func response(_ status: HTTPResponse.Status) -> Response {
        Response(
            status: self.status ?? status, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: json)))
    }
}

/// An answer without content.
public struct NoContent: RouteResponse {
    public static var documentType: (any Value.Type)? { nil }
    public static var defaultStatus: HTTPResponse.Status { .noContent }
    public var headers: HTTPFields = [:]

    /// Creates an answer.
    public init() {}

    public func response(_ status: HTTPResponse.Status) -> Response { Response(status: status, headers: headers) }
}

/// An answer with any content and status.
extension Response: RouteResponse {
    public static var documentType: (any Value.Type)? { nil }
    public static var defaultStatus: HTTPResponse.Status { .ok }
    public func response(_ status: HTTPResponse.Status) -> Response { self }
}
