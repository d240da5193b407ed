import AsyncHTTPClient
import Contracts
import EventLog
import LifecycleCore
import Machines
import NIOCore
import NIOHTTP1
import Postgres
import Records
import Synchronization
import TestSupport
import Testing
import Timeline

@testable import LifecycleService

@Suite("Orders", .tags(.database), .timeLimit(.minutes(5))) struct OrderTests {
    @Test func `the orders of a device come in the order of its events`() async throws {
        try await LifecycleFixture.run { fixture in
            let token = try await fixture.phone("d1", manifest: #"{"backgroundModes":["remote-notification"]}"#)
            var orders = try await OrderStream(fixture, "/v1/devices/d1/orders", key: token)
            func told(_ order: JSON?) -> String {
                "\(order?["type"]?.string ?? "") \(order?["name"]?.string ?? "")"
            }
            try await fixture.transition("d1", "launch")
            let launched = try #require(try await orders.next())
            #expect(told(launched.order) == "callback didBecomeActive")
            #expect(
                launched.order["data"]?["callbacks"]
                    == ["willFinishLaunching", "didFinishLaunching", "didBecomeActive"])
            #expect(launched.order["device"] == "d1" && launched.order["app"] == "a")
            #expect(launched.order["order"]?.string == launched.id)
            #expect(launched.order["deadline"] == .null)
            try await fixture.transition("d1", "home")
            #expect(told(try await orders.next()?.order) == "callback didEnterBackground")
            #expect(told(try await orders.next()?.order) == "suspend suspend")
            try await fixture.append(
                PushEvent.WakeRequested(app: "a", notification: "n-1", payload: ["aps": ["content-available": 1]]),
                to: "d1")
            let wake = try #require(try await orders.next()).order
            #expect(told(wake) == "wake didReceiveRemoteNotification")
            #expect(wake["data"]?["reason"] == "push" && wake["data"]?["request"] == "n-1")
            #expect(wake["data"]?["payload"] == ["aps": ["content-available": 1]])
            #expect(wake["data"]?["limitSeconds"] == 30)
            let issued = try #require(wake["issuedAt"]?.string.flatMap { Instant($0) })
            #expect(wake["deadline"]?.string.flatMap { Instant($0) } == issued + .seconds(30))
            let id = try #require(wake["data"]?["wake"]?.string)
            let path = "/v1/devices/d1/apps/a/wakes/\(id)/completion"
            #expect(try await fixture.send("POST", path, "{}", key: token).code == "result_missing")
            let done = try await fixture.send("POST", path, #"{"result":"newData"}"#, key: token)
            #expect(done["state"] == "suspended")
            #expect(try await fixture.send("POST", path, #"{"result":"newData"}"#).code == "already_completed")
            #expect(told(try await orders.next()?.order) == "suspend suspend")
            try await fixture.send("PATCH", "/v1/devices/d1/conditions", #"{"memoryPressure":"critical"}"#)
            let killed = try #require(try await orders.next()).order
            #expect(told(killed) == "terminate terminate")
            #expect(killed["data"]?["reason"] == "memoryPressure" && killed["data"]?["callbacks"] == [])
            let entry = try await fixture.send("GET", "/v1/devices/d1/app-switcher")["items"]?[0]
            #expect(entry?["app"] == "a" && entry?["processAlive"] == false)
            try await fixture.append(TransferEvent.WakeRequested(app: "a", session: "s"), to: "d1")
            let relaunched = try #require(try await orders.next()).order
            #expect(told(relaunched) == "wake handleEventsForBackgroundURLSession")
            #expect(relaunched["data"]?["callbacks"]?[0] == "willFinishLaunching")
        }
    }

    @Test func `a stream that reconnects neither loses nor repeats orders`() async throws {
        try await LifecycleFixture.run { fixture in
            _ = try await fixture.phone("d1")
            // Another device of the same partition, whose orders must not appear.
            let partition = AggregateKey.device("d1").partition(of: LifecycleFixture.partitions)
            let other = try #require(
                (0..<100).map { "x\($0)" }.first {
                    AggregateKey.device($0).partition(of: LifecycleFixture.partitions) == partition
                })
            _ = try await fixture.phone(other)
            let start = try #require(try await fixture.log(of: "d1").last)
            let rounds = 30
            async let writing: Void = {
                for device in ["d1", other] { try await fixture.transition(device, "launch") }
                for _ in 0..<rounds {
                    for device in ["d1", other] {
                        try await fixture.transition(device, "home")
                        try await fixture.transition(device, "open")
                    }
                }
            }()
            var ids: [String] = []
            var after = "\(start.partition):\(start.offset)"
            // A launch, and for each round a background, a suspension and a return.
            while ids.count < 1 + 3 * rounds {
                var stream = try await OrderStream(fixture, "/v1/devices/d1/orders", after: after)
                for _ in 0..<min(7, 1 + 3 * rounds - ids.count) {
                    let next = try #require(try await stream.next())
                    #expect(next.order["device"] == "d1")
                    ids.append(next.id)
                    after = next.id
                }
            }
            try await writing
            let expected = try await fixture.log(of: "d1").compactMap { Order($0)?.order }
            #expect(ids == expected)
        }
    }

    @Test func `a new stream of a device ends the old one`() async throws {
        try await LifecycleFixture.run { fixture in
            _ = try await fixture.phone("d1")
            _ = try await fixture.phone("d2")
            var old = try await OrderStream(fixture, "/v1/devices/d1/orders")
            var neighbour = try await OrderStream(fixture, "/v1/devices/d2/orders")
            var new = try await OrderStream(fixture, "/v1/devices/d1/orders")
            #expect(try await old.next() == nil)
            for device in ["d1", "d2"] { try await fixture.transition(device, "launch") }
            #expect(try await new.next()?.order["device"] == "d1")
            #expect(try await neighbour.next()?.order["device"] == "d2")
            #expect(fixture.routes.streams.count == 2)
        }
    }

    @Test func `a device waits for orders by at most sixteen requests at a time`() async throws {
        try await LifecycleFixture.run { fixture in
            let token = try await fixture.phone("d1")
            let statuses = try await withParallelClient { client in
                try await withThrowingTaskGroup(of: UInt.self) { group in
                    // A device has 32 slots for work, and 16 for waits.
                    for _ in 0..<20 {
                        group.addTask {
                            let request = fixture.request("GET", "/v1/devices/d1/orders?wait=10", key: token)
                            let response = try await client.execute(request, timeout: .seconds(60))
                            _ = try await response.body.collect(upTo: 1 << 20)
                            return response.status.code
                        }
                    }
                    return try await group.reduce(into: [UInt: Int]()) { $0[$1, default: 0] += 1 }
                }
            }
            #expect(statuses == [200: 16, 429: 4])
        }
    }

    @Test func `long polling returns waiting orders or waits`() async throws {
        try await LifecycleFixture.run { fixture in
            _ = try await fixture.phone("d1")
            let path = "/v1/devices/d1/orders"
            let empty = try await fixture.send("GET", path + "?wait=0")
            #expect(empty["items"] == [])
            let next = try #require(empty["next"]?.string)
            async let waiting = fixture.send("GET", path + "?wait=30&after=\(next)")
            try await fixture.transition("d1", "launch")
            let first = try await waiting
            #expect(first["items"]?.items?.count == 1)
            #expect(first["items"]?[0]?["name"] == "didBecomeActive")
            #expect(first["items"]?[0]?["order"] == first["next"])
            try await fixture.transition("d1", "home")
            let reached = try #require(first["next"]?.string)
            let rest = try await fixture.send("GET", path + "?wait=30", nil, ["Last-Event-ID": reached])
            #expect(rest["items"]?.items?.compactMap { $0["type"]?.string } == ["callback", "suspend"])
            let wrong = AggregateKey.device("d1").partition(of: LifecycleFixture.partitions) == 0 ? 1 : 0
            #expect(try await fixture.send("GET", path + "?wait=0", nil, ["Last-Event-ID": "\(wrong):1"]).status == 400)
            #expect(try await fixture.send("GET", path + "?wait=0&after=\(wrong):1").status == 400)
            #expect(try await fixture.send("GET", path + "?wait=61").status == 400)
        }
    }

    /// After a restore to an earlier point, clients may have positions that no longer exist.
    @Test func `a position beyond the end of the log gets 410`() async throws {
        try await LifecycleFixture.run { fixture in
            _ = try await fixture.phone("d1", fleet: "blue")
            let path = "/v1/devices/d1/orders"
            let start = try #require(try await fixture.send("GET", path + "?wait=0")["next"]?.string)
            let partition = AggregateKey.device("d1").partition(of: LifecycleFixture.partitions)
            let head = try #require(Int(start.drop { $0 != ":" }.dropFirst()))
            let beyond = "\(partition):\(head + 1)"
            let vector = (0..<LifecycleFixture.partitions).map { "\($0):\($0 == partition ? head + 1 : 0)" }
                .joined(separator: ",")
            for (path, place) in [
                (path, beyond), (path + "?wait=0", beyond), (path + "?wait=60", beyond),
                ("/v1/fleets/blue/orders", vector),
            ] {
                let answer = try await fixture.send("GET", path, nil, ["Last-Event-ID": place])
                #expect(answer.status == 410 && answer.code == "position_beyond_log", "\(path)")
                #expect(answer["detail"]?.string?.contains("start again") == true)
            }
            #expect(try await fixture.send("GET", path + "?wait=0&after=\(beyond)").code == "position_beyond_log")
            // The end itself is a valid position. Positions in other partitions do not matter.
            #expect(try await fixture.send("GET", path + "?wait=0", nil, ["Last-Event-ID": start]).status == 200)
            let other = (0..<LifecycleFixture.partitions).filter { $0 != partition }[0]
            _ = try await OrderStream(fixture, "/v1/fleets/blue/orders?partitions=\(other)", after: vector)
        }
    }

    @Test func `a position behind retention gets 410`() async throws {
        try await LifecycleFixture.run { fixture in
            _ = try await fixture.phone("d1", fleet: "blue")
            let path = "/v1/devices/d1/orders"
            let start = try #require(try await fixture.send("GET", path + "?wait=0")["next"]?.string)
            try await fixture.transition("d1", "launch")
            let next = try #require(try await fixture.send("GET", path + "?wait=0&after=\(start)")["next"]?.string)
            let known = try #require(Int(next.drop { $0 != ":" }.dropFirst()))
            let partition = AggregateKey.device("d1").partition(of: LifecycleFixture.partitions)
            // Retention dropped the day of these events, and some later events.
            let values: [Parameter] = [.int4(Int32(partition)), .int(known + 10)]
            _ = try await fixture.pool.execute([
                Query(Statement("UPDATE bus.partitions SET head = $2 WHERE partition = $1"), values),
                Query(Statement("INSERT INTO bus.retention (partition, dropped_to) VALUES ($1, $2)"), values),
            ])
            for headers in [["Last-Event-ID": start], [:]] {
                let after = headers.isEmpty ? "&after=\(start)" : ""
                let answer = try await fixture.send("GET", path + "?wait=0" + after, nil, headers)
                #expect(answer.status == 410 && answer.code == "beyond_retention")
            }
            let stream = try await fixture.send("GET", path, nil, ["Last-Event-ID": start])
            #expect(stream.status == 410)
            // Orders of other services after the last order may be lost.
            #expect(try await fixture.send("GET", path + "?wait=0&after=\(next)").status == 410)
            #expect(try await fixture.send("GET", path + "?wait=0&after=\(partition):\(known + 10)").status == 200)
            let fleet = "/v1/fleets/blue/orders"
            let vector = (0..<LifecycleFixture.partitions).map { "\($0):\($0 == partition ? known : 0)" }
            let joined = vector.joined(separator: ",")
            #expect(try await fixture.send("GET", fleet, nil, ["Last-Event-ID": joined]).code == "beyond_retention")
            // Other partitions have all events.
            let other = (0..<LifecycleFixture.partitions).filter { $0 != partition }[0]
            _ = try await OrderStream(fixture, fleet + "?partitions=\(other)", after: joined)
        }
    }

    @Test func `a prewarmed process and a removed switcher entry give no order`() throws {
        var runtime = InMemoryRuntime<LifecycleMachine>(policy: LifecyclePolicy())
        let key = AggregateKey.device("d")
        let now = Instant(milliseconds: 1_750_000_000_000)
        for command: LifecycleCommand in [
            .register(Registration(profile: .ios15)), .install(app: "a", Manifest()),
            .transition(app: "a", .prewarm), .transition(app: "a", .launch), .transition(app: "a", .crash),
            .transition(app: "a", .swipe),
        ] { try runtime.submit(command, to: key, at: now) }
        let orders = runtime.log.compactMap { Order($0) }
        #expect(orders.map(\.type) == [.callback, .terminate])
        #expect(orders.last?.data["reason"] == "crash")
    }
}
