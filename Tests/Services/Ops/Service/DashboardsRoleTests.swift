import EventLog
import Foundation
import Logging
import Postgres
import TestSupport
import Testing

@testable import OpsService

/// The views for SQL tools.
@Suite("The role dashboards", .tags(.database), .timeLimit(.minutes(5))) struct DashboardsRoleTests {
    private func run(_ body: @Sendable @escaping (OpsFixture, ConnectionPool) async throws -> Void) async throws {
        try await OpsFixture.run { fixture in
            let options = try ConnectionOptions(url: fixture.url + LogRoles.standard.dashboards, target: .any)
            let pool = ConnectionPool(options, size: 1, logger: fixture.logger)
            do { try await body(fixture, pool) } catch {
                await pool.close()
                throw error
            }
            await pool.close()
        }
    }

    @Test func `the role can read only the views`() async throws {
        try await run { fixture, pool in
            for view in OpsSchema.views {
                _ = try await pool.execute(Query(Statement("SELECT count(*) FROM ops.\(view)")))
            }
            let rows = try await fixture.owner.execute(
                Query(
                    Statement(
                        """
                        SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class AS c
                        JOIN pg_namespace AS n ON n.oid = c.relnamespace
                        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
                        """)))
            let relations = try rows.map { try $0.decode(String.self, at: 0) }
            let views = OpsSchema.views.map { "ops.\($0)" }
            #expect(Set(views).isSubset(of: relations) && relations.count > 20)
            for relation in relations where !views.contains(relation) {
                let error = await #expect(throws: PostgresError.self) {
                    _ = try await pool.execute(Query(Statement("SELECT * FROM \(relation) LIMIT 1")))
                }
                #expect(error?.sqlState == "42501", "\(relation)")
            }
            for statement in ["DELETE FROM ops.events", "SELECT ops.count_events(0, 1)", "CREATE TABLE ops.mine ()"] {
                await #expect(throws: PostgresError.self) { _ = try await pool.execute(Query(Statement(statement))) }
            }
        }
    }

    @Test func `the views show the events of the log`() async throws {
        try await run { fixture, pool in
            try await fixture.append(
                "lifecycle.device.registered", to: "d1", data: #"{"registration":{"profile":"ios18","fleet":"f"}}"#)
            try await fixture.append("lifecycle.app.installed", to: "d1", app: "mail", data: #"{"app":"mail"}"#)
            try await fixture.append(
                "lifecycle.app.woken", to: "d1", app: "mail",
                data: #"{"app":"mail","reason":"push","state":"background","wake":"w"}"#)
            try await fixture.append(
                "lifecycle.wake.refused", to: "d1", app: "mail", data: #"{"reason":"fetch","refusal":"forceQuit"}"#)
            try await fixture.append(
                "push.notification.held", to: "d1", app: "mail", data: #"{"notification":"n","status":"heldBudget"}"#)
            try await fixture.append(
                "transfer.task.completed", to: "d1", app: "mail",
                data: #"{"session":"s","task":1,"bytesReceived":5,"error":{"code":-1001}}"#)
            try await fixture.count()
            func one(_ query: String) async throws -> String {
                try await pool.execute(Query(Statement(query), rowsExpected: 1))[0].decode(String.self, at: 0)
            }
            #expect(try await one("SELECT device || profile || fleet || powered FROM ops.devices") == "d1ios18ftrue")
            #expect(try await one("SELECT device || app || state FROM ops.app_states") == "d1mailbackground")
            #expect(
                try await one(
                    "SELECT string_agg(granted || ' ' || reason || ' ' || coalesce(refusal, ''), ',' ORDER BY granted) FROM ops.wakes"
                ) == "false fetch forceQuit,true push ")
            #expect(
                try await one("SELECT device || notification || status FROM ops.notifications") == "d1nheldBudget")
            #expect(
                try await one("SELECT session || task || kind || bytes_received || error FROM ops.transfers")
                    == "s1download5-1001")
            #expect(try await one("SELECT sum(events)::text FROM ops.rates WHERE seconds = 60") == "6")
            #expect(
                try await one(
                    "SELECT count(*)::text FROM ops.events WHERE device = 'd1' AND time > now() - interval '1 hour'")
                    == "6")
        }
    }
}
