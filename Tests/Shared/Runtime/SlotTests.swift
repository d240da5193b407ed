import Contracts
import EventLog
import Foundation
import Machines
import OrderedCollections
import Postgres
import Runtime
import TestSupport
import Testing
import Timeline

@Suite("Slots under a rate limit", .tags(.database), .timeLimit(.minutes(3))) struct SlotTests {
    private let ceiling = 20
    private let aim = RealClock().now + .hours(1)

    @Test func `two replicas never reserve the same slot`() async throws {
        let fixture = try await RuntimeFixture()
        let aim = aim
        try await fixture.running(Booker.self, ceiling) { one in
            try await fixture.running(Booker.self, self.ceiling) { other in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<400 {
                        let replica = number.isMultiple(of: 2) ? one : other
                        group.addTask { _ = try await replica.submit(.book(aim, "d\(number)")) }
                    }
                    try await group.waitForAll()
                }
            }
        }
        let held = try await fixture.held()
        #expect(held.count == 400)
        #expect(Set(held).count == 400, "each device has its own slot")
        for (index, moment) in held.enumerated() where index + ceiling < held.count {
            #expect(held[index + ceiling] >= moment + .seconds(Int64(1)))
        }
        // As close as the ceiling allows. The partitions have slightly different numbers of devices.
        #expect(try #require(held.last) < aim + .seconds(Int64(40)))
        // A later replica knows all reservations and releases.
        try await fixture.running(Booker.self, ceiling) { late in
            for number in 0..<40 { _ = try await late.submit(.cancel("d\(number)")) }
            for number in 400..<500 { _ = try await late.submit(.book(aim, "d\(number)")) }
        }
        let more = try await fixture.held()
        #expect(more.count == 460)
        #expect(Set(more).count == 460)
        await fixture.pool.close()
    }

    @Test func `a refused batch reserves no slot`() async throws {
        let fixture = try await RuntimeFixture()
        let aim = aim
        _ = try await fixture.pool.execute(
            Query(
                Statement(
                    """
                    ALTER TABLE bus.events ADD CONSTRAINT bad CHECK (key <> 'device:bad') NOT VALID
                    """)))
        try await fixture.running(Booker.self, ceiling) { replica in
            await #expect(throws: (any Error).self) { _ = try await replica.submit(.book(aim, "bad")) }
            for number in 0..<40 { _ = try await replica.submit(.book(aim, "d\(number)")) }
        }
        let partition = AggregateKey.device("bad").partition(of: fixture.partitions)
        let expected = SlotAllocator(ceiling: ceiling, partition: partition, partitions: fixture.partitions)
        #expect(try await fixture.held().contains(expected.first(from: aim)), "another device got the first slot")
        await fixture.pool.close()
    }

    @Test func `the stored slots equal the reservations of the aggregates`() async throws {
        let fixture = try await RuntimeFixture()
        let aim = aim
        try await fixture.running(Booker.self, ceiling) { replica in
            for number in 0..<60 { _ = try await replica.submit(.book(aim, "d\(number)")) }
            for number in 0..<20 { _ = try await replica.submit(.cancel("d\(number)")) }
        }
        let taken = try await fixture.pool.execute(
            Query(
                Statement(
                    "SELECT sum(bit_count(taken))::int8 FROM counter.slot_pages WHERE slots_per_second = $1"),
                [.int4(Int32(ceiling))]))
        #expect(try taken[0].decode(Int.self, at: 0) == 40)
        await fixture.pool.close()
    }

    @Test func `past pages of slots are deleted`() async throws {
        let fixture = try await RuntimeFixture()
        let aim = aim
        let old = Query(
            Statement(
                "INSERT INTO counter.slot_pages SELECT p, $1, 1, 1000, '\\x00' FROM generate_series(0, 3) AS p"),
            [.int4(7)])
        _ = try await fixture.pool.execute(old)
        try await fixture.running(Booker.self, ceiling) { replica in
            // An old page of this ceiling, so that there is something to delete.
            for number in 0..<20 { _ = try await replica.submit(.book(.epoch + .days(1), "d\(number)")) }
            try await eventually(describe: "the old pages are deleted") {
                for number in 0..<20 { _ = try await replica.submit(.book(aim, "e\(number)")) }
                let rows = try await fixture.pool.execute(
                    Query(
                        Statement("SELECT count(*) FROM counter.slot_pages WHERE ends < $1"),
                        [.int(1_000_000_000_000)]))
                return try rows[0].decode(Int.self, at: 0) == 0
            }
        }
        await fixture.pool.close()
    }
}

extension Submission<Booker> {
    static func book(_ moment: Instant, _ device: String) -> Submission {
        Submission(key: .device(device), command: .book(from: moment), origin: .named()) { _, _ in [] }
    }

    static func cancel(_ device: String) -> Submission {
        Submission(key: .device(device), command: .cancel, origin: .named()) { _, _ in [] }
    }
}

extension RuntimeFixture {
    /// Returns the reservations of the aggregates, in order.
    fileprivate func held() async throws -> [Instant] {
        let rows = try await pool.execute(
            Query(Statement("SELECT next_deadline FROM counter.states WHERE next_deadline IS NOT NULL ORDER BY 1")))
        return try rows.map { Instant(milliseconds: Int64(try $0.decode(Int.self, at: 0))) }
    }
}
