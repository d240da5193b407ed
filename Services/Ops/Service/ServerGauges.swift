import Postgres
import ServiceLifecycle
import Telemetry

/// Updates the gauges of the PostgreSQL server: its connections, the size of the database, and the age of its oldest
/// transaction that is not frozen yet.
struct ServerGauges: Service {
    let pool: ConnectionPool
    let metrics: Metrics

    private static let query = Statement(
        """
        SELECT (SELECT sum(numbackends)::int8 FROM pg_stat_database),
            current_setting('max_connections')::int8 - current_setting('superuser_reserved_connections')::int8,
            pg_database_size(current_database()),
            (SELECT max(age(datfrozenxid))::int8 FROM pg_database)
        """)

    /// Runs until graceful shutdown or cancellation.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat { await note() } while (try? await Task.sleep(for: .seconds(15))) != nil
        }
    }

    func note() async {
        // The gauges keep their values while the database is unavailable.
        guard let rows = try? await pool.execute(Self.query),
            let (connections, limit, bytes, age) = try? rows[0].decode((Int, Int, Int, Int).self)
        else { return }
        let values: [(Metric, Int)] = [
            (.postgresConnections, connections), (.postgresConnectionsLimit, limit),
            (.postgresDatabaseBytes, bytes), (.postgresTransactionAge, age),
        ]
        for (gauge, value) in values { metrics.set(gauge, to: Double(value)) }
    }
}
