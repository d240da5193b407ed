import Contracts
import Foundation
import HTTPKit
import Hummingbird
import Logging
import NIOHTTP1
import Records
import ServiceLifecycle
import Telemetry
import TestSupport
import Testing

@testable import ServiceKit

/// The export of spans to a collector.
@Suite(.timeLimit(.minutes(2))) struct SpanExporterTests {
    private struct Exporting {
        let tracer: Tracer
        let metrics: Metrics
        let log: LogLines
    }

    /// Runs an exporter while the body runs, then shuts it down.
    private func exporting(
        to endpoint: String, _ settings: [String] = [], _ body: @Sendable @escaping (Exporting) async throws -> Void
    ) async throws -> Exporting {
        let (metrics, log) = (Metrics(), LogLines())
        let logger = Logger(label: "naps") { _ in
            LogOutput(label: "naps", level: .info, format: .json, write: log.append)
        }
        let tracer = Tracer(share: 1, metrics: metrics)
        let configuration = try ServiceConfiguration.reading(["--otel-exporter-otlp-endpoint", endpoint] + settings)
        let exporter = try #require(
            try SpanExporter(
                configuration.traces, of: "naps", tracer, interval: .milliseconds(5), longestPause: .milliseconds(20),
                metrics: metrics, logger: logger))
        let exporting = Exporting(tracer: tracer, metrics: metrics, log: log)
        let group = ServiceGroup(services: [exporter], logger: logger)
        try await group.run { try await body(exporting) }
        return exporting
    }

    private func span(_ name: String) -> Span {
        Span(name, .internal, .random(), parent: 7, start: .now, attributes: [("a", .text("b")), ("n", .number(5))])
    }

    private func file(_ text: String) throws -> String {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("spans-\(UUID().uuidString)").path
        try Data(text.utf8).write(to: URL(filePath: path))
        return path
    }

    private func value(_ name: String, _ metrics: Metrics) -> Double {
        let line = metrics.text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Double($0.dropFirst(name.count + 1)) } ?? 0
    }

    @Test func `spans reach the collector with the attributes of the process`() async throws {
        let collector = try await TraceCollector.start()
        let headers = try file("x-team=blue\n\nauthorization=Bearer a=b\n")
        defer { try? FileManager.default.removeItem(atPath: headers) }
        let exporting = try await exporting(
            to: collector.endpoint, ["--otel-exporter-otlp-headers-file", headers]
        ) { exporting in
            exporting.tracer.record(span("one"))
            var failed = span("two")
            failed.isFailed = true
            exporting.tracer.record(failed)
            try await eventually(describe: "two spans") { collector.spans.count == 2 }
        }
        let spans = collector.spans
        #expect(spans.map(\.name) == ["one", "two"] && spans.map(\.isFailed) == [false, true])
        #expect(spans.allSatisfy { $0.service == "dormouse-naps" && $0.parent == "0000000000000007" && $0.kind == 1 })
        #expect(spans.allSatisfy { $0.attributes == ["a": "b", "n": "5"] })
        let request = try #require(collector.requests.first)
        #expect(request.path == "/v1/traces")
        #expect(request.headers["authorization"] == ["Bearer a=b"] && request.headers["x-team"] == ["blue"])
        #expect(value("dormouse_spans_exported_total", exporting.metrics) == 2)
        #expect(exporting.log.all.isEmpty)
    }

    @Test(arguments: [429, 502, 503, 504])
    func `spans that the collector can't take yet are sent again`(_ status: Int) async throws {
        let collector = try await TraceCollector.start(statuses: [status, status])
        let exporting = try await exporting(to: collector.endpoint) { exporting in
            exporting.tracer.record(span("one"))
            try await eventually(describe: "three requests") { collector.requests.count == 3 }
        }
        #expect(collector.spans.map(\.name) == ["one", "one", "one"])
        #expect(value("dormouse_spans_exported_total", exporting.metrics) == 1)
        let lines = exporting.log.all
        #expect(lines.count == 2, "\(lines)")
        #expect(
            lines.first?.contains("status \(status)") == true && lines.last?.contains("exported spans again") == true)
    }

    @Test func `spans that the collector refuses are dropped and counted`() async throws {
        let collector = try await TraceCollector.start(statuses: [400, 400])
        let exporting = try await exporting(to: collector.endpoint) { exporting in
            for number in 1...3 {
                exporting.tracer.record(span("\(number)"))
                try await eventually(describe: "request \(number)") { collector.requests.count == number }
            }
        }
        #expect(collector.spans.map(\.name) == ["1", "2", "3"])
        #expect(value(#"dormouse_spans_dropped_total{reason="refused"}"#, exporting.metrics) == 2)
        #expect(value("dormouse_spans_exported_total", exporting.metrics) == 1)
        #expect(exporting.log.all.filter { $0.contains("the collector refused spans") }.count == 1)
    }

    @Test func `shutdown sends the last spans`() async throws {
        let collector = try await TraceCollector.start()
        _ = try await exporting(to: collector.endpoint) { exporting in
            exporting.tracer.record((1...1300).map { span("\($0)") })
        }
        #expect(collector.spans.map(\.name) == (1...1300).map(String.init))
        #expect(collector.requests.count == 3)
    }

    @Test func `spans that no collector takes at shutdown are counted as lost`() async throws {
        let exporting = try await exporting(to: "http://127.0.0.1:\(try freePort())") { exporting in
            exporting.tracer.record(span("one"))
        }
        #expect(value(#"dormouse_spans_dropped_total{reason="unreachable"}"#, exporting.metrics) == 1)
    }

    @Test func `a full queue drops further spans, and spans of other traces are ignored`() {
        let metrics = Metrics()
        let tracer = Tracer(share: 1, metrics: metrics)
        tracer.record((0..<Tracer.capacity + 5).map { _ in span("a") })
        #expect(tracer.count == Tracer.capacity)
        #expect(value(#"dormouse_spans_dropped_total{reason="queue_full"}"#, metrics) == 5)
        #expect(tracer.take(10).count == 10 && tracer.count == Tracer.capacity - 10)
        var ignored = span("b")
        ignored.context = Tracer(share: 0).newTrace()
        tracer.record(ignored)
        #expect(tracer.count == Tracer.capacity - 10)
    }

    @Test func `the share of recorded traces is as set`() {
        let tracer = Tracer(share: 0.25)
        let recorded = (0..<10_000).count { _ in tracer.newTrace().isSampled }
        #expect((2300...2700).contains(recorded), "\(recorded) of 10,000")
        #expect(!(0..<100).contains { _ in Tracer(share: 0).newTrace().isSampled })
        #expect((0..<100).allSatisfy { _ in Tracer(share: 1).newTrace().isSampled })
    }

    @Test(arguments: [
        (["--otel-exporter-otlp-endpoint", "localhost:4318"], "must be a URL that begins with http:// or https://"),
        (["--otel-exporter-otlp-endpoint", "http://"], "must be a URL that begins with http:// or https://"),
        (["--otel-traces-sampler-arg", "1.5"], "must be a number from 0 to 1"),
        (["--otel-traces-sampler-arg", "nan"], "must be a number from 0 to 1"),
    ])
    func `a wrong setting is refused with its name`(_ arguments: [String], _ words: String) {
        let error = #expect(throws: ConfigurationError.self) { try ServiceConfiguration.reading(arguments) }
        #expect(error?.description.contains(words) == true && error?.description.contains(arguments[0]) == true)
    }

    @Test func `wrong files stop the start with the name of their setting`() throws {
        let file = try file("authorization Bearer abc\n")
        defer { try? FileManager.default.removeItem(atPath: file) }
        let headers = try ServiceConfiguration.reading(["--otel-exporter-otlp-headers-file", file])
        #expect(throws: ConfigurationError("OTEL_EXPORTER_OTLP_HEADERS_FILE: each line must be name=value")) {
            try headers.traces.readHeaders()
        }
        let authority = try ServiceConfiguration.reading(["--otel-exporter-otlp-certificate", file])
        let error = #expect(throws: ConfigurationError.self) { try authority.traces.trusted() }
        #expect(error?.description.hasPrefix("OTEL_EXPORTER_OTLP_CERTIFICATE") == true)
    }
}

/// The spans of requests.
@Suite(.tags(.processes)) struct RequestSpanTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"

    @Test func `each request of a recorded trace has a span without secrets`() async throws {
        let tracer = Tracer(share: 0)
        try await TestService.run(tracer: tracer) { table in
            table.add(.post, "/3/device/{token}", "A push", .open) { _ in Response(json: []) }
        } _: { service in
            let sent = ["traceparent": "00-\(Self.trace)-b7ad6b7169203331-01"]
            _ = try await service.send("GET", "/v1/devices/d1?cursor=abc", nil, sent)
            _ = try await service.send("POST", "/3/device/\(String(repeating: "ab", count: 32))", "{}", sent, key: nil)
            let broken = try await service.send("GET", "/v1/broken", nil, sent)
            #expect(broken.status == 500)
            // Neither the caller nor the share asks for these.
            _ = try await service.send("GET", "/v1/devices/d1")
            _ = try await service.send(
                "GET", "/v1/devices/d1", nil, ["traceparent": "00-\(Self.trace)-b7ad6b7169203331-00"])
        }
        let spans = tracer.take(100)
        #expect(spans.map(\.name) == ["GET /v1/devices/{device}", "POST /3/device/{token}", "GET /v1/broken"])
        #expect(spans.map(\.isFailed) == [false, false, true])
        #expect(spans.allSatisfy { $0.context.traceID == Self.trace && $0.parent == 0xb7ad_6b71_6920_3331 })
        #expect(Set(spans.map(\.context.spanID)).count == 3)
        let paths = spans.map { $0.attributes.first { $0.name == "url.path" }?.value }
        #expect(paths == [.text("/v1/devices/d1"), nil, .text("/v1/broken")])
    }
}
