import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Records
import Runtime
import ServiceKit
import TestSupport
import Testing

/// Repeated commands, and positions of the log.
extension CommandsTests {
    @Test func `a repeated idempotency key runs the command once, separately for each caller`() async throws {
        try await withCounters { service async throws in
            let key = ["Idempotency-Key": "k1"]
            let first = try await service.add(5, to: "d1", headers: key)
            #expect(try await service.add(5, to: "d1", headers: key).body == first.body)
            #expect(try await service.add(6, to: "d1", headers: key).code == "idempotency_conflict")
            #expect(try await service.add(5, to: "d1", as: service.device("d1"), headers: key).status == 200)
            #expect(try await service.get("d1").json["total"]?.int == 10)
        }
    }

    @Test func `a fingerprint depends on the request alone`() async throws {
        try await withCounters { service async throws in
            let path = "/v1/devices/d1/add"
            for (key, body, query) in [
                ("k1", #"{"amount":5}"#, ""), ("k2", #" { "amount" : 5.0 } "#, ""), ("k3", #"{"amount":6}"#, ""),
                ("k4", #"{"amount":5}"#, "?at=1"),
            ] {
                #expect(try await service.send("POST", path + query, body, ["Idempotency-Key": key]).status == 200)
            }
            let statement = Statement("SELECT encode(fingerprint, 'hex') FROM bus.idempotency ORDER BY key")
            let fingerprints = try await service.pool.execute(Query(statement)).map { try $0.decode(String.self) }
            // SHA-256 of `POST /v1/devices/d1/add {"amount":5}`. Clients repeat requests after a deploy, so it must
            // never change.
            let first = "5541dbb1c73a686d6db80e7fbbcdf71c7d98ffd662dc8abc0729a7d07f480c7b"
            #expect(fingerprints[0] == first)
            #expect(fingerprints[1] == first, "spaces and the form of a number do not matter")
            #expect(Set(fingerprints).count == 3)
        }
    }

    @Test func `a repeat gets its answer from a release whose commands have other names`() async throws {
        let service = try await CounterService.prepare()
        let key = ["Idempotency-Key": "k1"]
        try await service.run { () async throws in
            #expect(try await service.add(5, to: "d1", headers: key).body.contains(#""total":5"#))
        }
        let next = try service.replica()
        try await next.run(serving: { try await next.serve(RenamedCounter.self) }) { () async throws in
            let again = try await next.add(5, to: "d1", headers: key)
            #expect(again.status == 200 && again.body.contains(#""total":5"#))
            #expect(try await next.add(6, to: "d1", headers: key).code == "idempotency_conflict")
        }
        await service.pool.close()
    }

    @Test func `a caller reads its own writes, or gets behind with Retry-After`() async throws {
        try await withCounters { service async throws in
            let position = try #require(try await service.add(1, to: "d1").headers["dormouse-position"])
            #expect(try await service.get("d1", headers: ["Dormouse-Position": position]).status == 200)
            let parts = position.split(separator: ":")
            let place = Parameter.int4(Int32(parts[0]) ?? 0)
            let ahead = "\(parts[0]):\((Int(parts[1]) ?? 0) + 1)"
            // Another service has appended an event, and this service can't consume it.
            try await service.pool.withConnection { connection in
                let lock = "SELECT FROM bus.cursors WHERE partition = $1 FOR UPDATE"
                let append = "UPDATE bus.partitions SET head = head + 1 WHERE partition = $1"
                _ = try await connection.execute(Query(Statement("BEGIN")))
                _ = try await connection.execute(Query(Statement(lock), [place]))
                _ = try await service.pool.execute(Query(Statement(append), [place]))
                let answer = try await service.get("d1", headers: ["Dormouse-Position": ahead])
                #expect(answer.code == "behind" && answer.headers["retry-after"] == "1")
                _ = try await connection.execute(Query(Statement("ROLLBACK")))
            }
            #expect(try await service.get("d1", headers: ["Dormouse-Position": "x"]).code == "invalid_header")
        }
    }

    @Test func `a position beyond the end of the log is refused at once`() async throws {
        try await withCounters { service async throws in
            let position = try #require(try await service.add(1, to: "d1").headers["dormouse-position"])
            let parts = position.split(separator: ":")
            let beyond = ["Dormouse-Position": "\(parts[0]):\((Int(parts[1]) ?? 0) + 1)"]
            let begun = ContinuousClock.now
            for answer in [
                try await service.get("d1", headers: beyond), try await service.add(1, to: "d1", headers: beyond),
            ] {
                #expect(answer.status == 410 && answer.code == "position_beyond_log")
            }
            #expect(ContinuousClock.now - begun < .seconds(2), "the service does not wait")
            #expect(try await service.get("d1").json["total"]?.int == 1)
            let foreign = try await service.get("d1", headers: ["Dormouse-Position": "4:0"])
            #expect(foreign.status == 400 && foreign.code == "invalid_header")
        }
    }
}
