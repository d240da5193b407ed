public import Logging
import Telemetry

/// Applies the migrations of one schema. Each file runs in its own transaction, together with its row in
/// `<schema>.migrations`. An advisory lock lets one migrator work at a time.
public struct Migrator: Sendable {
    private let schema: String
    private let migrations: [Migration]
    private let variables: [String: String]

    /// - Parameters:
    ///   - schema: created if missing.
    ///   - variables: replace `{{name}}` without escaping. They are SQL, so they come from code or configuration, never
    ///     from a request. The checksum does not include them.
    public init(schema: String, migrations: [Migration], variables: [String: String] = [:]) {
        self.schema = schema
        self.migrations = migrations
        self.variables = variables
    }

    /// Applies the pending migrations in order. Two migrators may start at once: the second waits for the first.
    /// - Parameter connection: a direct connection; session locks don't work through a transaction pooler.
    /// - Returns: the numbers of the applied migrations.
    /// - Throws: ``PostgresError/migration(_:)``, or an error of the connection.
    @discardableResult
    public func apply(on connection: Connection, logger: Logger) async throws(PostgresError) -> [Int] {
        _ = try await connection.execute(Query(.lock, [.text("migrations of \(schema)")]))
        let outcome: Result<[Int], PostgresError>
        do throws(PostgresError) {
            outcome = .success(try await applyLocked(on: connection, logger))
        } catch {
            outcome = .failure(error)
        }
        // A lost connection has released the lock. A cancelled task can't send a query, so close the session instead.
        do throws(PostgresError) {
            _ = try await connection.execute(Query(.unlock, [.text("migrations of \(schema)")]))
        } catch {
            await connection.close()
        }
        return try outcome.get()
    }

    /// Returns the migrations that ``apply(on:logger:)`` would apply. Changes nothing. Unknown migrations that are marked as
    /// compatible do not count: after a rollback, `migrate` of the older program changes nothing.
    public func pending(on connection: Connection) async throws(PostgresError) -> [Migration] {
        let applied = try await applied(on: connection).filter { $0.number <= migrations.count || !$0.isCompatible }
        return try MigrationPlan(schema: schema, migrations: migrations, applied: applied).pending
    }

    /// Returns the reason why this program can't work with the schema; nil if it can. Changes nothing.
    public func fault(on connection: Connection) async throws(PostgresError) -> MigrationProblem? {
        do throws(PostgresError) {
            let pending = try await pending(on: connection)
            guard !pending.isEmpty else { return nil }
            return .pending(schema: schema, pending.map { "\($0.number) (\($0.name))" })
        } catch {
            if case .migration(let problem) = error { return problem }
            guard error.sqlState == "42501" else { throw error }
            return .unreadable(schema: schema)
        }
    }

    private func applyLocked(on connection: Connection, _ logger: Logger) async throws(PostgresError) -> [Int] {
        let plan = try await pending(on: connection)
        // Substitute the variables of all files before the first one runs.
        let scripts = try plan.map { migration throws(PostgresError) in try filledIn(migration) }
        if !plan.isEmpty { try await prepare(connection) }
        for (migration, script) in zip(plan, scripts) {
            try await apply(migration, script, on: connection)
            logger.info(
                "applied migration",
                metadata: [
                    LogKey.schema: "\(schema)", LogKey.number: "\(migration.number)", LogKey.name: "\(migration.name)",
                ])
        }
        return plan.map(\.number)
    }

    private func apply(
        _ migration: Migration, _ script: String, on connection: Connection
    ) async throws(PostgresError) {
        let row: [Parameter] = [
            .int4(Int32(clamping: migration.number)), .text(migration.name), .text(migration.checksum),
            .bool(migration.isCompatible),
        ]
        do throws(PostgresError) {
            // A process may be slow between the pipelines: allow more than the default 5 s.
            _ = try await connection.execute([
                Query(Statement("BEGIN")), Query(Statement("SET LOCAL idle_in_transaction_session_timeout = '5min'")),
            ])
            try await connection.script(script)
            _ = try await connection.execute([
                Query(
                    Statement("INSERT INTO \(table) (number, name, checksum, compatible) VALUES ($1, $2, $3, $4)"), row),
                Query(.commit),
            ])
        } catch {
            _ = await connection.recover()
            guard case .server(let reason) = error else { throw error }
            throw .migration(
                .failed(schema: schema, number: migration.number, name: migration.name, reason))
        }
    }

    private func applied(on connection: Connection) async throws(PostgresError) -> [MigrationPlan.Applied] {
        guard try await connection.execute(Query(.tableExists, [.text(table)]))[0].decode(Bool.self) else { return [] }
        // A table of an older program has no column `compatible`.
        let read = Statement(
            """
            SELECT number, name, checksum, coalesce((to_jsonb(m) ->> 'compatible')::boolean, false)
            FROM \(table) AS m ORDER BY number
            """)
        return try await connection.execute(Query(read)).decode((Int, String, String, Bool).self).map {
            MigrationPlan.Applied(number: $0, name: $1, checksum: $2, isCompatible: $3)
        }
    }

    /// Creates the schema and its migrations table if they are missing.
    ///
    /// `CREATE SCHEMA IF NOT EXISTS` needs the right to create schemas even if the schema exists, and the owner of a
    /// schema may lack that right.
    private func prepare(_ connection: Connection) async throws(PostgresError) {
        let quoted = Listener.quoted(schema)
        if try await !connection.execute(Query(.schemaExists, [.text(quoted)]))[0].decode(Bool.self) {
            try await connection.script("CREATE SCHEMA \(quoted)")
        }
        try await connection.script(
            """
            CREATE TABLE IF NOT EXISTS \(table) (
                number integer CONSTRAINT migrations_pkey PRIMARY KEY,
                name text NOT NULL,
                checksum text NOT NULL,
                applied_at timestamptz NOT NULL DEFAULT now()
            );
            ALTER TABLE \(table) ADD COLUMN IF NOT EXISTS compatible boolean NOT NULL DEFAULT false
            """)
    }

    private func filledIn(_ migration: Migration) throws(PostgresError) -> String {
        var filled = ""
        var rest = migration.sql[...]
        while let match = rest.firstMatch(of: /\{\{([A-Za-z0-9_]+)\}\}/) {
            let name = String(match.1)
            guard let value = variables[name] else {
                throw .migration(.unknownVariable(schema: schema, number: migration.number, variable: name))
            }
            filled += rest[..<match.range.lowerBound] + value
            rest = rest[match.range.upperBound...]
        }
        return filled + rest
    }

    private var table: String { "\(Listener.quoted(schema)).migrations" }
}

extension Statement {
    fileprivate static let lock = Statement("SELECT pg_advisory_lock(hashtextextended($1, 0))")
    fileprivate static let unlock = Statement("SELECT pg_advisory_unlock(hashtextextended($1, 0))")
    fileprivate static let tableExists = Statement("SELECT to_regclass($1) IS NOT NULL")
    fileprivate static let schemaExists = Statement("SELECT to_regnamespace($1) IS NOT NULL")
}
