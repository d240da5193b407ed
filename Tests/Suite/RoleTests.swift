import Foundation
import TestSupport
import Testing

/// PostgreSQL restricts each role to its own rows, so a compromised or faulty service cannot write as another service.
@Suite("Roles", .tags(.database, .processes), .timeLimit(.minutes(5))) struct RoleTests {
    @Test func `a service writes only its own rows, and ops writes no events`() async throws {
        let suite = try await RunningSuite.start([])
        let log = Log(suite: suite)
        for (index, service) in SuiteService.writers.enumerated() {
            let other = SuiteService.writers[(index + 1) % SuiteService.writers.count]
            try await log.mayWriteItsOwn(service)
            try await log.mayNotWrite(service, anothers: other)
        }
        try await log.opsMayNotWrite()
        try await suite.cluster.destroy()
    }
}

private struct Log {
    let suite: RunningSuite

    func mayWriteItsOwn(_ service: SuiteService) async throws {
        for own in [
            event(of: service), state(of: service), idempotency(of: service), deadLetter(of: service),
            suspect(of: service),
        ] {
            try await run(own, as: service)
        }
        #expect(try await count(moveCursor(of: service), as: service) == 1, "\(service) moves its own cursor")
    }

    func mayNotWrite(_ service: SuiteService, anothers other: SuiteService) async throws {
        let name = other.rawValue
        for foreign in [
            event(of: other), event(of: .ops), state(of: other), idempotency(of: other), deadLetter(of: other),
            suspect(of: other),
            "SELECT state FROM \"\(name)\".states",
            "UPDATE \"\(name)\".states SET state = ''",
            "DELETE FROM \"\(name)\".states",
            "CREATE TABLE \"\(name)\".mine ()",
            "CREATE TABLE bus.mine ()",
            // No role may change events.
            "UPDATE bus.events SET data = '{}'",
            "DELETE FROM bus.events",
            "TRUNCATE bus.events",
            "INSERT INTO bus.cursors (partition, consumer) VALUES (0, 'another')",
            "DELETE FROM bus.cursors",
            "UPDATE bus.cursors SET consumer = '\(service.rawValue)' WHERE consumer = '\(name)'",
            "DELETE FROM bus.partitions",
            "DELETE FROM \"\(service.rawValue)\".migrations",
            "UPDATE \"\(service.rawValue)\".migrations SET checksum = ''",
            "UPDATE bus.settings SET partitions = 1",
            "UPDATE bus.audit SET count = 2",
            "DELETE FROM bus.audit",
            "UPDATE bus.clock SET rate = 2",
            "SELECT bus.set_clock(1, true)",
            "INSERT INTO bus.token_keys (kid, issuer, public_key) VALUES ('x', '\(name)', 'x')",
            "INSERT INTO bus.signing_keys (kid, issuer, private_key) VALUES ('x', '\(name)', 'x')",
        ] {
            await refused(foreign, as: service)
        }
        if service != .lifecycle {
            await refused("INSERT INTO bus.revocations VALUES (0, 'device:d', 1)", as: service)
            await refused("DELETE FROM bus.revocations", as: service)
            await refused("INSERT INTO bus.fleet_revocations VALUES ('f', 1)", as: service)
            await refused("DELETE FROM bus.token_keys", as: service)
        }
        // Rows of other services are invisible.
        #expect(try await count(moveCursor(of: other), as: service) == 0, "\(service) moves \(other)'s cursor")
        try await run(idempotency(of: other), as: other)
        try await run(deadLetter(of: other), as: other)
        for (table, column) in [("idempotency", "service"), ("dead_letters", "consumer")] {
            let delete = "DELETE FROM bus.\(table) WHERE \(column) = '\(name)'"
            #expect(try await count(delete, as: service) == 0, "\(service) deletes \(other)'s rows of \(table)")
        }
        #expect(
            try await read("SELECT count(*) FROM bus.idempotency WHERE service = '\(name)'", as: service) == 0,
            "\(service) reads \(other)'s answers")
        #expect(
            try await read("SELECT count(*) FROM bus.signing_keys WHERE issuer <> '\(service.rawValue)'", as: service)
                == 0)
    }

    func opsMayNotWrite() async throws {
        for service in SuiteService.writers {
            await refused(event(of: service), as: .ops)
            await refused(state(of: service), as: .ops)
            await refused(moveCursor(of: service), as: .ops)
            await refused(deadLetter(of: service), as: .ops)
            await refused(idempotency(of: service), as: .ops)
            await refused("SELECT state FROM \"\(service.rawValue)\".states", as: .ops)
        }
        for write in [
            event(of: .ops), "UPDATE bus.events SET data = '{}'", "DELETE FROM bus.events", "TRUNCATE bus.events",
            "UPDATE bus.partitions SET head = 0", "DELETE FROM bus.dead_letters", "UPDATE bus.clock SET rate = 2",
            "UPDATE bus.settings SET partitions = 1", "DELETE FROM bus.revocations", "CREATE TABLE bus.mine ()",
            "INSERT INTO bus.members (consumer, member, since_time, expires) "
                + "VALUES ('ops', gen_random_uuid(), 0, now())",
            "SELECT private_key FROM bus.signing_keys", "UPDATE bus.audit SET count = 2", "DELETE FROM bus.audit",
        ] {
            await refused(write, as: .ops)
        }
        // `ops` may write its own idempotency rows.
        try await run(idempotency(of: .ops), as: .ops)
        #expect(try await read("SELECT count(*) FROM bus.idempotency", as: .ops) == 1)
        // `ops` may read all events.
        #expect(try await read("SELECT count(*) FROM bus.events", as: .ops) == SuiteService.writers.count)
    }

    // Each statement succeeds with the right role.

    private func event(of service: SuiteService) -> String {
        """
        WITH moved AS (UPDATE bus.partitions SET head = head + 1 WHERE partition = 0 RETURNING head)
        INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, time, correlationid, data)
        SELECT 0, head, current_date, gen_random_uuid(), '\(service.rawValue)', '\(service.rawValue).x.y', 1, 'device:d', 0,
            gen_random_uuid(), '{}' FROM moved
        """
    }

    private func moveCursor(of service: SuiteService) -> String {
        "UPDATE bus.cursors SET log_offset = log_offset + 1 WHERE partition = 0 AND consumer = '\(service.rawValue)'"
    }

    private func state(of service: SuiteService) -> String {
        """
        INSERT INTO "\(service.rawValue)".states (partition, key, state, machine_version, version, event_count, decided_at)
        VALUES (0, gen_random_uuid()::text, '', 1, 1, 1, 0)
        """
    }

    private func idempotency(of service: SuiteService) -> String {
        """
        INSERT INTO bus.idempotency (partition, service, key, fingerprint, answer)
        VALUES (0, '\(service.rawValue)', gen_random_uuid()::text, '', '')
        """
    }

    private func deadLetter(of service: SuiteService) -> String {
        """
        INSERT INTO bus.dead_letters (partition, consumer, key, log_offset)
        VALUES (0, '\(service.rawValue)', gen_random_uuid()::text, 1)
        """
    }

    private func suspect(of service: SuiteService) -> String {
        "INSERT INTO bus.input_attempts (partition, consumer, input) "
            + "VALUES (0, '\(service.rawValue)', gen_random_uuid()::text)"
    }

    // Row policies use the current user, which `SET ROLE` sets.

    @discardableResult
    private func run(_ statement: String, as service: SuiteService) async throws -> String {
        try await suite.cluster.sql(
            "SET ROLE dormouse_\(service.rawValue); " + statement, database: suite.database)
    }

    /// Returns the number of changed rows.
    private func count(_ change: String, as service: SuiteService) async throws -> Int {
        try await read("WITH changed AS (\(change) RETURNING 1) SELECT count(*) FROM changed", as: service)
    }

    private func read(_ query: String, as service: SuiteService) async throws -> Int {
        Int(try await run(query, as: service).trimmingCharacters(in: .whitespacesAndNewlines)) ?? -1
    }

    private func refused(_ statement: String, as service: SuiteService) async {
        do {
            let answer = try await run(statement, as: service)
            Issue.record("\(service) was not refused: \(statement) (\(answer))")
        } catch {
            let words = "\(error)"
            #expect(
                words.contains("permission denied") || words.contains("violates row-level security policy")
                    || words.contains("must be owner"),
                "\(service): \(statement): \(words)")
        }
    }
}
