import Foundation
import TestSupport
import Testing

/// `ops maintain`: the process with the rights of the owner of the log.
@Suite("Maintain", .tags(.database, .processes), .timeLimit(.minutes(5))) struct MaintainTests {
    @Test func `maintain drops old days, and ends at SIGTERM`() async throws {
        let suite = try await RunningSuite.start([])
        let day = try await suite.cluster.sql(
            """
            DO $$ DECLARE old date := current_date - 35; BEGIN
                EXECUTE format('CREATE TABLE bus.events_%s PARTITION OF bus.events FOR VALUES FROM (%L) TO (%L)',
                    to_char(old, 'YYYYMMDD'), old, old + 1);
            END $$;
            SELECT to_char(current_date - 35, 'YYYYMMDD')
            """, database: suite.database)
        let table = "events_\(day.trimmingCharacters(in: .whitespacesAndNewlines))"
        let maintain = try ChildProcess.start(
            ChildProcess.product("ops"), ["maintain"],
            environment: ["MIGRATION_DATABASE_URL": suite.cluster.url(database: suite.database)])
        _ = try await maintain.waitForLine(containing: "ops maintains the log", within: 30)
        let line = try await maintain.waitForLine(containing: "dropped day", within: 30)
        #expect(line.contains(table))
        try await maintain.shutDown()
        try await suite.cluster.destroy()
    }

    @Test func `maintain without the owner's database says what to set`() async throws {
        let maintain = try ChildProcess.start(ChildProcess.product("ops"), ["maintain"])
        #expect(try await maintain.exit(within: 30) == .exited(78))
        #expect(
            maintain.errors.tail().contains("MIGRATION_DATABASE_URL (--migration-database-url) is needed to maintain"))
    }

    @Test(arguments: SuiteService.allCases.map(\.rawValue) + ["fleet"])
    func `each program prints its version`(program: String) async throws {
        let process = try ChildProcess.start(ChildProcess.product(program), ["--version"])
        #expect(try await process.exit(within: 30) == .exited(0))
        #expect(process.output.lines == ["\(program) 0.2.0"])
    }
}
