import AsyncHTTPClient
import Foundation
import HTTPKit
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import Records
import ServiceLifecycle
import Telemetry

/// Sends the spans of a process to an OpenTelemetry collector as OTLP over HTTP, once a second and at shutdown.
///
/// A collector that is busy or unreachable gets the same spans again, with longer and longer pauses. Meanwhile new spans
/// wait in the ``Tracer`` until it is full. No request waits for the collector.
struct SpanExporter: Service {
    /// The most spans of a request: the default of OpenTelemetry's SDKs.
    static let batch = 512

    private let tracer: Tracer
    private let endpoint: String
    private let headers: [(name: String, value: String)]
    private let document: SpanDocument
    private let configuration: HTTPClient.Configuration
    private let interval: Duration
    /// The longest pause after failures.
    private let longestPause: Duration
    private let metrics: Metrics
    private let logger: Logger

    /// - Throws: an error if a file of the settings can't be read.
    /// - Returns: nil if the settings name no collector.
    init?(
        _ settings: TraceSettings, of service: String, _ tracer: Tracer, interval: Duration = .seconds(1),
        longestPause: Duration = .seconds(30), metrics: Metrics, logger: Logger
    ) throws(ConfigurationError) {
        let (headers, trusted) = (try settings.readHeaders(), try settings.trusted())
        guard let endpoint = settings.endpoint else { return nil }
        self.tracer = tracer
        self.endpoint = endpoint
        self.headers = headers
        document = SpanDocument(service: service, instance: UUID().uuidString.lowercased())
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = .seconds(5)
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.additionalTrustRoots = [.certificates(trusted)]
        configuration.tlsConfiguration = tls
        self.configuration = configuration
        self.interval = interval
        self.longestPause = longestPause
        self.metrics = metrics
        self.logger = logger
    }

    func run() async throws {
        try await HTTPClient.withHTTPClient(configuration: configuration) { client in
            let rest = await cancelWhenGracefulShutdown {
                var (queue, pause) = (Queue(), interval)
                while (try? await Task.sleep(for: pause)) != nil { (queue, pause) = await exported(queue, client) }
                return queue
            }
            var queue = rest
            // A collector that does not answer must not delay the shutdown by another timeout.
            while queue.failures == 0 || queue.spans.isEmpty, !queue.spans.isEmpty || tracer.count > 0 {
                queue = await exported(queue, client).queue
            }
            drop(queue.spans + tracer.take(.max), "unreachable")
        }
    }

    /// The spans of the next request, and the failures since the last success.
    private struct Queue: Sendable {
        var spans: [Span] = []
        var failures = 0
    }

    private enum Outcome: Sendable, Equatable {
        case accepted(rejected: Int)
        /// The collector will never accept these spans.
        case refused(String)
        case failed(String, pause: Duration?)
    }

    /// Sends the next spans in a task of its own. A cancelled request may have reached the collector, so its spans would be
    /// sent twice.
    private func exported(_ queue: Queue, _ client: HTTPClient) async -> (queue: Queue, pause: Duration) {
        await Task {
            var queue = queue
            let pause = await export(&queue, client)
            return (queue, pause)
        }.value
    }

    /// Sends the next spans.
    ///
    /// - Returns: the pause before the next call; zero if further spans wait.
    private func export(_ queue: inout Queue, _ client: HTTPClient) async -> Duration {
        if queue.spans.isEmpty { queue.spans = tracer.take(Self.batch) }
        guard !queue.spans.isEmpty else { return interval }
        switch await send(queue.spans, client) {
        case .accepted(let rejected):
            metrics.add(Double(queue.spans.count - rejected), to: .spansExported)
            if rejected > 0 { metrics.add(Double(rejected), to: .spansDropped, ["reason": "refused"]) }
            if queue.failures > 0 { logger.notice("exported spans again") }
            queue = Queue()
            return tracer.count >= Self.batch ? .zero : interval
        case .refused(let reason):
            if queue.failures == 0 {
                logger.warning("the collector refused spans", metadata: [LogKey.reason: .string(reason)])
            }
            drop(queue.spans, "refused")
            queue = Queue(failures: 1)
            return interval
        case .failed(let reason, let pause):
            queue.failures += 1
            if queue.failures == 1 {
                logger.warning("failed to export spans, will retry", metadata: [LogKey.reason: .string(reason)])
            }
            return min(max(pause ?? .zero, interval * (1 << min(queue.failures - 1, 10))), longestPause)
        }
    }

    private func drop(_ spans: [Span], _ reason: String) {
        if !spans.isEmpty { metrics.add(Double(spans.count), to: .spansDropped, ["reason": reason]) }
    }

    private func send(_ spans: [Span], _ client: HTTPClient) async -> Outcome {
        let (now, real) = (ContinuousClock.now, Self.realTime())
        let body = document.json(spans) { real - Int($0.duration(to: now) / .nanoseconds(1)) }
        var request = HTTPClientRequest(url: endpoint)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        for header in headers { request.headers.replaceOrAdd(name: header.name, value: header.value) }
        request.body = .bytes(ByteBuffer(bytes: body.bytes))
        do {
            let answer = try await client.execute(request, timeout: .seconds(5))
            let text = try await answer.body.collect(upTo: 65536)
            return Self.outcome(answer.status.code, answer.headers.first(name: "retry-after"), Array(buffer: text))
        } catch {
            return .failed("\(error)", pause: nil)
        }
    }

    /// OTLP over HTTP: 429, 502, 503 and 504 ask for a retry; other errors are final. A success may reject some spans.
    private static func outcome(_ status: UInt, _ retryAfter: String?, _ body: [UInt8]) -> Outcome {
        switch status {
        case 200...299:
            let rejected = (try? JSON(parsing: body))?["partialSuccess"]?["rejectedSpans"]
            return .accepted(rejected: rejected?.int ?? rejected?.string.flatMap(Int.init) ?? 0)
        case 429, 502, 503, 504:
            return .failed("status \(status)", pause: retryAfter.flatMap(Int64.init).map { .seconds(max(0, $0)) })
        default: return .refused("status \(status)")
        }
    }

    /// Nanoseconds since 1970.
    private static func realTime() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
