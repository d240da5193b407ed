import EventLog
public import Logging
import Machines
import Postgres
public import ServiceKit
import Timeline
import TransferMachine

/// The entry points of the service `transfer`.
public enum Transfer {
    /// The name of the service in URLs, settings and the log.
    public static let name = TransferMachine.name
    /// The default port.
    public static let port = 8084

    /// The settings that only this service has.
    public static let settings =
        [
            Setting("DATA_DIRECTORY", "data/transfer", "directory of all files; replicas share it"),
            Setting(
                "ALLOWED_ORIGINS", nil,
                "comma-separated origins that tasks may use; * for all public addresses (default the service's own)"),
            .number(
                "SCAN_INTERVAL", standardScanInterval, 1...86_400,
                "seconds between the scans of each process for attempts without a worker"),
        ] + UploadLimits.settings + UploadAddress.settings + SweepRules.settings

    private static let standardScanInterval = 60

    /// The migrations of the service's own tables.
    private static func migrations() throws -> [Migration] {
        let files: [(name: String, bytes: [UInt8])] = [
            ("0002_transfer.sql", PackageResources._002_transfer_sql)
        ]
        return try files.map { try Migration(fileName: $0.name, sql: String(decoding: $0.bytes, as: UTF8.self)) }
    }

    /// Creates or updates the log, the service's schema, its consumer and its role.
    public static func migrate(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await DurableService.migrate(
            TransferMachine.self, configuration, logger: logger, migrations: try migrations())
    }

    /// Compares the database with this program, and changes nothing.
    ///
    /// - Throws: an error of one line with the remedy, if the database does not fit this program.
    public static func check(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await DurableService.check(
            TransferMachine.self, configuration, logger: logger, migrations: try migrations())
    }

    /// Serves requests until a signal ends the process.
    ///
    /// - Throws: an error of one line with the remedy, if the service can't start.
    public static func serve(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        let origins = try AllowedOrigins(
            configuration["ALLOWED_ORIGINS"] ?? "http://\(configuration.host):\(configuration.port)")
        let directory = configuration["DATA_DIRECTORY"] ?? ""
        let storage: any Storage
        do { storage = try DirectoryStorage(directory) } catch {
            throw ConfigurationError("DATA_DIRECTORY (--data-directory) can't be written to")
        }
        let policy = TransferPolicy()
        try await DurableService.serve(
            TransferMachine.self, configuration, policy: policy, logger: logger, migrations: try migrations()
        ) { parts, table in
            let counts = ByteCounts(metrics: parts.metrics)
            let uploads = UploadStore(parts.pool, storage, configuration, counts: counts, logger: logger)
            let files = AppFiles(storage: storage, uploads: uploads, counts: counts)
            let credentials = CredentialTable(pool: parts.pool, partitions: configuration.partitions)
            let routes = TransferRoutes(commands: parts.commands, files: files, origins: origins)
            routes.add(to: &table)
            FileRoutes(routes: routes, files: files).add(to: &table)
            ChallengeRoutes(routes: routes, credentials: credentials).add(to: &table)
            ReportRoutes(
                routes: routes, timeline: TaskTimeline(pool: parts.pool, partitions: configuration.partitions),
                clock: parts.clock, policy: policy
            ).add(to: &table)
            let contents = ContentTable(pool: parts.pool, partitions: configuration.partitions)
            ContentRoutes(storage: storage, table: contents, counts: counts, clock: RealClock(), logger: logger)
                .add(to: &table)
            let address = UploadAddress(configuration)
            TusRoutes(store: uploads, address: address).add(to: &table)
            DraftRoutes(store: uploads, address: address).add(to: &table)
            let states = FileReferences(states: WorkerTable(pool: parts.pool), partitions: configuration.partitions)
            let rules = SweepRules(configuration)
            func sweep(
                _ folder: StorageFolder, _ suspicion: StorageSweep.Suspicion = .manyLeftovers,
                inUse: @escaping @Sendable ([String]) async throws -> Set<String>
            ) -> StorageSweep {
                StorageSweep(
                    storage: storage, folder: folder, rules: rules, suspicion: suspicion, metrics: parts.metrics,
                    logger: logger, inUse: inUse)
            }
            return [
                TransferWorkers(
                    parts: parts, storage: storage, origins: origins, credentials: credentials,
                    scanInterval: .seconds(configuration.number("SCAN_INTERVAL") ?? standardScanInterval)),
                UploadSweep(store: uploads),
                // Unclaimed downloads leave many files.
                sweep(.segments, .emptyDatabase { try await states.isEmpty }) { try await states.pieces(of: $0) },
                sweep(.uploads) { try await uploads.table.inUse($0) },
                sweep(.contents) { try await contents.inUse($0) },
                CredentialSweep(table: credentials, states: states, logger: logger),
            ]
        }
    }
}
