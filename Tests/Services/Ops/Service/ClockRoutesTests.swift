import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Records
import Runtime
import ServiceLifecycle
import TestSupport
import Testing
import Timeline

@Suite("The clock over HTTP", .tags(.database), .timeLimit(.minutes(5))) struct ClockRoutesTests {
    @Test func `the clock can be read, set and frozen`() async throws {
        try await OpsFixture.run(virtual: true) { fixture in
            let start = try await fixture.get("/v1/clock").json
            #expect(start["virtual"] == true && start["frozen"] == false && start["rate"] == 1)
            #expect(Instant(start["now"]?.string ?? "") != nil)
            let fast = try await fixture.send("PUT", "/v1/clock", #"{"rate":60}"#)
            #expect(fast.status == 200 && fast.json["rate"] == 60)
            let frozen = try await fixture.send("PUT", "/v1/clock", #"{"frozen":true}"#)
            #expect(frozen.json["frozen"] == true && frozen.json["rate"] == 60)
            #expect(try await fixture.get("/v1/clock").json == frozen.json)
            #expect(try await fixture.send("PUT", "/v1/clock", #"{"frozen":false}"#).json["frozen"] == false)
        }
    }

    @Test(arguments: [
        (#"{}"#, 422), (#"{"rate":0}"#, 422), (#"{"rate":100001}"#, 422), (#"{"rate":"fast"}"#, 422),
        (#"{"speed":2}"#, 422), (#"{"#, 400),
    ]) func `invalid settings change nothing`(_ body: String, _ status: Int) async throws {
        try await OpsFixture.run(virtual: true) { fixture in
            try await fixture.sql("SELECT bus.set_clock(7, true)")
            let before = try await fixture.get("/v1/clock").json
            #expect(try await fixture.send("PUT", "/v1/clock", body).status == status)
            #expect(try await fixture.get("/v1/clock").json == before)
        }
    }

    @Test func `a real-time clock cannot be set or advanced`() async throws {
        try await OpsFixture.run { fixture in
            #expect(try await fixture.get("/v1/clock").json["virtual"] == false)
            let refused = try await fixture.send("PUT", "/v1/clock", #"{"rate":2}"#)
            #expect(refused.status == 409 && refused.code == "clock_not_virtual")
            #expect(try await fixture.send("POST", "/v1/clock/advance", #"{"seconds":1}"#).code == "clock_not_virtual")
        }
    }

    @Test func `changing the clock needs the scope operate`() async throws {
        try await OpsFixture.run(virtual: true) { fixture in
            let key = OpsFixture.readKey
            let set = try await fixture.send("PUT", "/v1/clock", #"{"rate":2}"#, key: key)
            let advance = try await fixture.send("POST", "/v1/clock/advance", #"{"seconds":1}"#, key: key)
            #expect(set.code == "forbidden" && advance.code == "forbidden")
        }
    }

    @Test func `an advance of one step stops at the first deadline`() async throws {
        try await OpsFixture.run(virtual: true) { fixture in
            _ = try await fixture.send("PUT", "/v1/clock", #"{"frozen":true}"#)
            let start = try #require(Instant(try await fixture.get("/v1/clock").json["now"]?.string ?? ""))
            try await fixture.running { runtime in
                for (device, seconds) in [("a", 120), ("b", 300)] {
                    _ = try await runtime.submit(
                        Submission<Counter>(
                            key: .device(device), command: .ring(after: .seconds(Int64(seconds))),
                            origin: Origin(id: UUID())
                        ) { _, _ in [] })
                }
                for seconds in [120, 300, 420] {
                    let body = #"{"seconds":\#(seconds == 420 ? 120 : 600),"steps":1}"#
                    let answer = try await fixture.send("POST", "/v1/clock/advance", body)
                    #expect(answer.json["now"]?.string == (start + .seconds(Int64(seconds))).description)
                }
            }
            #expect(try await fixture.send("POST", "/v1/clock/advance", #"{"seconds":1,"steps":0}"#).status == 422)
        }
    }

    @Test func `an advance returns when all consumers have settled`() async throws {
        try await OpsFixture.run(virtual: true) { fixture in
            _ = try await fixture.send("PUT", "/v1/clock", #"{"frozen":true}"#)
            let start = try #require(Instant(try await fixture.get("/v1/clock").json["now"]?.string ?? ""))
            try await fixture.running { runtime in
                for (device, seconds) in [("a", 120), ("b", 300)] {
                    _ = try await runtime.submit(
                        Submission<Counter>(
                            key: .device(device), command: .ring(after: .seconds(Int64(seconds))),
                            origin: Origin(id: UUID())
                        ) { _, _ in [] })
                }
                let answer = try await fixture.send("POST", "/v1/clock/advance", #"{"seconds":600}"#)
                #expect(
                    answer.json == [
                        "now": .string((start + .seconds(600)).description), "settled": true, "unanswered": [],
                    ])
                let rung = try await fixture.get("/v1/events?order=oldest").items
                    .filter { $0["type"]?.string == Rang.type }
                #expect(rung.map { $0["subject"]?.string } == ["device:a", "device:b"])
                #expect(
                    rung.map { $0["time"]?.string } == [120, 300].map { (start + .seconds($0)).description })
            }
        }
    }

    @Test func `the clock stops at the last time that documents can express`() async throws {
        try await OpsFixture.run(virtual: true) { fixture in
            _ = try await fixture.owner.execute(
                Query(Statement("UPDATE bus.clock SET rate = 0, virtual_epoch = 253402300799000")))
            let answer = try await fixture.send("POST", "/v1/clock/advance", #"{"seconds":2}"#)
            #expect(answer.status == 422 && answer.faults == ["/seconds"], "\(answer)")
            let last = try await fixture.send("POST", "/v1/clock/advance", #"{"seconds":0.5}"#)
            #expect(last.json["now"] == "9999-12-31T23:59:59.500Z", "\(last)")
        }
    }

    @Test func `the response names a consumer that does not settle`() async throws {
        try await OpsFixture.run(virtual: true) { fixture in
            try await fixture.append(to: "a")
            let answer = try await fixture.send("POST", "/v1/clock/advance", #"{"seconds":600,"timeout":0.1}"#)
            #expect(answer.status == 504 && answer.code == "not_settled")
            #expect(answer.faults == ["/counter"])
        }
    }

    @Test(arguments: [#"{"seconds":-1}"#, #"{"seconds":1e12}"#, #"{}"#, #"{"seconds":1,"timeout":0}"#])
    func `invalid advances are refused`(_ body: String) async throws {
        try await OpsFixture.run(virtual: true) { fixture in
            let answer = try await fixture.send("POST", "/v1/clock/advance", body)
            #expect(answer.status == 422 && answer.faults.count == 1)
        }
    }
}

extension OpsFixture {
    /// Runs a counter that follows the clock while `body` runs.
    func running(_ body: @Sendable @escaping (DurableRuntime<Counter>) async throws -> Void) async throws {
        let clock = SharedClock()
        let runtime = DurableRuntime<Counter>(
            pool: owner, options: options, partitions: Self.partitions, clock: clock, policy: (), logger: logger)
        let follower = ClockFollower(clock, pool: owner, updates: runtime.updates, logger: logger)
        let group = ServiceGroup(services: [runtime, follower], logger: logger)
        try await group.run { try await body(runtime) }
    }
}
