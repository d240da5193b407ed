import Contracts
import EventLog
import Foundation
import Logging
import Postgres
import Runtime
import ServiceLifecycle
import TestSupport
import Testing
import Timeline

@Suite("The tail of the log", .tags(.database)) struct LogTailTests {
    @Test func `a stream replays and continues live without loss or repetition`() async throws {
        try await withTail { fixture, runtime, tail in
            let before = 1030
            for _ in 0..<before { _ = try await runtime.submit(.add(1, to: "a")) }
            try await withThrowingTaskGroup(of: [Int].self) { group in
                // Readers start while events are appended, each at another position.
                for reader in 0..<8 {
                    group.addTask {
                        var offsets: [Int] = []
                        let start = reader * 100
                        for try await event in tail.events(of: .device("a"), after: start) {
                            offsets.append(event.offset)
                            if event.offset == before + 200 { break }
                        }
                        #expect(offsets == Array(start + 1...before + 200))
                        return offsets
                    }
                }
                group.addTask {
                    for _ in 0..<200 { _ = try await runtime.submit(.add(1, to: "a")) }
                    return []
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `a stream has only events of its own key`() async throws {
        try await withTail { fixture, runtime, tail in
            // A second key of the same partition, so that only the routing separates them.
            let partition = AggregateKey.device("a").partition(of: fixture.partitions)
            let other = try #require(
                (0..<100).map { "b\($0)" }.first {
                    AggregateKey.device($0).partition(of: fixture.partitions) == partition
                })
            var stream = tail.events(of: .device("a"), after: 0).makeAsyncIterator()
            for device in ["a", other, other, "a"] { _ = try await runtime.submit(.add(1, to: device)) }
            #expect(try await stream.next()?.offset == 1)
            #expect(try await stream.next()?.offset == 4)
            for device in [other, "a"] { _ = try await runtime.submit(.add(1, to: device)) }
            #expect(try await stream.next()?.offset == 6)
        }
    }

    @Test func `a position beyond the head does not disturb other streams`() async throws {
        try await withTail { fixture, runtime, tail in
            _ = try await runtime.submit(.add(1, to: "a"))
            let heard = Signal<Int>()
            async let told: Void = hear(tail, heard)
            // They have joined when they get new events.
            var offset = 1
            while !heard.hasFired {
                offset = try await runtime.submit(.add(1, to: "a")).offset
                await Task.yield()
            }
            try await told
            #expect(try await heard.value() <= offset)
        }
    }

    /// One position of a log that no longer exists, which the head then passes, and a valid one beside it.
    private func hear(_ tail: LogTail, _ heard: Signal<Int>) async throws {
        async let lost = first(tail.events(of: .device("a"), after: .max - 1))
        async let honest = first(tail.events(of: .device("a"), after: 1))
        #expect(try await honest == 2)
        heard.fire(try await lost)
    }

    private func first(_ stream: LogStream) async throws -> Int {
        for try await event in stream { return event.offset }
        return 0
    }

    /// A standby took over that had not got the last event. A process that owns no partition does not find it otherwise.
    @Test func `a stream ends when the log loses its events`() async throws {
        try await withTail { fixture, runtime, tail in
            for _ in 0..<2 { _ = try await runtime.submit(.add(1, to: "a")) }
            var stream = tail.events(of: .device("a"), after: 0).makeAsyncIterator()
            for offset in 1...2 { #expect(try await stream.next()?.offset == offset) }
            let partition = AggregateKey.device("a").partition(of: fixture.partitions)
            _ = try await fixture.pool.execute([
                Query(Statement("UPDATE bus.partitions SET head = 1 WHERE partition = $1"), .partition(partition)),
                Query(
                    Statement("DELETE FROM bus.events WHERE partition = $1 AND log_offset = 2"), .partition(partition)),
            ])
            await #expect(throws: TailError.eventsLost) { _ = try await stream.next() }
        }
    }

    @Test func `one stream has all partitions, each in order`() async throws {
        try await withTail { fixture, runtime, tail in
            for number in 0..<40 { _ = try await runtime.submit(.add(1, to: "d\(number)")) }
            let start = Dictionary(uniqueKeysWithValues: (0..<fixture.partitions).map { ($0, 0) })
            var seen: [Int: [Int]] = [:]
            var stream = tail.events(in: start).makeAsyncIterator()
            for number in 0..<80 {
                if number >= 40 { _ = try await runtime.submit(.add(1, to: "d\(number - 40)")) }
                let event = try #require(try await stream.next())
                seen[event.partition, default: []].append(event.offset)
            }
            #expect(seen.values.reduce(0) { $0 + $1.count } == 80)
            for offsets in seen.values { #expect(offsets == Array(1...offsets.count)) }
            #expect(try await tail.heads() == seen.mapValues(\.count).merging(start) { known, _ in known })
        }
    }

    @Test func `a reader that does not read is disconnected, and the others continue`() async throws {
        try await withTail { fixture, runtime, tail in
            var slow = tail.events(of: .device("a"), after: 0).makeAsyncIterator()
            _ = try await runtime.submit(.add(1, to: "a"))
            // Its replay is over, so events now wait in its buffer.
            #expect(try await slow.next()?.offset == 1)
            let count = LogTail.readerLimit + 50
            async let live = offsets(tail, count)
            try await runtime.addOnes(count, to: "a")
            #expect(try await live == Array(1...count))
            // The other reader joins behind the last event. When it has the first of two new events, all earlier ones
            // have reached every reader.
            var other = tail.events(of: .device("a"), after: count).makeAsyncIterator()
            #expect(try await other.next()?.offset == count + 1)
            for offset in [count + 2, count + 3] {
                _ = try await runtime.submit(.add(1, to: "a"))
                #expect(try await other.next()?.offset == offset)
            }
            var got = 1
            await #expect(throws: TailError.slowReader) {
                while let event = try await slow.next() {
                    #expect(event.offset == got + 1)
                    got = event.offset
                }
            }
            // It knows its last event and can resume there.
            var resumed = tail.events(of: .device("a"), after: got).makeAsyncIterator()
            #expect(try await resumed.next()?.offset == got + 1)
        }
    }

    @Test func `one large pass disconnects no reader`() async throws {
        try await withTail { fixture, runtime, tail in
            var places: [Int: Int] = [:]
            for partition in 0..<fixture.partitions { places[partition] = 0 }
            var stream = tail.events(in: places) { $0.type == "other.thing.pinged" }.makeAsyncIterator()
            try await fixture.append(to: "a")
            // Its replay is over, so it gets new events directly.
            _ = try #require(try await stream.next())
            // More than its limit of unread events for one partition, at once.
            let count = 900
            try #require(count < LogTail.readerLimit && count * fixture.partitions > 3 * LogTail.readerLimit)
            try await fixture.appendAtOnce(count)
            var seen: [Int: Int] = [:]
            for _ in 0..<count * fixture.partitions {
                let event = try #require(try await stream.next())
                seen[event.partition, default: 0] += 1
            }
            #expect(seen.count == fixture.partitions && seen.values.allSatisfy { $0 == count })
        }
    }

    /// Marks also count as unread: a reader has at most one of them.
    @Test func `a reader that reads nothing gets one mark`() async throws {
        try await withTail(markInterval: .zero) { fixture, runtime, tail in
            let partition = AggregateKey.device("a").partition(of: fixture.partitions)
            var marked = tail.events(in: [partition: 0], isMarked: true) { _ in false }.makeAsyncIterator()
            #expect(try await marked.step() == .mark([partition: 0]))
            var witness = tail.events(of: .device("a"), after: 0).makeAsyncIterator()
            let count = 50
            // Each append is a separate pass.
            for offset in 1...count {
                _ = try await runtime.submit(.add(1, to: "a"))
                #expect(try await witness.next()?.offset == offset)
            }
            var marks: [LogStep?] = []
            while marks.last != .mark([partition: count]) { marks.append(try await marked.step()) }
            #expect(marks.count <= 3)
        }
    }

    @Test func `a reader that names its types causes no read of other events`() async throws {
        try await withTail(pollInterval: .seconds(3600)) { fixture, runtime, tail in
            let partition = AggregateKey.device("a").partition(of: fixture.partitions)
            var named = tail.events(in: [partition: 0], of: ["other.thing.pinged"]).makeAsyncIterator()
            try await fixture.append(to: "a")
            #expect(try await named.next()?.offset == 1)
            let other = LogTail(
                pool: fixture.pool, partitions: fixture.partitions, updates: runtime.updates, logger: fixture.logger)
            try await ServiceGroup(services: [other], logger: fixture.logger).run {
                var all = other.events(of: .device("a"), after: 1).makeAsyncIterator()
                let before = tail.passes
                for offset in 2...21 {
                    _ = try await runtime.submit(.add(1, to: "a"))
                    // When this reader has the event, the wake-up has reached both tails.
                    #expect(try await all.next()?.offset == offset)
                }
                // The first reader may still have been joining.
                #expect(tail.passes - before < 5)
            }
            try await fixture.append(to: "a")
            // The counter has also counted the first ping.
            #expect(try await named.next()?.offset == 23)
        }
    }

    private func offsets(_ tail: LogTail, _ count: Int) async throws -> [Int] {
        var offsets: [Int] = []
        for try await event in tail.events(of: .device("a"), after: 0) {
            offsets.append(event.offset)
            if offsets.count == count { break }
        }
        return offsets
    }

    private func withTail(
        markInterval: Duration = .seconds(10), pollInterval: Duration = .milliseconds(500),
        _ body: @Sendable @escaping (RuntimeFixture, DurableRuntime<Counter>, LogTail) async throws -> Void
    ) async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.running { runtime in
            let tail = LogTail(
                pool: fixture.pool, partitions: fixture.partitions, updates: runtime.updates,
                markInterval: markInterval, pollInterval: pollInterval, logger: fixture.logger)
            let group = ServiceGroup(services: [tail], logger: fixture.logger)
            try await group.run { try await body(fixture, runtime, tail) }
        }
        await fixture.pool.close()
    }
}

extension RuntimeFixture {
    /// Appends a number of pings to each partition in one transaction, with one notification.
    fileprivate func appendAtOnce(_ count: Int) async throws {
        let devices = oneDeviceInEach
        var queries = [Query(Statement("BEGIN"))]
        let statement = Statement(
            """
            WITH moved AS (UPDATE bus.partitions SET head = head + $3::int8 WHERE partition = $1 RETURNING head)
            INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, time, correlationid, data)
            SELECT $1, head - $3::int8 + n, current_date, gen_random_uuid(), 'other', 'other.thing.pinged', 1, $2, $4,
                gen_random_uuid(), '{}' FROM moved, generate_series(1, $3::int8) AS n
            """)
        for (partition, device) in devices.enumerated() {
            let now = Int(RealClock().now.milliseconds)
            let key = AggregateKey.device(device).description
            queries.append(Query(statement, [.int4(Int32(partition)), .text(key), .int(count), .int(now)]))
        }
        queries.append(Query(Statement("COMMIT")))
        _ = try await pool.execute(queries)
        try await wakeUp(Array(devices.indices))
    }
}
