import AsyncHTTPClient
import Postgres
import Records
import ServiceLifecycle
import TestSupport
import Testing
import Timeline

@Suite("Repeated advances over HTTP", .tags(.database), .timeLimit(.minutes(5))) struct RepeatedAdvanceTests {
    private let key = ["Idempotency-Key": "k1"]
    private let advance = #"{"seconds":600}"#

    @Test func `a repeated advance gets the same response and moves nothing`() async throws {
        try await frozen { fixture, start async throws in
            let there = JSON.string((start + .seconds(600)).description)
            for _ in 1...3 {
                let answer = try await fixture.send("POST", path, advance, key)
                #expect(answer.status == 200 && answer.json == ["now": there, "settled": true, "unanswered": []])
            }
            #expect(try await fixture.get("/v1/clock").json["now"] == there)
            // After another advance, the repeat still gets the first response.
            let further = try await fixture.send("POST", path, advance, ["Idempotency-Key": "k2"])
            #expect(further.json["now"] == .string((start + .seconds(1200)).description))
            #expect(try await fixture.send("POST", path, advance, key).json["now"] == there)
        }
    }

    @Test func `an idempotency key belongs to one advance of one caller`() async throws {
        try await frozen { fixture, start async throws in
            #expect(try await fixture.send("POST", path, advance, key).status == 200)
            let other = try await fixture.send("POST", path, #"{"seconds":601}"#, key)
            #expect(other.status == 422 && other.code == "idempotency_conflict")
            let wrong = try await fixture.send("POST", path, advance, ["Idempotency-Key": "not a key"])
            #expect(wrong.status == 400 && wrong.code == "invalid_header")
            let anothers = try await fixture.send("POST", path, advance, key, key: OpsFixture.otherKey)
            #expect(anothers.json["now"] == .string((start + .seconds(1200)).description))
        }
    }

    @Test func `an advance that did not settle continues to the same time`() async throws {
        try await frozen { fixture, start async throws in
            let impatient = #"{"seconds":600,"timeout":0.2}"#
            try await fixture.append(to: "a")
            for _ in 1...2 { #expect(try await fixture.send("POST", path, impatient, key).code == "not_settled") }
            // Another request moves the clock.
            try await fixture.sql("SELECT bus.step_clock(\((start + .seconds(100)).milliseconds))")
            try await fixture.sql(
                """
                UPDATE bus.cursors AS c SET log_offset = p.head FROM bus.partitions AS p WHERE p.partition = c.partition
                """)
            let answer = try await fixture.send("POST", path, #"{"seconds":600}"#, key)
            #expect(answer.json["now"] == .string((start + .seconds(600)).description))
        }
    }

    @Test func `a stopping service ends a running advance`() async throws {
        try await frozen { fixture, start async throws in
            // No consumer reads the event, so the advance would wait for ten minutes.
            try await fixture.append(to: "a")
            let patient = #"{"seconds":600,"timeout":600}"#
            // The client gets a response, not a closed connection.
            let stopped = try await withTimeout(seconds: 120, "the answer") {
                try await withThrowingTaskGroup(of: Answer.self) { group in
                    group.addTask { try await fixture.send("POST", path, patient, key) }
                    try await eventually(within: 90, describe: "the advance is in progress") {
                        try await !fixture.advancesUnderWay().isEmpty
                    }
                    await fixture.group.triggerGracefulShutdown()
                    return try #require(try await group.next())
                }
            }
            #expect(stopped.status == 503 && stopped.code == "stopping" && stopped.headers["retry-after"] == "1")
            // The next process continues to the same time.
            #expect(try await fixture.advancesUnderWay() == [Int((start + .seconds(600)).milliseconds)])
            let lock = Statement(
                """
                SELECT FROM pg_locks JOIN pg_database AS d ON d.oid = database
                WHERE locktype = 'advisory' AND d.datname = current_database()
                """)
            try await eventually(within: 90, describe: "the lock is released") {
                try await fixture.owner.execute(Query(lock)).isEmpty
            }
        }
    }

    private let path = "/v1/clock/advance"

    private func frozen(_ body: @Sendable @escaping (OpsFixture, Instant) async throws -> Void) async throws {
        try await OpsFixture.run(virtual: true) { fixture in
            let clock = try await fixture.send("PUT", "/v1/clock", #"{"frozen":true}"#).json
            try await body(fixture, try #require(Instant(clock["now"]?.string ?? "")))
        }
    }
}

extension OpsFixture {
    /// Returns the target times of unfinished advances.
    fileprivate func advancesUnderWay() async throws -> [Int] {
        let statement = Statement("SELECT progress FROM bus.idempotency WHERE service = 'ops' AND progress IS NOT NULL")
        return try await owner.execute(Query(statement)).map { try $0.decode(Int.self, at: 0) }
    }
}
