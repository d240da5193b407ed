import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL
import Records
import TestSupport
import Testing

/// Traces of a whole suite at an OpenTelemetry collector.
@Suite("Traces", .tags(.database, .processes), .timeLimit(.minutes(5))) struct TraceTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let parent = "b7ad6b7169203331"
    private static let device = "/v1/devices/phone"

    @Test func `one trace leads from a provider's request to the streams of the device`() async throws {
        let collector = try await TraceCollector.start()
        let suite = try await RunningSuite.start(settings: ["OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint])
        let (own, token) = try await register(suite)
        let orders = try await suite.stream(.lifecycle, Self.device + "/orders", as: own)
        let notifications = try await suite.stream(.push, Self.device + "/notifications", as: own)
        let provider = try await Provider(suite)
        try await send(to: token, provider, suite)
        while try await orders.take("the wake")["type"] != "wake" {}
        _ = try await notifications.take("the notification")
        try await eventually(within: 30, describe: "the spans of both streams") {
            let names = collector.spans(of: Self.trace).map(\.name)
            return names.filter { $0.hasPrefix("deliver ") }.count >= 2
        }
        let spans = collector.spans(of: Self.trace)
        let known = Set(spans.map(\.id))
        #expect(known.count == spans.count, "each span has its own id")
        let roots = spans.filter { $0.parent == Self.parent }
        #expect(roots.map(\.name) == ["POST /3/device/{token}"] && roots.first?.service == "dormouse-push")
        for span in spans where span.parent != Self.parent {
            #expect(known.contains(span.parent ?? ""), "the parent of \(span)")
            #expect(span.start <= span.end && span.end - span.start < 60_000_000_000, "\(span)")
        }
        let root = try #require(roots.first)
        #expect(
            root.attributes["http.response.status_code"] == "200"
                && root.attributes["http.route"] == "/3/device/{token}")
        #expect(Set(spans.map(\.service)).isSuperset(of: ["dormouse-push", "dormouse-lifecycle"]))
        #expect(spans.contains { $0.name == "push.notification.received" && $0.parent == root.id }, "\(spans)")
        // No span has the device token or a credential.
        let texts = spans.flatMap { [$0.name] + $0.attributes.values }
        #expect(!texts.contains { $0.contains(token) || $0.contains(own) || $0.contains(provider.token) })
        let metrics = String(buffer: try await suite.send(.GET, .push, "/metrics").body)
        #expect(metrics.contains("\ndormouse_spans_exported_total "))
        for (service, end) in try await suite.stop() { #expect(end == .exited(0), "\(service)") }
        try await suite.cluster.destroy()
    }

    @Test func `without a collector that answers, the suite works, and stops in time`() async throws {
        let suite = try await RunningSuite.start(
            settings: ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:\(try freePort())"])
        let (_, token) = try await register(suite)
        try await send(to: token, try await Provider(suite), suite)
        try await eventually(describe: "the failure is logged") {
            suite.words(of: .push).contains("failed to export spans, will retry")
        }
        for (service, end) in try await suite.stop() { #expect(end == .exited(0), "\(service)") }
        try await suite.cluster.destroy()
    }

    /// Registers the device with an app that the user has left.
    ///
    /// - Returns: the token of the device, and that of the app for pushes.
    private func register(_ suite: RunningSuite) async throws -> (device: String, app: String) {
        let registered = try await suite.call(.PUT, .lifecycle, Self.device, ["profile": "ios18"])
        let own = try #require(registered.json["token"]?.string)
        let app = Self.device + "/apps/\(Provider.app)"
        try await suite.call(.PUT, .lifecycle, app, ["backgroundModes": ["remote-notification"]])
        let launched = try await suite.call(.POST, .lifecycle, app + "/transitions", ["event": "launch"])
        let answer = try await suite.call(
            .PUT, .push, app + "/registration", ["environment": "sandbox"], after: launched.position)
        try await suite.call(.POST, .lifecycle, app + "/transitions", ["event": "home"])
        return (own, try #require(answer.json["token"]?.string, "\(answer)"))
    }

    /// Sends a silent notification in a trace, over HTTP/2 and TLS.
    private func send(to token: String, _ provider: Provider, _ suite: RunningSuite) async throws {
        var configuration = HTTPClient.Configuration()
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(suite.apnsAuthority)
        configuration.tlsConfiguration = tls
        try await HTTPClient.withHTTPClient(configuration: configuration) { client in
            var request = HTTPClientRequest(url: "\(suite.apnsAddress)/3/device/\(token)")
            request.method = .POST
            request.headers = [
                "authorization": "bearer \(provider.token)", "apns-topic": Provider.app,
                "apns-push-type": "background", "apns-priority": "5",
                "traceparent": "00-\(Self.trace)-\(Self.parent)-01",
            ]
            request.body = .bytes(ByteBuffer(string: #"{"aps":{"content-available":1}}"#))
            let answer = try await client.execute(request, timeout: .seconds(60))
            #expect(answer.status == .ok && answer.version == .http2, "\(answer)")
        }
    }
}
