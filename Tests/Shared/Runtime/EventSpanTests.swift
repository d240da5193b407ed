import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import ServiceLifecycle
import Telemetry
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// The spans of written events.
@Suite(.tags(.database), .timeLimit(.minutes(2))) struct EventSpanTests {
    @Test func `an event of a recorded trace has a span that its id names`() async throws {
        let fixture = try await RuntimeFixture()
        let options = try ConnectionOptions(url: fixture.url)
        let (pool, tracer) = (ConnectionPool(options, size: 4, logger: fixture.logger), Tracer(share: 0))
        let runtime = DurableRuntime<Counter>(
            pool: pool, options: options, partitions: fixture.partitions, clock: SharedClock(), policy: (),
            tracer: tracer, logger: fixture.logger)
        let group = ServiceGroup(services: [runtime], logger: fixture.logger)
        let trace = "0af7651916cd43dd8448eb211c80319c"
        try await group.run {
            for (key, options) in [("a", "01"), ("b", "00")] {
                let origin = Origin(id: UUID(), traceparent: "00-\(trace)-b7ad6b7169203331-\(options)")
                _ = try await runtime.submit(
                    Submission(key: .device(key), command: .add(1), origin: origin, answer: { _, _ in [] }))
            }
            _ = try await runtime.submit(.add(1, to: "c"))
        }
        let spans = tracer.take(100)
        let ids = try await fixture.pool.execute(Query(Statement("SELECT id FROM bus.events WHERE key = 'device:a'")))
            .decode(UUID.self)
        #expect(spans.map(\.context.spanID) == ids.map(\.lowerHalf) && ids.count == 1)
        let span = try #require(spans.first)
        #expect(span.parent == 0xb7ad_6b71_6920_3331 && span.context.traceID == trace && span.kind == .producer)
        #expect(span.start <= span.end && span.name.hasPrefix("counter."))
        #expect(span.attributes.contains { $0.name == "messaging.message.id" && $0.value == .text(ids[0].lowercased) })
        await pool.close()
        await fixture.pool.close()
    }
}
