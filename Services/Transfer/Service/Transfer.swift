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

    /// Creates or updates the log, the service's schema, its consumer and its role.
    public static func migrate(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await DurableService.migrate(
            TransferMachine.self, configuration, logger: logger, migrations: try TransferStore.migrations())
    }

    /// Compares the database with this program, and changes nothing.
    ///
    /// - Throws: an error of one line with the remedy, if the database does not fit this program.
    public static func check(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        try await DurableService.check(
            TransferMachine.self, configuration, logger: logger, migrations: try TransferStore.migrations())
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
            TransferMachine.self, configuration, policy: policy, logger: logger,
            migrations: try TransferStore.migrations()
        ) { parts, table in
            let store = TransferStore(pool: parts.pool, partitions: configuration.partitions)
            let counts = ByteCounts(metrics: parts.metrics)
            let uploads = UploadStore(store, storage, configuration, counts: counts, logger: logger)
            let files = AppFiles(storage: storage, uploads: uploads, counts: counts)
            let routes = TransferRoutes(commands: parts.commands, files: files, origins: origins)
            routes.add(to: &table)
            FileRoutes(routes: routes, files: files).add(to: &table)
            ChallengeRoutes(routes: routes, store: store).add(to: &table)
            ReportRoutes(
                routes: routes, store: store, clock: parts.clock, policy: policy
            ).add(to: &table)
            ContentRoutes(storage: storage, store: store, counts: counts, clock: RealClock(), logger: logger)
                .add(to: &table)
            let address = UploadAddress(configuration)
            TusRoutes(store: uploads, address: address).add(to: &table)
            DraftRoutes(store: uploads, address: address).add(to: &table)
            let states = FileReferences(store: store)
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
                    parts: parts, store: store, storage: storage, origins: origins, credentials: store,
                    scanInterval: .seconds(configuration.number("SCAN_INTERVAL") ?? standardScanInterval)),
                UploadSweep(store: uploads),
                // Unclaimed downloads leave many files.
                sweep(.segments, .emptyDatabase { try await states.isEmpty }) { try await states.pieces(of: $0) },
                sweep(.uploads) { try await store.filesOfUploads(among: $0) },
                sweep(.contents) { try await store.filesOfContents(among: $0) },
                CredentialSweep(store: store, states: states, logger: logger),
            ]
        }
    }
}
