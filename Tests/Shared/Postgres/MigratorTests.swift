import Postgres
import TestSupport
import Testing

@Suite("Migrations", .tags(.database))
struct MigratorTests {
    private let files = [
        (name: "0001_first.sql", sql: "CREATE TABLE {{table}} (n int8); INSERT INTO {{table}} VALUES (1)"),
        (name: "0002_second.sql", sql: "INSERT INTO {{table}} VALUES (2)"),
    ]

    private func migrator(_ files: [(name: String, sql: String)]) throws -> Migrator {
        Migrator(
            schema: "house", migrations: try files.map { try Migration(fileName: $0.name, sql: $0.sql) },
            variables: ["table": "house.rooms"])
    }

    private func problem(_ migrator: Migrator, _ connection: Connection) async -> MigrationProblem? {
        guard case .migration(let problem) = await caught({ try await migrator.apply(on: connection, logger: .quiet) })
        else { return nil }
        return problem
    }

    @Test func `each file is applied once and in order`() async throws {
        let connection = try await Database().connect()
        let first = try migrator([files[0]])
        #expect(try await first.pending(on: connection).map(\.number) == [1])
        #expect(try await first.apply(on: connection, logger: .quiet) == [1])
        let both = try migrator(files.reversed())
        #expect(try await both.pending(on: connection).map(\.name) == ["second"])
        #expect(try await both.apply(on: connection, logger: .quiet) == [2])
        #expect(try await both.apply(on: connection, logger: .quiet) == [])
        #expect(try await connection.execute("SELECT array_agg(n) FROM house.rooms")[0].decode([Int].self) == [1, 2])
    }

    @Test func `concurrent migrators apply each file once`() async throws {
        let database = try await Database()
        let migrator = try migrator(files)
        let applied = try await withThrowingTaskGroup(of: [Int].self) { group in
            for _ in 0..<4 {
                group.addTask { try await migrator.apply(on: database.connect(), logger: .quiet) }
            }
            return try await group.reduce([], +)
        }
        #expect(applied == [1, 2])
    }

    @Test func `a file that was edited after it was applied is refused`() async throws {
        let connection = try await Database().connect()
        try await migrator(files).apply(on: connection, logger: .quiet)
        let edited = try migrator([(files[0].name, files[0].sql + " "), files[1]])
        let problem = await problem(edited, connection)
        #expect(problem == .changed(schema: "house", number: 1, name: "first"))
        #expect(problem?.description.contains("restore the file") == true)
    }

    @Test func `a database of an earlier layout is refused with one line`() async throws {
        let connection = try await Database().connect()
        let earlier = try migrator([("0001_rooms.sql", files[0].sql), files[1], ("0003_third.sql", "SELECT 1")])
        try await earlier.apply(on: connection, logger: .quiet)
        let current = try migrator(files)
        let problem = await problem(current, connection)
        #expect(problem == .earlierLayout(schema: "house"))
        #expect(try await current.fault(on: connection) == .earlierLayout(schema: "house"))
        let words = problem?.description ?? ""
        #expect(words.contains("create an empty database") && words.contains("run `migrate` again"), "\(words)")
        #expect(!words.contains("\n"))
        // The refusal changes nothing.
        #expect(try await earlier.fault(on: connection) == nil)
        #expect(try await connection.execute("SELECT array_agg(n) FROM house.rooms")[0].decode([Int].self) == [1, 2])
    }

    @Test func `a database with unknown migrations is refused`() async throws {
        let connection = try await Database().connect()
        try await migrator(files).apply(on: connection, logger: .quiet)
        let problem = await problem(try migrator([files[0]]), connection)
        #expect(problem == .databaseNewer(schema: "house", database: 2, code: 1))
    }

    @Test func `the schema check finds pending, unknown and edited migrations`() async throws {
        let connection = try await Database().connect()
        let (first, both) = (try migrator([files[0]]), try migrator(files))
        #expect(try await both.fault(on: connection) == .pending(schema: "house", ["1 (first)", "2 (second)"]))
        try await first.apply(on: connection, logger: .quiet)
        #expect(try await first.fault(on: connection) == nil)
        #expect(try await both.fault(on: connection) == .pending(schema: "house", ["2 (second)"]))
        try await both.apply(on: connection, logger: .quiet)
        #expect(try await both.fault(on: connection) == nil)
        #expect(try await first.fault(on: connection) == .databaseNewer(schema: "house", database: 2, code: 1))
        let edited = try migrator([(files[0].name, files[0].sql + " "), files[1]])
        #expect(try await edited.fault(on: connection) == .changed(schema: "house", number: 1, name: "first"))
    }

    @Test func `the schema check accepts unknown migrations that are compatible`() async throws {
        let connection = try await Database().connect()
        let old = try migrator([files[0]])
        let compatible = [files[0], ("0002_second.sql", "-- Compatible: a table more.\nSELECT 1")]
        try await migrator(compatible).apply(on: connection, logger: .quiet)
        #expect(try await old.fault(on: connection) == nil)
        #expect(try await old.apply(on: connection, logger: .quiet) == [], "migrate after a rollback")
        try await migrator(compatible + [("0003_third.sql", "SELECT 1")]).apply(on: connection, logger: .quiet)
        let newer = MigrationProblem.databaseNewer(schema: "house", database: 3, code: 1)
        #expect(try await old.fault(on: connection) == newer)
        await #expect(throws: PostgresError.migration(newer)) { try await old.apply(on: connection, logger: .quiet) }
    }

    /// Older versions of the migrator create the table without `compatible`.
    @Test func `a migrations table without the newest column is read and extended`() async throws {
        let connection = try await Database().connect()
        let (first, both) = (try migrator([files[0]]), try migrator(files))
        try await first.apply(on: connection, logger: .quiet)
        try await connection.script("ALTER TABLE house.migrations DROP COLUMN compatible")
        #expect(try await first.fault(on: connection) == nil)
        #expect(try await both.apply(on: connection, logger: .quiet) == [2])
        #expect(try await both.fault(on: connection) == nil)
    }

    @Test func `a gap in the numbers is refused before anything runs`() async throws {
        let connection = try await Database().connect()
        let gap = try migrator([files[0], ("0003_third.sql", "SELECT 1")])
        #expect(await problem(gap, connection) == .gap(schema: "house", expected: 2, found: 3))
        #expect(try await connection.execute("SELECT to_regnamespace('house') IS NULL")[0].decode(Bool.self))
    }

    @Test func `a file that fails is rolled back and the files before it stay applied`() async throws {
        let connection = try await Database().connect()
        let failing = try migrator([files[0], ("0002_bad.sql", "INSERT INTO {{table}} VALUES (7); SELECT 1/0")])
        guard case .failed("house", number: 2, name: "bad", let reason) = await problem(failing, connection) else {
            Issue.record("the migration did not fail")
            return
        }
        #expect(reason.sqlState == "22012")
        #expect(try await connection.execute("SELECT count(*) FROM house.rooms")[0].decode(Int.self) == 1)
        #expect(try await migrator(files).apply(on: connection, logger: .quiet) == [2], "the lock is released")
    }

    @Test func `a variable without a value is refused before anything runs`() async throws {
        let connection = try await Database().connect()
        let unknown = try migrator([files[0], ("0002_more.sql", "SELECT {{nothing}}")])
        #expect(
            await problem(unknown, connection) == .unknownVariable(schema: "house", number: 2, variable: "nothing"))
        #expect(try await connection.execute("SELECT to_regclass('house.rooms') IS NULL")[0].decode(Bool.self))
    }

    @Test(arguments: ["1_a.sql", "0001-a.sql", "0001_A.sql", "0001_a.txt", "0001_.sql"])
    func `an invalid file name is refused`(name: String) async throws {
        #expect(throws: PostgresError.migration(.badName(name))) { try Migration(fileName: name, sql: "") }
    }

    @Test func `the checksum is SHA-256`() throws {
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(try Migration(fileName: "0001_abc.sql", sql: "abc").checksum == digest)
    }
}
