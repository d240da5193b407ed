public import Postgres

extension LogSchema {
    /// The role that operators' tools read the log with.
    public static let operatorsRole = "dormouse_ops"

    /// Creates the role of `ops` if need be, sets its password, and grants it what it may do: read the log, keep days ahead,
    /// and move the virtual clock. It can write to no table, but for its own answers to requests that may be repeated.
    public static func grantOperators(password: String?, _ connection: Connection) async throws(PostgresError) {
        let role = operatorsRole
        try await grant(
            role: role, password: password,
            """
            ALTER ROLE \(role) SET idle_in_transaction_session_timeout = '5s';
            -- A long read holds back what the head's updates leave behind.
            ALTER ROLE \(role) SET statement_timeout = '15s';
            GRANT USAGE ON SCHEMA bus TO \(role);
            GRANT SELECT ON bus.settings, bus.partitions, bus.events, bus.cursors, bus.members, bus.clock, bus.token_keys,
                bus.retention, bus.snapshots, bus.dead_letters, bus.kept_events, bus.readers, bus.revocations,
                bus.revocations_read, bus.migrations, bus.state_versions TO \(role);
            GRANT EXECUTE ON FUNCTION bus.ensure_days(integer), bus.set_clock(double precision, boolean),
                bus.step_clock(bigint), bus.deadlines() TO \(role);
            -- A row policy leaves it those of its own.
            GRANT SELECT, INSERT, DELETE, UPDATE (answer, progress) ON bus.idempotency TO \(role);
            """, connection)
    }
}
