public import Logging
public import Postgres

/// The reason why a process can't work with the log, and what to do about it.
public enum LogError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The database has no event log.
    case notMigrated
    /// The log has another number of partitions than the configuration.
    case wrongPartitionCount(configured: Int, inDatabase: Int)
    /// The log was created with another prefix of roles.
    case otherRolePrefix(configured: String, inDatabase: String)
    /// The cluster has a role with the name, which Dormouse has not created.
    case foreignRole(String)
    /// The password of a role would change that another installation uses.
    case roleOfOtherDatabase(role: String, database: String)
    /// A new consumer would miss events that retention has dropped.
    case registeredTooLate(consumer: String, partition: Int, droppedTo: Int)

    public var description: String {
        switch self {
        case .notMigrated:
            "the database has no event log: run the service's `migrate` command first"
        case .wrongPartitionCount(let configured, let inDatabase):
            "PARTITIONS is \(configured), but the log in the database was created with \(inDatabase), which can't change: "
                + "set PARTITIONS=\(inDatabase)"
        case .otherRolePrefix(let configured, let inDatabase):
            "ROLE_PREFIX is \(configured), but the roles of this database begin with \(inDatabase): "
                + "set ROLE_PREFIX=\(inDatabase)"
        case .foreignRole(let role):
            "the cluster has a role \(role) that Dormouse has not created: set ROLE_PREFIX to another prefix; or, if the "
                + "role is for Dormouse: COMMENT ON ROLE \(role) IS 'Dormouse'"
        case .roleOfOtherDatabase(let role, let database):
            "the role \(role) belongs to the installation in the database \(database) of this cluster, and its password "
                + "would change: set ROLE_PREFIX to another prefix"
        case .registeredTooLate(let consumer, let partition, let droppedTo):
            "\(consumer) can't be added to this log: retention has dropped the events up to \(partition):\(droppedTo), so "
                + "\(consumer) would not know the devices of these events; use a new database, or one with the whole log"
        }
    }
}

/// The database schema of the log: `bus`.
public enum LogSchema {
    /// Creates or updates the schema, and creates a new log with `partitions` partitions.
    ///
    /// - Parameters:
    ///   - connection: with the role of the schema's owner.
    ///   - shards: the number of shards of a new log, where Citus distributes it; nil for two on each worker.
    /// - Throws: ``LogError`` if the log exists with another number of partitions or another prefix of roles.
    ///   ``CitusError``.
    public static func migrate(
        _ connection: Connection, partitions: Int, shards: Int? = nil, roles: LogRoles = .standard, logger: Logger
    ) async throws {
        try await LogDistribution.check(connection)
        _ = try await migrator().apply(on: connection, logger: logger)
        _ = try await connection.execute([
            Query(
                Statement("INSERT INTO bus.settings (partitions, role_prefix) VALUES ($1, $2) ON CONFLICT DO NOTHING"),
                .int4(Int32(partitions)), .text(roles.prefix)),
            Query(
                Statement(
                    """
                    INSERT INTO bus.partitions (partition)
                    SELECT n FROM bus.settings, generate_series(0, partitions - 1) AS n ON CONFLICT DO NOTHING
                    """)),
            Query(Statement("SELECT bus.ensure_days(7)")),
        ])
        try await verify(connection, partitions: partitions)
        let prefix = try await connection.execute(Statement("SELECT role_prefix FROM bus.settings"))[0]
            .decode(String.self)
        guard prefix == roles.prefix else {
            throw LogError.otherRolePrefix(configured: roles.prefix, inDatabase: prefix)
        }
        try await LogDistribution.distribute(shards: shards, connection, logger: logger)
    }

    /// Returns the migrator of the log.
    public static func migrator() throws(PostgresError) -> Migrator {
        Migrator(schema: "bus", migrations: try migrations())
    }

    /// Registers a consumer on every partition, from the start of the log. Idempotent.
    ///
    /// - Parameter bootstraps: the consumer gets dropped events from another source, and starts after them.
    /// - Throws: ``LogError/registeredTooLate(consumer:partition:droppedTo:)`` for a new consumer, if events were
    ///   dropped.
    public static func register(
        consumer: String, bootstraps: Bool = false, _ connection: Connection
    ) async throws {
        // One statement, so that retention can't drop a day in between.
        let register = Statement(
            """
            WITH missing AS (
                SELECT p.partition, coalesce(r.dropped_to, 0) AS dropped_to
                FROM bus.partitions AS p LEFT JOIN bus.retention AS r USING (partition)
                WHERE NOT EXISTS (
                    SELECT FROM bus.cursors AS c WHERE c.partition = p.partition AND c.consumer = $1)
            ), inserted AS (
                INSERT INTO bus.cursors (partition, consumer, log_offset)
                SELECT partition, $1, dropped_to FROM missing
                WHERE $2 OR NOT EXISTS (SELECT FROM missing WHERE dropped_to > 0)
                ON CONFLICT DO NOTHING)
            SELECT partition::int8, dropped_to FROM missing WHERE dropped_to > 0 AND NOT $2
            ORDER BY partition LIMIT 1
            """)
        let missing = try await connection.execute(register, .text(consumer), .bool(bootstraps)).decode((Int, Int).self)
        guard let (partition, droppedTo) = missing.first else { return }
        throw LogError.registeredTooLate(consumer: consumer, partition: partition, droppedTo: droppedTo)
    }

    /// Creates a service's login role if it is missing, sets its password, and grants the rights of a service on the
    /// log.
    ///
    /// - Parameter service: lower-case letters.
    /// - Throws: ``LogError`` if the role is not of this installation.
    public static func grant(
        service: String, password: String?, roles: LogRoles = .standard, _ connection: Connection
    ) async throws {
        let role = roles.role(of: service)
        let isDistributed = try await LogDistribution.isDistributed(connection)
        func columns(_ columns: String) -> String {
            LogDistribution.columns(columns, isDistributed: isDistributed)
        }
        // On Citus a batch waits for locks on the workers. The limit that it sets itself holds on the coordinator only.
        let lockTimeout = isDistributed ? "ALTER ROLE \(role) SET lock_timeout = '1s';" : ""
        try await grant(
            role: role, password: password,
            """
            ALTER ROLE \(role) SET idle_in_transaction_session_timeout = '5s';
            \(lockTimeout)
            GRANT USAGE ON SCHEMA bus TO \(role);
            GRANT SELECT ON ALL TABLES IN SCHEMA bus TO \(role);
            GRANT UPDATE \(columns("head, day")) ON bus.partitions TO \(role);
            GRANT INSERT ON bus.events TO \(role);
            GRANT UPDATE \(columns("""
                log_offset, owner, epoch, lease_expires, served_at, served_time, outage, attempts, parked, last_batch,
                state_form, newest_state, form_changes
                """)) ON bus.cursors TO \(role);
            GRANT INSERT, UPDATE, DELETE ON bus.members TO \(role);
            GRANT INSERT, DELETE, UPDATE \(columns("answer, progress")) ON bus.idempotency TO \(role);
            GRANT INSERT, DELETE ON bus.dead_letters TO \(role);
            GRANT INSERT, UPDATE, DELETE ON bus.input_attempts TO \(role);
            GRANT UPDATE \(columns("reached")) ON bus.state_versions TO \(role);
            \(appendingToAudit(role, isDistributed: isDistributed))
            GRANT EXECUTE ON FUNCTION bus.ensure_days(integer), bus.end_blockers(double precision) TO \(role);
            """, connection)
    }

    /// Creates a login role if it is missing, sets its password, and runs the statements `grants`.
    ///
    /// A comment marks the roles that this function creates. It refuses others, and does not change the password of a
    /// role that another database of the cluster uses.
    ///
    /// - Throws: ``LogError/foreignRole(_:)``, ``LogError/roleOfOtherDatabase(role:database:)``, or a `PostgresError`.
    public static func grant(
        role: String, password: String?, _ grants: String, _ connection: Connection
    ) async throws {
        try await requireOwn(role, setsPassword: password != nil, connection)
        // The server gets a verifier, because it may log statements. A verifier has no quotes.
        var setting = ""
        if let password { setting = "PASSWORD '\(try await connection.scramVerifier(of: password, role: role))'" }
        try await grant(
            """
            DO $role$ BEGIN
                IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '\(role)') THEN
                    CREATE ROLE \(role) LOGIN;
                    EXECUTE format('COMMENT ON ROLE \(role) IS %L', '\(mark)' || current_database());
                END IF;
            EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
            END $role$;
            ALTER ROLE \(role) LOGIN \(setting);
            -- The owner's functions see the sessions of this role, and end those that block the log.
            DO $member$ BEGIN
                IF NOT pg_has_role(current_user, '\(role)', 'USAGE') THEN GRANT \(role) TO CURRENT_USER; END IF;
            EXCEPTION WHEN insufficient_privilege THEN
                RAISE WARNING 'no right to end sessions of \(role) that block the log: grant the role to %', current_user;
            END $member$;
            \(grants)
            """, connection)
    }

    /// The beginning of the comment on a role. The name of the database that created the role follows.
    private static let mark = "Dormouse, database "
    // The comment of a role, and whether the database that it names still exists beside this one.
    private static let comment = Statement(
        """
        SELECT coalesce(shobj_description(r.oid, 'pg_authid'), ''), EXISTS (
            SELECT FROM pg_database AS d WHERE d.datname <> current_database()
                AND shobj_description(r.oid, 'pg_authid') = '\(mark)' || d.datname)
        FROM pg_roles AS r WHERE r.rolname = $1
        """)

    private static func requireOwn(_ role: String, setsPassword: Bool, _ connection: Connection) async throws {
        guard let row = try await connection.execute(comment, .text(role)).first else { return }
        let (comment, isOfOther) = try row.decode((String, Bool).self)
        guard comment.hasPrefix("Dormouse") else { throw LogError.foreignRole(role) }
        guard !isOfOther || !setsPassword else {
            throw LogError.roleOfOtherDatabase(role: role, database: String(comment.dropFirst(mark.count)))
        }
    }

    /// Runs a script of grants, and retries it.
    ///
    /// Roles belong to the whole cluster, so no lock of one database protects them. A concurrent grant in another
    /// database makes one of the two fail with "tuple concurrently updated".
    private static func grant(_ script: String, _ connection: Connection) async throws(PostgresError) {
        for attempt in 1... {
            do {
                return try await connection.script(script)
            } catch {
                guard error.sqlState == "XX000", attempt < 200 else { throw error }
            }
        }
    }

    /// Returns the grant of the right to add rows to the audit trail. The role can't choose the time and the service.
    static func appendingToAudit(_ role: String, isDistributed: Bool) -> String {
        LogDistribution.onCoordinator(
            "GRANT INSERT (actor_kind, actor, address, action, subject, count, details) ON bus.audit TO \(role);",
            isDistributed: isDistributed)
    }

    /// Grants one service the rights to sign tokens and to write revocations.
    public static func grantSigning(
        service: String, roles: LogRoles = .standard, _ connection: Connection
    ) async throws {
        let role = roles.role(of: service)
        try await connection.script(
            """
            GRANT INSERT, DELETE ON bus.token_keys, bus.signing_keys TO \(role);
            GRANT INSERT, UPDATE ON bus.fleet_revocations TO \(role);
            GRANT INSERT, UPDATE, DELETE ON bus.revocations TO \(role);
            GRANT INSERT, UPDATE ON bus.revocation_positions TO \(role);
            """)
    }

    /// Grants one service the right to list its open streams of orders.
    public static func grantOrderStreams(
        service: String, roles: LogRoles = .standard, _ connection: Connection
    ) async throws {
        try await connection.script(
            "GRANT INSERT, UPDATE, DELETE ON bus.order_streams TO \(roles.role(of: service))")
    }

    /// Checks that the log exists and has the configured number of partitions. A worker of Citus has no log.
    ///
    /// - Throws: ``LogError``, or ``CitusError`` if Citus is there, but can't be used.
    public static func verify(_ connection: Connection, partitions: Int) async throws {
        try await LogDistribution.check(connection)
        let inDatabase: Int?
        do {
            inDatabase = try await connection.execute(Statement("SELECT partitions::int8 FROM bus.settings")).first?
                .decode(Int.self)
        } catch {
            throw error.sqlState == "42P01" || error.sqlState == "3F000" ? LogError.notMigrated as any Error : error
        }
        guard let inDatabase else { throw LogError.notMigrated }
        guard inDatabase == partitions else {
            throw LogError.wrongPartitionCount(configured: partitions, inDatabase: inDatabase)
        }
    }
}
