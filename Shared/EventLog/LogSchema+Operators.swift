public import Postgres

extension LogSchema {
    /// Creates the role of `ops` if it is missing, and sets its password. Grants its rights: the role can read the log,
    /// create tables for the next days, and move the virtual clock. It can write only its own idempotency keys and add to
    /// the audit trail.
    public static func grantOperators(
        password: String?, roles: LogRoles = .standard, _ connection: Connection
    ) async throws {
        let role = roles.operators
        let isDistributed = try await LogDistribution.isDistributed(connection)
        let columns = LogDistribution.columns("answer, progress", isDistributed: isDistributed)
        try await grant(
            role: role, password: password,
            """
            ALTER ROLE \(role) SET idle_in_transaction_session_timeout = '5s';
            -- A long read delays the removal of dead versions of the head rows.
            ALTER ROLE \(role) SET statement_timeout = '15s';
            GRANT USAGE ON SCHEMA bus TO \(role);
            GRANT SELECT ON bus.settings, bus.partitions, bus.events, bus.cursors, bus.members, bus.clock, bus.token_keys,
                bus.retention, bus.snapshots, bus.dead_letters, bus.kept_events, bus.readers, bus.revocations,
                bus.revocation_positions, bus.fleet_revocations, bus.migrations, bus.state_versions,
                bus.order_streams, bus.incarnation, bus.former_incarnations, bus.former_fleet_generations, bus.audit,
                bus.erasures TO \(role);
            GRANT EXECUTE ON FUNCTION bus.ensure_days(integer), bus.set_clock(double precision, boolean),
                bus.step_clock(bigint), bus.deadlines() TO \(role);
            \(appendingToAudit(role, isDistributed: isDistributed))
            -- A row policy limits it to its own rows.
            GRANT SELECT, INSERT, DELETE, UPDATE \(columns) ON bus.idempotency TO \(role);
            """, connection)
    }
}
