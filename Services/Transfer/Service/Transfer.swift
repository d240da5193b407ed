import EventLog
public import Logging
import Machines
public import Postgres
public import ServiceKit
import Timeline
public import TransferCore

/// The service `transfer`, assembled from its parts.
public struct Transfer: DurableService {
    public typealias Rules = TransferMachine
    /// The default port.
    public static let port = 8084
    /// `accept-directory` says that `DATA_DIRECTORY` belongs to the database.
    public static let ownCommands: [String: OwnCommand<Transfer>] = [
        "accept-directory": { try await $0.acceptDirectory($1, logger: $2) }
    ]

    let directory: String
    private let allowedOrigins: String?
    private let scanInterval: Int
    private let uploadLimits: UploadLimits
    let storageLimits: StorageLimits
    private let fileQuotas: FileQuotas
    private let publicURL: String?
    private let sweepRules: SweepRules
    private let profiles: ProfilesFile

    public init(_ reader: SettingsReader) {
        directory = reader.text("DATA_DIRECTORY", "data/transfer", "directory of all files; replicas share it")
        allowedOrigins = reader.text(
            "ALLOWED_ORIGINS",
            "origins that tasks may use, separated by commas; * adds all origins with public addresses; with PORT 0 the"
                + " default is none (default http://HOST:PORT of the service)")
        scanInterval = reader.number(
            "SCAN_INTERVAL", 60, 1...86_400, "seconds between the scans of each process for attempts without a worker")
        uploadLimits = UploadLimits(reader)
        storageLimits = StorageLimits(reader)
        fileQuotas = FileQuotas(reader)
        publicURL = reader.value(
            "PUBLIC_URL", "public URL of the service behind a proxy; used in Location of new uploads",
            mustBe: "an http or https URL without a query", parse: UploadAddress.base)
        sweepRules = SweepRules(reader)
        profiles = ProfilesFile(reader)
    }

    public static func migrations() throws -> [Migration] { try TransferStore.migrations() }

    public func serve(_ configuration: ServiceConfiguration, logger: Logger) async throws {
        // A free port is known too late to be allowed.
        let own = configuration.port == 0 ? "" : "http://\(configuration.host):\(configuration.port)"
        let origins = try AllowedOrigins(allowedOrigins ?? own)
        let storage = try storage()
        var policy = TransferPolicy()
        policy.generations = try profiles.read()
        policy.fileBytes = fileQuotas.device
        try await serve(configuration, policy: policy, logger: logger) { parts, table in
            let store = TransferStore(pool: parts.pool, partitions: configuration.partitions)
            let counts = ByteCounts(metrics: parts.metrics)
            let meter = QuotaMeter(parts.metrics)
            let uploads = UploadStore(
                database: store, storage: storage, limits: uploadLimits, counts: counts, meter: meter,
                logger: logger)
            let files = AppFiles(storage: storage, uploads: uploads, counts: counts)
            let routes = TransferRoutes(
                commands: parts.commands, files: files, headers: RequestHeaders(store: store), origins: origins)
            routes.add(to: &table)
            FileRoutes(routes: routes, files: files, quotas: fileQuotas, meter: meter).add(to: &table)
            ChallengeRoutes(routes: routes, store: store).add(to: &table)
            ReportRoutes(
                routes: routes, store: store, clock: parts.clock, policy: policy
            ).add(to: &table)
            ContentRoutes(storage: storage, store: store, counts: counts, clock: RealClock(), logger: logger)
                .add(to: &table)
            let address = UploadAddress(publicURL: publicURL, isSecure: configuration.certificate.isSet)
            TusRoutes(store: uploads, address: address).add(to: &table)
            DraftRoutes(store: uploads, address: address).add(to: &table)
            let states = FileReferences(store: store)
            let claim = StorageClaim(
                storage: storage, incarnation: parts.incarnation, logger: logger
            ) { [tail = parts.tail] in
                try await tail.heads().values.reduce(0, +)
            }
            parts.readiness.add(HealthCheck("data_directory", .reported) { await claim.fault })
            func sweep(
                _ folder: StorageFolder, _ suspicion: StorageSweep.Suspicion = .manyLeftovers,
                inUse: @escaping @Sendable ([String]) async throws -> Set<String>
            ) -> StorageSweep {
                StorageSweep(
                    storage: storage, folder: folder, rules: sweepRules, suspicion: suspicion, claim: claim,
                    metrics: parts.metrics, logger: logger, inUse: inUse)
            }
            return [
                TransferWorkers(
                    parts: parts, store: store, storage: storage, origins: origins, credentials: store,
                    quotas: fileQuotas, meter: meter, scanInterval: .seconds(scanInterval)),
                UploadSweep(store: uploads, claim: claim),
                ErasedFiles(store: store, storage: storage, claim: claim, logger: logger),
                StorageGauge(directory: directory, limits: storageLimits, metrics: parts.metrics),
                // Unclaimed downloads leave many files.
                sweep(.segments, .emptyDatabase { try await states.isEmpty }) { try await states.pieces(of: $0) },
                sweep(.uploads) { try await store.filesOfUploads(among: $0) },
                sweep(.contents) { try await store.filesOfContents(among: $0) },
                CredentialSweep(store: store, states: states, logger: logger),
                HeaderRemoval(tail: parts.tail, store: store, logger: logger),
            ]
        }
    }
}
