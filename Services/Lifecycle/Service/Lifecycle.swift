import EventLog
import LifecycleMachine
public import Logging
import Machines
import Postgres
import Runtime
public import ServiceKit
import ServiceLifecycle

/// The service `lifecycle`, put together: the one place that knows all its parts.
public enum Lifecycle {
    public static let name = LifecycleMachine.name
    public static let port = 8081

    /// Creates or updates the database: the log, the service's schema, its consumer and its role.
    public static func migrate(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        guard let url = configuration.migrationDatabaseURL else {
            throw ConfigurationError("MIGRATION_DATABASE_URL (--migration-database-url) is needed to migrate")
        }
        let connection = try await Connection.open(try ConnectionOptions(url: url), logger: logger)
        try await RuntimeSchema.migrate(
            service: name, connection, partitions: configuration.partitions,
            rolePassword: try configuration.secret("ROLE_PASSWORD_FILE"), logger: logger)
        await connection.close()
    }

    /// Serves until a signal ends it.
    ///
    /// - Throws: at start, whatever keeps it from serving, in one line that says what to do.
    public static func serve(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        let options = try ConnectionOptions(
            url: configuration.databaseURL, password: try configuration.secret("DATABASE_PASSWORD_FILE"),
            applicationName: "dormouse-\(name)")
        let connection = try await Connection.open(options, logger: logger)
        try await LogSchema.verify(connection, partitions: configuration.partitions)
        await connection.close()
        let pool = ConnectionPool(options, size: configuration.databasePoolSize, logger: logger)
        let runtime = DurableRuntime<LifecycleMachine>(
            pool: pool, options: options, partitions: configuration.partitions, clock: SharedClock(),
            policy: LifecyclePolicy(), logger: logger)
        var table = RouteTable()
        LifecycleRoutes(runtime: runtime).add(to: &table)
        let metrics = Metrics()
        table.addHealth(
            [
                HealthCheck("database") {
                    do {
                        _ = try await pool.run(Call(Statement("SELECT 1")))
                        return nil
                    } catch { return "\(error)" }
                },
                HealthCheck("listener") { await runtime.isListening ? nil : "the listening connection is down" },
                HealthCheck("leases") {
                    await runtime.ownedPartitions > 0 ? nil : "no partition is held yet"
                },
            ], metrics: metrics)
        table.addOpenAPI(title: "Dormouse lifecycle", version: "1")
        let authenticator = Authenticator(
            operators: try configuration.operatorKeys(), tokens: DeviceTokenVerifier(),
            insecure: configuration.isInsecure)
        let host = ServiceHost(
            name: name, configuration: configuration,
            responder: table.responder(authenticator: authenticator, metrics: metrics), services: [runtime],
            logger: logger)
        try await host.run()
        await pool.close()
    }
}
