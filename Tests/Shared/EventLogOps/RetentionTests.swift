import Contracts
import Logging
import Machines
import Postgres
import Records
import Runtime
import Synchronization
import TestSupport
import Testing
import Timeline

@testable import EventLog

@Suite("Retention", .tags(.database), .timeLimit(.minutes(5))) struct RetentionTests {
    @Test func `days are created ahead and missing ones are a fault`() async throws {
        let fixture = try await OpsFixture()
        #expect(try await fixture.daysAhead() == 7)
        _ = try await fixture.sql(
            "DO $$ BEGIN EXECUTE format('DROP TABLE bus.%I', 'events_' || to_char(current_date + 2, 'YYYYMMDD')); END $$"
        )
        #expect(try await fixture.daysAhead() == 1)
        #expect(try await fixture.daysFault() == "the log has tables for only 1 days ahead")
        _ = try await fixture.maintenance(nil).round()
        #expect(try await fixture.daysAhead() == 7)
        #expect(try await fixture.daysFault() == nil)
    }

    @Test func `upkeep that keeps failing is an error with its consequence`() async throws {
        let fixture = try await OpsFixture()
        let lines = Mutex<[(level: Logger.Level, text: String)]>([])
        let logger = Logger(label: "test") { _ in
            Ear { level, text in lines.withLock { $0.append((level, text)) } }
        }
        let maintenance = LogMaintenance(
            pool: fixture.pool, retentionDays: nil, interval: .milliseconds(20), logger: logger)
        _ = try await fixture.sql("ALTER FUNCTION bus.ensure_days(integer) RENAME TO ensure_no_days")
        let work = Task { try await maintenance.run() }
        try await eventually(describe: "an error") { lines.withLock { $0.contains { $0.level == .error } } }
        let told = lines.withLock { $0 }
        #expect(told.prefix(2).map(\.level) == [.warning, .warning], "the first failures are warnings")
        #expect(told.first { $0.level == .error }?.text.contains("tables for the next days run out") == true, "\(told)")
        #expect(told.allSatisfy { $0.text.contains("bus.ensure_days(integer) does not exist") }, "\(told)")
        #expect(maintenance.fault?.contains("keeps failing") == true)
        _ = try await fixture.sql("ALTER FUNCTION bus.ensure_no_days(integer) RENAME TO ensure_days")
        try await eventually(describe: "the upkeep succeeds") { maintenance.fault == nil }
        work.cancel()
        try await work.value
    }

    @Test func `only days beyond the retention are dropped`() async throws {
        let fixture = try await OpsFixture()
        for days in [31, 30, 5] {
            try await fixture.makeDay(daysAgo: days)
            try await fixture.append(to: "a", daysAgo: days)
        }
        try await fixture.append(to: "a")
        try await fixture.readAll()
        let round = try #require(try await fixture.maintenance(30).round())
        #expect(round.dropped.count == 1 && round.waitsFor.isEmpty)
        #expect(try await fixture.events(of: "a").map(\.offset) == [2, 3, 4])
        let partition = AggregateKey.device("a").partition(of: OpsFixture.partitions)
        let check = try await fixture.queries.checkDensity(of: partition)
        #expect(check.first == 2 && check.count == 3 && check.faults.isEmpty)
        #expect(try await fixture.maintenance(30).round()?.dropped == [])
    }

    @Test func `a day is kept until every consumer has read it`() async throws {
        let fixture = try await OpsFixture()
        for days in [40, 39, 15] { try await fixture.makeDay(daysAgo: days) }
        try await fixture.append(to: "a", daysAgo: 40)
        try await fixture.readAll()
        for days in [39, 15, 0] { try await fixture.append(to: "a", daysAgo: days) }
        let round = try #require(try await fixture.maintenance(30).round())
        #expect(round.dropped.count == 1)
        #expect(round.waitsFor == ["counter"])
        #expect(try await fixture.events(of: "a").map(\.offset) == [2, 3, 4])
        try await fixture.readAll()
        #expect(try await fixture.maintenance(30).round()?.dropped.count == 1)
    }

    @Test func `a day is kept until its revocations are in the table`() async throws {
        let fixture = try await OpsFixture()
        let log = RevocationLog(pool: fixture.pool)
        let partition = AggregateKey.device("a").partition(of: OpsFixture.partitions)
        for days in [40, 39, 15] {
            try await fixture.makeDay(daysAgo: days)
            try await fixture.append(to: "a", daysAgo: days)
        }
        try await fixture.append(to: "a")
        try await fixture.readAll()
        try await log.keep(Revocations(positions: [partition: 1]), partitions: OpsFixture.partitions)
        let round = try #require(try await fixture.maintenance(30).round())
        #expect(round.dropped.count == 1 && round.waitsFor == ["revocations"])
        try await log.keep(try await log.read(after: [partition: 1]).found, partitions: OpsFixture.partitions)
        #expect(try await fixture.maintenance(30).round()?.dropped.count == 1)
    }

    @Test func `a history that loses events starts at a base snapshot`() async throws {
        let fixture = try await OpsFixture()
        let place = AggregateKey.device("a").partition(of: OpsFixture.partitions)
        // Each day, a round takes the snapshots of the day before.
        for (days, state) in [(33, 1), (32, 2), (2, 3)] {
            try await fixture.makeDay(daysAgo: days)
            try await fixture.append(source: "counter", to: "a", daysAgo: days)
            try await fixture.store("a", offset: state, state: [UInt8(state)])
            try await fixture.readAll()
            _ = try await fixture.maintenance(100).round()
        }
        try await fixture.append(source: "counter", to: "a")
        try await fixture.store("a", offset: 4, state: [4])
        try await fixture.readAll()
        #expect(try await fixture.start("a", upTo: 1) == .snapshot(fixture.base([1], 1)))

        #expect(try await fixture.maintenance(32).round()?.dropped.count == 1)
        // The first day was dropped, but its snapshot still has offset 1.
        #expect(try await fixture.start("a", upTo: 1) == .snapshot(fixture.base([1], 1)))
        #expect(try await fixture.start("a", upTo: 0) == .beyondRetention)

        #expect(try await fixture.maintenance(31).round()?.dropped.count == 1)
        #expect(try await fixture.start("a", upTo: 1) == .beyondRetention)
        #expect(try await fixture.start("a", upTo: 2) == .snapshot(fixture.base([2], 2)))
        #expect(try await fixture.start("a", upTo: 4) == .snapshot(fixture.base([3], 3)))
        let rows = try await fixture.pool.execute(
            Query(
                LogReader.historyPage,
                [.int4(Int32(place)), .text("device:a"), .text("counter"), .int(2), .int(4), .int(9)]))
        #expect(try rows.map { try LogReader.event($0).offset } == [3, 4])
        #expect(try await fixture.start("never", upTo: 9) == .beginning)
    }

    @Test func `a day without snapshots gets its base when it is dropped`() async throws {
        let fixture = try await OpsFixture()
        try await fixture.makeDay(daysAgo: 50)
        try await fixture.append(source: "counter", to: "a", daysAgo: 50)
        try await fixture.append(source: "counter", to: "a")
        try await fixture.store("a", offset: 2, state: [7])
        try await fixture.bridge(daysAgo: 25)
        try await fixture.readAll()
        _ = try await fixture.maintenance(30).round()
        #expect(try await fixture.start("a", upTo: 1) == .beyondRetention)
        #expect(try await fixture.start("a", upTo: 2) == .snapshot(fixture.base([7], 2)))
    }

    @Test func `an interrupted drop is finished`() async throws {
        let fixture = try await OpsFixture()
        for days in [50, 49] { try await fixture.makeDay(daysAgo: days) }
        // One day is detached but not dropped, as after a crash.
        _ = try await fixture.sql(
            """
            DO $$ BEGIN EXECUTE format('ALTER TABLE bus.events DETACH PARTITION bus.%I',
                'events_' || to_char(current_date - 50, 'YYYYMMDD')); END $$
            """)
        #expect(try await fixture.maintenance(30).round()?.dropped.count == 2)
        #expect(try await fixture.sql("SELECT day FROM bus.days() WHERE day < current_date - 30").isEmpty)
    }

    @Test func `a reader whose position was dropped gets an error`() async throws {
        let fixture = try await OpsFixture()
        try await fixture.makeDay(daysAgo: 40)
        for _ in 0..<3 { try await fixture.append(to: "a", daysAgo: 40) }
        try await fixture.append(to: "a")
        var filter = EventFilter()
        filter.key = .device("a")
        let first = try await fixture.queries.page(filter, .oldest, limit: 1)
        try await fixture.bridge(daysAgo: 25)
        try await fixture.readAll()
        _ = try await fixture.maintenance(30).round()
        await #expect(throws: LogQueryError.beyondRetention) {
            try await fixture.queries.page(filter, .oldest, from: first.next, limit: 1)
        }
        await #expect(throws: LogQueryError.beyondRetention) {
            try await fixture.queries.start(of: filter, after: first.next)
        }
        #expect(try await fixture.queries.page(filter, .oldest, limit: 5).events.map(\.offset) == [4])
        #expect(try await fixture.queries.page(filter, .newest, limit: 5).events.map(\.offset) == [4])
    }

    @Test func `a fast clock drops no days while no events are appended`() async throws {
        let fixture = try await OpsFixture()
        for days in [40, 39] {
            try await fixture.makeDay(daysAgo: days)
            try await fixture.append(to: "a", daysAgo: days)
        }
        try await fixture.readAll()
        // The clock is more than a month ahead of these events.
        #expect(try await fixture.maintenance(30).round()?.dropped == [])
    }

    @Test func `events from a clock that was years ahead drop no other events`() async throws {
        let fixture = try await OpsFixture()
        for days in [3651, 3650, 2] { try await fixture.makeDay(daysAgo: days) }
        for days in [3651, 3650, 2] { try await fixture.append(to: "a", daysAgo: days) }
        try await fixture.readAll()
        #expect(try await fixture.maintenance(30).round()?.dropped == [])
        try await fixture.append(to: "a", daysAgo: 1)
        try await fixture.readAll()
        #expect(try await fixture.maintenance(30).round()?.dropped == [])
        // Retention trusts the clock from the third day on.
        try await fixture.append(to: "a")
        try await fixture.readAll()
        #expect(try await fixture.maintenance(30).round()?.dropped.count == 2)
    }

    @Test func `retention waits for the upgrade of states`() async throws {
        let fixture = try await OpsFixture()
        try await fixture.makeDay(daysAgo: 31)
        try await fixture.append(to: "a", daysAgo: 31)
        try await fixture.bridge(daysAgo: 25)
        try await fixture.append(to: "a")
        try await fixture.readAll()
        _ = try await fixture.sql("UPDATE bus.state_versions SET wanted = 2 WHERE partition = 1")
        let round = try #require(try await fixture.maintenance(30).round())
        #expect(round.dropped.isEmpty && round.waitsFor == ["counter"])
        _ = try await fixture.sql("UPDATE bus.state_versions SET reached = 2 WHERE partition = 1")
        #expect(try await fixture.maintenance(30).round()?.dropped.count == 1)
    }

    @Test func `a new consumer is refused after retention has dropped events`() async throws {
        let fixture = try await OpsFixture()
        try await fixture.makeDay(daysAgo: 31)
        for days in [31, 31, 5, 0] {
            if days == 5 { try await fixture.makeDay(daysAgo: days) }
            try await fixture.append(to: "a", daysAgo: days)
        }
        try await fixture.readAll()
        #expect(try await fixture.maintenance(30).round()?.dropped.count == 1)
        try await fixture.pool.withConnection { connection in
            // A registered consumer may migrate again.
            try await LogSchema.register(consumer: "counter", connection)
            let partition = AggregateKey.device("a").partition(of: OpsFixture.partitions)
            let late = LogError.registeredTooLate(consumer: "late", partition: partition, droppedTo: 2)
            await #expect(throws: late) { try await LogSchema.register(consumer: "late", connection) }
            let positions = Statement("SELECT log_offset FROM bus.cursors WHERE consumer = 'late' ORDER BY 1")
            #expect(try await connection.execute(Query(positions)).isEmpty)
            try await LogSchema.register(consumer: "late", bootstraps: true, connection)
            #expect(try await connection.execute(Query(positions)).map { try $0.decode(Int.self, at: 0) } == [0, 0, 2])
        }
    }

    @Test func `one process at a time does the upkeep`() async throws {
        let fixture = try await OpsFixture()
        try await fixture.pool.withConnection { other in
            _ = try await other.execute(Query(Statement("SELECT pg_advisory_lock(hashtext('dormouse.upkeep'), 0)")))
            #expect(try await fixture.maintenance(30).round() == nil)
            _ = try await other.execute(Query(Statement("SELECT pg_advisory_unlock_all()")))
        }
        #expect(try await fixture.maintenance(30).round() != nil)
    }
}

/// Records log messages.
private struct Ear: LogHandler {
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    let hear: @Sendable (Logger.Level, String) -> Void

    init(_ hear: @escaping @Sendable (Logger.Level, String) -> Void) { self.hear = hear }

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        hear(event.level, "\(event.message) \(event.metadata ?? [:]) \(event.error.map { "\($0)" } ?? "")")
    }
}

extension OpsFixture {
    func maintenance(_ days: Int?) -> LogMaintenance {
        LogMaintenance(pool: pool, retentionDays: days, logger: logger)
    }

    fileprivate func daysFault() async throws -> String? {
        try await pool.withConnection { try await LogQueries.daysFault($0) }
    }

    /// Appends an event of another device on a day, so that retention sees no gap and trusts the clock.
    func bridge(daysAgo days: Int) async throws {
        try await makeDay(daysAgo: days)
        try await append(to: "z", daysAgo: days)
    }

    /// Returns the number of days after today for which events have a table.
    func daysAhead() async throws -> Int {
        try await pool.execute(Statement("SELECT bus.days_ahead()"), rowsExpected: 1)[0].decode(Int.self)
    }

    func start(_ device: String, upTo offset: Int) async throws -> FoldStart {
        let key = AggregateKey.device(device)
        let query = LogReader.foldStart(
            of: key, service: "counter", partition: key.partition(of: Self.partitions), upTo: offset)
        return try LogReader.foldStart(in: try await pool.execute(query))
    }

    func base(_ state: [UInt8], _ offset: Int) -> BaseSnapshot {
        BaseSnapshot(state: state, machineVersion: 1, offset: offset, eventCount: offset, decidedAt: .epoch)
    }
}
