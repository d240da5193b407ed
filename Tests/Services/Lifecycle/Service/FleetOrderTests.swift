import Contracts
import EventLog
import HTTPKit
import Identity
import LifecycleCore
import Postgres
import Records
import Runtime
import TestSupport
import Testing

@testable import LifecycleService

@Suite("Orders of a fleet", .tags(.database), .timeLimit(.minutes(5))) struct FleetOrderTests {
    @Test func `the stream of a fleet has the orders of its devices and no others`() async throws {
        try await LifecycleFixture.run { fixture in
            let blues = (0..<6).map { "blue\($0)" }
            let reds = (0..<6).map { "red\($0)" }
            for device in blues { _ = try await fixture.phone(device, fleet: "blue") }
            for device in reds { _ = try await fixture.phone(device, fleet: "red") }
            let token = try await fixture.tokens.fleet("blue")
            var stream = try await OrderStream(fixture, "/v1/fleets/blue/orders", key: token)
            // One more device joins while the stream is open.
            _ = try await fixture.phone("late", fleet: "blue")
            for device in reds + blues + ["late"] { try await fixture.transition(device, "launch") }
            var seen: [String] = []
            var after = ""
            for count in 0..<7 {
                // A disconnection in the middle: the id resumes each partition at its position.
                if count == 3 {
                    stream = try await OrderStream(fixture, "/v1/fleets/blue/orders", after: after, key: token)
                }
                let next = try #require(try await stream.next())
                seen.append(try #require(next.order["device"]?.string))
                after = next.id
            }
            #expect(seen.sorted() == blues + ["late"])
            #expect(Set(after.split(separator: ",").map { $0.prefix { $0 != ":" } }) == ["0", "1", "2", "3"])
        }
    }

    @Test func `a stream can be limited to some partitions`() async throws {
        try await LifecycleFixture.run { fixture in
            let devices = (0..<12).map { "d\($0)" }
            let partition = { (device: String) in
                AggregateKey.device(device).partition(of: LifecycleFixture.partitions)
            }
            for device in devices { _ = try await fixture.phone(device, fleet: "blue") }
            let wanted = devices.filter { [1, 3].contains(partition($0)) }
            try #require(!wanted.isEmpty && wanted.count < devices.count)
            var stream = try await OrderStream(fixture, "/v1/fleets/blue/orders?partitions=1,3")
            for device in devices { try await fixture.transition(device, "launch") }
            var seen: [String] = []
            for _ in wanted { seen.append(try #require(try await stream.next()?.order["device"]?.string)) }
            #expect(seen.sorted() == wanted.sorted())
            for bad in ["4", "x", "", "-1", "1,,2"] {
                let answer = try await fixture.send("GET", "/v1/fleets/blue/orders?partitions=\(bad)")
                #expect(answer.code == "invalid_query", "partitions=\(bad)")
            }
        }
    }

    @Test func `only its own token and operators open the stream of a fleet`() async throws {
        try await LifecycleFixture.run { fixture in
            let device = try await fixture.phone("d1", fleet: "blue")
            for key in [device, try await fixture.tokens.fleet("red")] {
                #expect(try await fixture.send("GET", "/v1/fleets/blue/orders", key: key).code == "not_found")
            }
            _ = try await OrderStream(fixture, "/v1/fleets/blue/orders", key: LifecycleFixture.readerKey)
        }
    }

    @Test func `each fleet gets exactly its own orders`() async throws {
        try await LifecycleFixture.run { fixture in
            let fleets = ["blue", "red", "green"]
            let devices = (0..<300).map { (id: "d\($0)", fleet: fleets[$0 % 3]) }
            try await fixture.atOnce(devices) { _ = try await fixture.phone($0.id, fleet: $0.fleet) }
            // Blue has one stream for all partitions, red two, green one for each partition.
            let shares: [(fleet: String, partitions: [Int])] = [
                ("blue", [0, 1, 2, 3]), ("red", [0, 2]), ("red", [1, 3]), ("green", [0]), ("green", [1]),
                ("green", [2]),
                ("green", [3]),
            ]
            var streams: [OrderStream] = []
            for share in shares {
                let partitions = share.partitions.map(String.init).joined(separator: ",")
                streams.append(
                    try await OrderStream(fixture, "/v1/fleets/\(share.fleet)/orders?partitions=\(partitions)"))
            }
            try await fixture.atOnce(devices) { device in
                for event in ["launch", "home"] { try await fixture.transition(device.id, event) }
            }
            let orders = try await fixture.orders(after: [:])
            var told = 0
            for (share, stream) in zip(shares, streams) {
                let own = Set(devices.filter { $0.fleet == share.fleet }.map(\.id))
                let expected = share.partitions.map { partition in
                    orders[partition, default: []].filter { own.contains($0.device) }.map(\.order)
                }
                var stream = stream
                var seen: [Int: [String]] = [:]
                for _ in 0..<expected.reduce(0, { $0 + $1.count }) {
                    let order = try #require(try await stream.next()?.order["order"]?.string)
                    seen[try #require(EncodedPosition(order)?.offsets.keys.first), default: []].append(order)
                    told += 1
                }
                #expect(share.partitions.map { seen[$0, default: []] } == expected, "\(share)")
            }
            // A launch, a home and a suspension of each device.
            #expect(told == 3 * devices.count)
        }
    }

    @Test func `a device that moves to another fleet changes streams at that log position`() async throws {
        try await LifecycleFixture.run { fixture in
            for device in ["mover", "stayer"] { _ = try await fixture.phone(device, fleet: "blue") }
            let start = EncodedPosition(try await fixture.routes.tail.heads().mapValues { Int64($0) }).description
            var live = (
                blue: try await OrderStream(fixture, "/v1/fleets/blue/orders"),
                red: try await OrderStream(fixture, "/v1/fleets/red/orders")
            )
            func move(_ fleet: String?) async throws {
                let member = fleet.map { #","fleet":"\#($0)""# } ?? ""
                try await fixture.send("PUT", "/v1/devices/mover", #"{"profile":"ios15"\#(member)}"#)
            }
            try await fixture.transition("mover", "launch")
            try await move("red")
            try await fixture.transition("mover", "home")
            try await move(nil)
            try await fixture.transition("mover", "open")
            try await move("blue")
            try await fixture.transition("mover", "crash")
            try await fixture.send("DELETE", "/v1/devices/mover")
            _ = try await fixture.phone("mover", fleet: "red")
            for device in ["mover", "stayer"] { try await fixture.transition(device, "launch") }
            // The device is in another fleet now. A stream that resumes at an earlier position gets the orders of that
            // time.
            var late = (
                blue: try await OrderStream(fixture, "/v1/fleets/blue/orders", after: start),
                red: try await OrderStream(fixture, "/v1/fleets/red/orders", after: start)
            )
            for blue in [try await names(&live.blue, 3), try await names(&late.blue, 3)] {
                #expect(blue["mover"] == ["didBecomeActive", "terminate"])
                #expect(blue["stayer"] == ["didBecomeActive"])
            }
            for red in [try await names(&live.red, 3), try await names(&late.red, 3)] {
                #expect(red == ["mover": ["didEnterBackground", "suspend", "didBecomeActive"]])
            }
        }
    }

    private func names(_ stream: inout OrderStream, _ count: Int) async throws -> [String: [String]] {
        var names: [String: [String]] = [:]
        for _ in 0..<count {
            let order = try #require(try await stream.next()).order
            names[order["device"]?.string ?? "", default: []].append(order["name"]?.string ?? "")
        }
        return names
    }

    @Test func `the members of a fleet are read for all devices at once`() async throws {
        try await LifecycleFixture.run { fixture in
            let asked = Tally()
            let states = StoredStates<LifecycleMachine> { call in
                asked.add()
                return try await fixture.pool.execute(call)
            }
            func load() async throws -> (members: Int, queries: Int) {
                let before = asked.count
                let heads = try await fixture.routes.tail.heads()
                let members = try await FleetMembers.load(of: "blue", at: heads, states)
                return (members.count, asked.count - before)
            }
            _ = try await fixture.phone("first", fleet: "blue")
            let one = try await load()
            try await fixture.atOnce((0..<200).map { "d\($0)" }) { device in
                _ = try await fixture.phone(device, fleet: device.hasSuffix("7") ? "red" : "blue")
            }
            let many = try await load()
            #expect(one.members == 1 && many.members == 181)
            #expect(many.queries == one.queries)
        }
    }

    @Test func `an earlier fleet of a device is read from a snapshot after retention dropped its events`() async throws
    {
        try await LifecycleFixture.run { fixture in
            for device in ["moved", "kept"] { _ = try await fixture.phone(device, fleet: "blue") }
            let places = try await fixture.routes.tail.heads()
            for partition in places.keys {
                let statement = Statement("SELECT bus.take_snapshots($1, current_date, 'lifecycle')")
                _ = try await fixture.pool.execute(Query(statement, [.int4(Int32(partition))]))
            }
            try await fixture.send("PUT", "/v1/devices/moved", #"{"profile":"ios15","fleet":"red"}"#)
            // Simulates a dropped day with the registration.
            for (partition, offset) in places {
                let statement = Statement("DELETE FROM bus.events WHERE partition = $1 AND log_offset <= $2")
                _ = try await fixture.pool.execute(Query(statement, [.int4(Int32(partition)), .int(offset)]))
            }
            for (fleet, then, now) in [("blue", 2, 1), ("red", 0, 1)] {
                let heads = try await fixture.routes.tail.heads()
                #expect(try await FleetMembers.load(of: fleet, at: places, fixture.runtime.states).count == then)
                #expect(try await FleetMembers.load(of: fleet, at: heads, fixture.runtime.states).count == now)
            }
        }
    }

    @Test func `an unread stream is cut before much is buffered`() async throws {
        try await LifecycleFixture.run { fixture in
            let devices = (0..<40).map { "d\($0)" }
            try await fixture.atOnce(devices) { _ = try await fixture.phone($0, fleet: "blue") }
            let start = try await fixture.routes.tail.heads()
            func orders(after places: [Int: Int]) async throws -> FleetOrders.AsyncIterator {
                let members = try await FleetMembers.load(of: "blue", at: places, fixture.runtime.states)
                return FleetOrders(fixture.routes.tail, after: places, members: members).makeAsyncIterator()
            }
            var slow = try await orders(after: start)
            var reader = try await orders(after: start)
            // The replay ends with the first order. From now on, both streams get live orders.
            try await fixture.transition("d0", "launch")
            let first = try #require(try await slow.next())
            #expect(try await reader.next() == first)
            let limit = LogTail.readerLimit * LifecycleFixture.partitions
            let (round, rounds) = (1000, 12)
            for _ in 0..<rounds {
                try await fixture.appendOrders(round, to: devices)
                // When one stream has the last order, both got all.
                for _ in 0..<round { _ = try #require(try await reader.next()) }
            }
            var last = first
            var got = 0
            await #expect(throws: TailError.slowReader) {
                while got <= limit + round, let event = try await slow.next() {
                    last = event
                    got += 1
                }
            }
            #expect(got > limit - 10 && got <= limit + round, "\(got) orders were buffered")
            // The reader resumes and gets the rest.
            let places = try #require(last.id.flatMap { EncodedPosition($0) }).offsets.mapValues { Int($0) }
            var resumed = try await orders(after: places)
            var rest = 0
            while rest < round * rounds - got { if try await resumed.next() != nil { rest += 1 } }
            let heads = try await fixture.routes.tail.heads()
            #expect(resumed.positions == heads)
        }
    }
}
