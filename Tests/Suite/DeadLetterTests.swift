import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// A device that a service can't go on with, and what an operator does about it.
@Suite("Dead letters", .timeLimit(.minutes(5))) struct DeadLetterTests {
    @Test func anOperatorDiscardsWhatIsAtFault() async throws {
        let suite = try await RunningSuite.start([.lifecycle, .fetch, .ops])
        let registered = try await suite.call(.PUT, .lifecycle, "/v1/devices/phone", ["profile": "ios15"])
        let place = try #require(registered.position?.split(separator: ":").first.map(String.init))
        // What `lifecycle` can't have written.
        try await suite.cluster.sql(
            """
            WITH place AS (UPDATE bus.partitions SET head = head + 1 WHERE partition = \(place) RETURNING head)
            INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, time, correlationid, data)
            SELECT \(place), head, current_date, gen_random_uuid(), 'lifecycle', 'lifecycle.device.powered', 1, 'device:phone',
                0, gen_random_uuid(), '{"power":"sideways"}' FROM place
            """, database: suite.database)
        let letters = Signal<[JSON]>()
        try await eventually(describe: "fetch has set it aside") {
            let items = try await suite.call(.GET, .ops, "/v1/dead-letters?service=fetch").json["items"]?.items ?? []
            return !items.isEmpty && letters.fire(items)
        }
        #expect(try await letters.value().map { $0["key"]?.string } == ["device:phone"])

        let order = "/v1/dead-letters/fetch/device:phone"
        let again = try await suite.send(.POST, .ops, order + "/replay")
        #expect(again.status == 409 && again.json["code"] == "fails_again")
        let freed = try await suite.send(.POST, .ops, order + "/discard", headers: ["Idempotency-Key": "once"])
        #expect(freed.status == 200 && freed.json["taken"]?.int != nil)
        let repeated = try await suite.send(.POST, .ops, order + "/discard", headers: ["Idempotency-Key": "once"])
        #expect(repeated.status == 200 && repeated.body == freed.body)
        #expect(try await suite.call(.GET, .ops, "/v1/dead-letters?service=fetch").json["items"]?.items == [])

        let none = try await suite.send(.POST, .ops, order + "/replay")
        #expect(none.status == 404 && none.json["code"] == "not_parked")
        #expect(try await suite.send(.POST, .ops, "/v1/dead-letters/mail/device:phone/replay").status == 404)
        #expect(try await suite.send(.POST, .ops, order + "/replay", as: "wrong").status == 401)
        try await suite.kill(.fetch)
        let away = try await suite.send(.POST, .ops, order + "/replay")
        #expect(away.status == 503 && away.json["code"] == "service_unreachable")
        _ = try await suite.stop()
    }
}
