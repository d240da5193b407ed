import NIOCore
public import NIOHTTP1
public import Records
import Synchronization

/// Takes traces as OTLP over HTTP, as an OpenTelemetry collector does.
public final class TraceCollector: Sendable {
    /// A span as it was sent.
    public struct Received: Sendable {
        public let service: String
        public let name: String
        public let trace: String
        public let id: String
        public let parent: String?
        public let kind: Int
        /// In nanoseconds since 1970.
        public let start: Int
        /// In nanoseconds since 1970.
        public let end: Int
        public let attributes: [String: String]
        public let isFailed: Bool

        init?(_ json: JSON, of service: String) {
            guard let name = json["name"]?.string, let trace = json["traceId"]?.string, trace.utf8.count == 32,
                let id = json["spanId"]?.string, id.utf8.count == 16, let kind = json["kind"]?.int,
                let start = json["startTimeUnixNano"]?.string.flatMap(Int.init),
                let end = json["endTimeUnixNano"]?.string.flatMap(Int.init)
            else { return nil }
            (self.service, self.name, self.trace, self.id, self.kind) = (service, name, trace, id, kind)
            (self.start, self.end) = (start, end)
            parent = json["parentSpanId"]?.string
            isFailed = json["status"]?["code"]?.int == 2
            attributes = TraceCollector.attributes(json["attributes"])
        }
    }

    /// A request as it was sent.
    public struct Posted: Sendable {
        public let path: String
        public let headers: HTTPHeaders
        public let body: JSON
    }

    /// The status of the next answers, then 200.
    private let statuses: Mutex<[Int]>
    private let posts = Mutex<[Posted]>([])
    private let server = Mutex<CannedServer?>(nil)

    /// Starts a collector on a free port.
    ///
    /// - Parameter statuses: those of the first answers; all others are 200.
    public static func start(statuses: [Int] = []) async throws -> TraceCollector {
        let collector = TraceCollector(statuses)
        let server = try await CannedServer.start { [weak collector] request in collector?.answer(request) ?? "" }
        collector.server.withLock { $0 = server }
        return collector
    }

    private init(_ statuses: [Int]) { self.statuses = Mutex(statuses) }

    private func answer(_ request: CannedRequest) -> String {
        let status = statuses.withLock { $0.isEmpty ? 200 : $0.removeFirst() }
        let body = (try? JSON(parsing: request.body.readableBytesView)) ?? .null
        posts.withLock { $0.append(Posted(path: request.path, headers: request.headers, body: body)) }
        return "HTTP/1.1 \(status) \(status == 200 ? "OK" : "Refused")\r\ncontent-length: 2\r\n\r\n{}"
    }

    /// The value of `OTEL_EXPORTER_OTLP_ENDPOINT`.
    public var endpoint: String { server.withLock { $0?.url("") ?? "" } }

    /// All requests so far.
    public var requests: [Posted] { posts.withLock { $0 } }

    /// All spans so far, those of refused requests too.
    public var spans: [Received] {
        requests.flatMap { request in
            (request.body["resourceSpans"]?.items ?? []).flatMap { resource in
                let service = Self.attributes(resource["resource"]?["attributes"])["service.name"] ?? ""
                return (resource["scopeSpans"]?.items ?? []).flatMap { $0["spans"]?.items ?? [] }
                    .compactMap { Received($0, of: service) }
            }
        }
    }

    public func spans(of trace: String) -> [Received] { spans.filter { $0.trace == trace } }

    private static func attributes(_ list: JSON?) -> [String: String] {
        let pairs = (list?.items ?? []).compactMap { item in
            item["key"]?.string.flatMap { key in
                (item["value"]?["stringValue"]?.string ?? item["value"]?["intValue"]?.string).map { (key, $0) }
            }
        }
        return Dictionary(pairs) { $1 }
    }
}
