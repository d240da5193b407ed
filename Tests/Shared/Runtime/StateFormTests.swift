import Contracts
import EventLog
import Foundation
import Machines
import MachineTesting
import Postgres
import Records
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// Two releases of a machine side by side: the form in which states are written, and the partitions of each release.
@Suite(.tags(.database), .timeLimit(.minutes(3))) struct StateFormTests {
    /// Waits for no old member to return.
    private static let hasty = StallLimits(update: .zero)

    @Test func `a newer program writes the older form until no older one is a member`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.running(NextCounter.self, (), limits: Self.hasty) { next in
            try await fixture.settled(onForm: 2)
            try await fixture.running { older in
                try await fixture.settled(onForm: 1)
                try await eventuallyTrue { older.newerState == nil }
                // A command about each partition at each release.
                for device in fixture.oneDeviceInEach {
                    _ = try await next.submit(.adding(1, to: device))
                    _ = try await older.submit(.adding(1, to: device))
                    #expect(try await older.state(.device(device))?.aggregate.state.total == 2)
                    #expect(try await next.state(.device(device))?.aggregate.state.additions == 2)
                }
                #expect(try await fixture.versions() == [1])
                #expect(older.newerState == nil)
            }
            try await fixture.settled(onForm: 2)
            try await eventuallyTrue { try await fixture.versions() == [2] }
            try await eventuallyTrue { next.outdatedStates == 0 }
            for device in fixture.oneDeviceInEach {
                #expect(try await next.state(.device(device))?.aggregate.state.additions == 2)
                #expect(try await next.foldCheck(.device(device)))
            }
        }
        await fixture.pool.close()
    }

    @Test func `after a rollback the older program reads all states, and takes partitions`() async throws {
        let fixture = try await RuntimeFixture()
        let devices = (0..<120).map { "d\($0)" }
        let (newStates, bothLive, newerLeft) = (Gate(), Gate(), Gate())
        // The older program outlives the newer one. Otherwise the newer one may write its own form before it leaves.
        async let rollback: Void = {
            defer { bothLive.open() }
            try await newStates.pass()
            try await fixture.running { older in
                try await eventuallyTrue { try await fixture.versions() == [1] }
                try await eventuallyTrue { try await fixture.newestStates() == [1, 1, 1, 1] }
                try await eventuallyTrue { older.newerState == nil }
                // Retention waits again, because the next upgrade needs the events.
                #expect(try await fixture.numbers("SELECT reached::int8 FROM bus.state_versions") == [1, 1, 1, 1])
                try await eventuallyTrue { try await fixture.owners() == [2, 2] }
                for device in devices {
                    let answer = try await older.submit(.adding(1, to: device))
                    #expect(String(decoding: answer.body, as: UTF8.self) == "4")
                }
                bothLive.open()
                try await newerLeft.pass()
                #expect(try await fixture.newestStates() == [1, 1, 1, 1])
                try await fixture.migrateAgain(to: 1)
                #expect(try await fixture.wantedVersions() == [1, 1, 1, 1], "retention waits for nothing")
            }
        }()
        try await fixture.running(NextCounter.self, (), limits: Self.hasty) { next in
            try await fixture.settled(onForm: 2)
            for device in devices { _ = try await next.submit(.adding(3, to: device)) }
            #expect(try await fixture.versions() == [2])
            try await fixture.sql("UPDATE bus.state_versions SET reached = 2, wanted = 2")
            newStates.open()
            try await bothLive.pass()
            try await fixture.migrateAgain(to: 1)
            #expect(try await fixture.wantedVersions() == [2, 2, 2, 2], "a newer program lives")
        }
        newerLeft.open()
        try await rollback
        try await fixture.audit()
        await fixture.pool.close()
    }

    @Test func `a state that the older form can't express stays newer, and only it is refused`() async throws {
        let fixture = try await RuntimeFixture()
        let large = fixture.oneDeviceInEach[0]
        try await fixture.running(NextCounter.self, (), limits: Self.hasty) { next in
            try await fixture.settled(onForm: 2)
            try await fixture.running { older in
                try await fixture.settled(onForm: 1)
                _ = try await next.submit(.adding(NextCounter.limit, to: large))
                await #expect(throws: RuntimeError.newerState(key: .device(large), version: 2)) {
                    try await older.submit(.adding(1, to: large))
                }
                try await eventuallyTrue { older.newerState == 2 }
                #expect(older.hasNewerMember, "its service is not ready")
                for device in fixture.oneDeviceInEach.dropFirst() {
                    _ = try await older.submit(.adding(1, to: device))
                }
                // The newer program has the partition, so its log moves on.
                let pings = try await fixture.pingEachPartition()
                try await fixture.counted(pings)
                #expect(try await older.deadLetters().isEmpty)
                // The older form can express it again.
                _ = try await next.submit(.adding(-1, to: large))
                _ = try await older.submit(.adding(1, to: fixture.oneDeviceInEach[1]))
            }
        }
        await fixture.pool.close()
    }

    @Test func `the sweeper keeps the form of a state that the older form can't express`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.running { older in _ = try await older.submit(.adding(1, to: "a")) }
        let partition = AggregateKey.device("a").partition(of: fixture.partitions)
        let owner = UUID()
        try await fixture.sql("UPDATE bus.cursors SET owner = '\(owner)', epoch = 9, state_form = 1")
        // A machine without any older form.
        let lease = OwnedPartition(owner: owner, epoch: 9, form: 1, newestState: 1)
        let upgrader = StateUpgrader<LaterCounter>(partition: partition, lease: lease, form: 1, pool: fixture.pool)
        let read = Statement("SELECT \(Statements.stateColumns) FROM counter.states")
        let stored = try await fixture.pool.execute(Query(read)).map { try StoredState($0) }
        let kept = try await upgrader.upgrade(stored.map { ($0, nil) }, at: .epoch)
        #expect(kept.written == 0 && kept.newer == 0)
        #expect(try await fixture.versions() == [1])
        try await fixture.sql("UPDATE bus.cursors SET state_form = 2")
        let other = StateUpgrader<LaterCounter>(partition: partition, lease: lease, form: 2, pool: fixture.pool)
        #expect(try await upgrader.upgrade(stored.map { ($0, nil) }, at: .epoch).written == 0, "the form has changed")
        #expect(try await other.upgrade(stored.map { ($0, nil) }, at: .epoch).written == 1)
        #expect(try await fixture.versions() == [2])
        await fixture.pool.close()
    }

    @Test func `a newer program that has seen no older one waits before it writes its form`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.running(NextCounter.self, ()) { next in
            try await eventuallyTrue { await next.ownedPartitions == 4 }
            _ = try await next.submit(.adding(1, to: "a"))
            #expect(try await fixture.versions() == [1])
            #expect(try await fixture.newestStates() == [1, 1, 1, 1])
        }
        await fixture.pool.close()
    }

    @Test func `older programs share partitions that only a newer one can read completely`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.sql("UPDATE bus.cursors SET newest_state = 2, state_form = 2")
        try await fixture.running { _ in
            try await fixture.running { _ in
                try await eventuallyTrue { try await fixture.owners() == [2, 2] }
            }
        }
        await fixture.pool.close()
    }

    @Test func `a halted older program continues after the newer states are gone`() async throws {
        let fixture = try await RuntimeFixture()
        let device = fixture.oneDeviceInEach[0]
        try await fixture.running { older in
            _ = try await older.submit(.adding(1, to: device))
            // Like a newer program that has died.
            try await fixture.sql(
                """
                UPDATE counter.states SET machine_version = 2;
                UPDATE bus.cursors SET last_batch = gen_random_uuid(), newest_state = 2 WHERE partition = 0
                """)
            try await fixture.append(to: device)
            try await eventuallyTrue {
                if case .halted = await older.partitionStates[0] { true } else { false }
            }
            try await eventuallyTrue { older.newerState == 2 }
            try await fixture.sql(
                """
                UPDATE counter.states SET machine_version = 1;
                UPDATE bus.cursors SET newest_state = 1
                """)
            try await eventuallyTrue { try await fixture.owners() == [4] }
            try await fixture.waitForLog { log in log.contains { $0.type == PingCounted.type } }
            #expect(older.newerState == nil && older.stuckPartitions.isEmpty)
        }
        await fixture.pool.close()
    }

    @Test func `values that the older form lacks come from the log`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.running(NextCounter.self, (), limits: Self.hasty) { next in
            try await fixture.settled(onForm: 2)
            try await fixture.running { _ in
                try await fixture.settled(onForm: 1)
                for _ in 0..<3 {
                    _ = try await next.submit(.adding(1, to: "a"))
                    // The cache is out of date, so the next command reads the older form.
                    try await fixture.sql("UPDATE bus.cursors SET last_batch = gen_random_uuid()")
                }
                #expect(try await next.state(.device("a"))?.aggregate.state.additions == 3)
            }
            try await fixture.settled(onForm: 2)
            try await eventuallyTrue { try await fixture.versions() == [2] }
            #expect(try await next.foldCheck(.device("a")))
        }
        await fixture.pool.close()
    }

    @Test func `an old member that returns in time finds no newer states`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.running(NextCounter.self, ()) { next in
            for number in 1...2 {
                try await fixture.running { _ in
                    // The new program knows of the old one before it leaves.
                    try await eventuallyTrue { next.hasOtherMembers }
                    try await fixture.settled(onForm: 1)
                    _ = try await next.submit(.adding(1, to: "a"))
                }
                _ = try await next.submit(.adding(1, to: "a"))
                #expect(try await fixture.versions() == [1], "\(number)")
            }
        }
        await fixture.pool.close()
    }

    @Test func `a stored deadline that the machine does not have is removed`() async throws {
        let fixture = try await RuntimeFixture()
        try await fixture.running { runtime in
            _ = try await runtime.submit(.adding(1, to: "a"))
            try await fixture.sql(
                """
                UPDATE counter.states SET next_deadline = 1;
                UPDATE bus.cursors SET last_batch = gen_random_uuid()
                """)
            let left = "SELECT count(*) FROM counter.states WHERE next_deadline IS NOT NULL"
            try await eventuallyTrue { try await fixture.numbers(left) == [0] }
            #expect(try await fixture.log().count == 1)
        }
        await fixture.pool.close()
    }

    @Test func `an older form has the earlier deadline, unless that of the older machine is over`() {
        var state = Early()
        state.counter.ringAt = Instant(milliseconds: 5000)
        for (form, moment, expected) in [
            (2, 0, 6000), (1, 0, 5000), (1, 4999, 5000), (1, 5000, 6000), (1, 9000, 6000),
        ] {
            let written = state.written(as: form, at: Instant(milliseconds: Int64(moment)))
            #expect(written.nextDeadline == Instant(milliseconds: Int64(expected)), "\(form) \(moment)")
            #expect(written.version == form)
            #expect(written.binary == (form == 2 ? state.binary : state.counter.binary))
        }
        #expect(Counter().written(as: 0, at: .epoch).version == 1, "it has no older form")
    }
}

/// A release of the counter that rings a second later.
struct Early: Machine, Equatable {
    typealias Command = Counter.Command
    typealias OwnEvent = CounterEvent
    typealias Refusal = Counter.Refusal
    typealias Policy = Void

    static let version = 2
    static let follows = Counter.follows

    var counter = Counter()

    var nextDeadline: Instant? { counter.nextDeadline.map { $0 + .seconds(1) } }

    func downgraded(to version: Int) -> OlderForm? {
        OlderForm(binary: counter.binary, nextDeadline: counter.nextDeadline)
    }

    static func decide(_ input: Input<Command>, _ decision: inout Decision<Early>) throws(Refusal) {}

    mutating func apply(_ event: CounterEvent, at time: Instant) { counter.apply(event, at: time) }
}

extension Submission where M.Command == Counter.Command {
    /// A command that answers with the total.
    fileprivate static func adding(_ amount: Int, to device: String) -> Submission<M> {
        Submission(key: .device(device), command: .add(amount), origin: .named()) { aggregate, _ in
            let counter = (aggregate.state as? NextCounter)?.counter ?? aggregate.state as? Counter
            return Array(String(counter?.total ?? -1).utf8)
        }
    }
}

extension RuntimeFixture {
    /// Runs `migrate` of a program whose machine has a version.
    fileprivate func migrateAgain(to version: Int) async throws {
        let connection = try await Connection.open(try ConnectionOptions(url: url), logger: logger)
        try await RuntimeSchema.migrate(
            service: Counter.name, connection, partitions: partitions, rolePassword: nil, version: version,
            logger: logger)
        await connection.close()
    }

    fileprivate func wantedVersions() async throws -> [Int] {
        try await numbers("SELECT wanted::int8 FROM bus.state_versions")
    }

    fileprivate func sql(_ text: String) async throws {
        try await pool.withConnection { try await $0.script(text) }
    }

    fileprivate func numbers(_ sql: String) async throws -> [Int] {
        try await pool.execute(Query(Statement(sql))).decode(Int.self)
    }

    /// The versions of all stored states.
    fileprivate func versions() async throws -> [Int] {
        try await numbers("SELECT DISTINCT machine_version::int8 FROM counter.states ORDER BY 1")
    }

    fileprivate func newestStates() async throws -> [Int] {
        try await numbers("SELECT newest_state::int8 FROM bus.cursors")
    }

    /// Waits until states of all partitions are written in a form.
    fileprivate func settled(onForm form: Int) async throws {
        try await eventuallyTrue {
            try await numbers("SELECT DISTINCT state_form::int8 FROM bus.cursors") == [form]
        }
    }
}
