import Foundation
import Glibc
import Identity
import NIOCore
import NIOHTTP1
import Records
import Synchronization
import TestSupport

/// The services of the suite; raw values are the names of executables.
enum SuiteService: String, CaseIterable, Sendable {
    case lifecycle, fetch, push, transfer, ops

    /// The services with a machine, which write to the log.
    static let writers: [SuiteService] = [.lifecycle, .fetch, .push, .transfer]
}

/// A deployed suite: five processes, each with its own role and password, and a private PostgreSQL server.
///
/// Its release ends all processes.
final class RunningSuite: Sendable {
    static let operatorKey = "correct-horse"
    /// The key of a read-only operator.
    static let readersKey = "battery-staple"

    let cluster: PrivateCluster
    /// The standby of the cluster, which services use after its promotion; nil if there is none.
    let standby: PrivateCluster?
    let database: String
    /// A proxy before the content of `transfer`, to interrupt downloads.
    let proxy: TCPProxy
    private let folder: URL
    private let ports: [SuiteService: Int]
    /// The port of the provider endpoint.
    private let apns: Int
    /// The number of partitions of the log; nil for the default.
    private let partitions: Int?
    private let further: [String: String]
    private let readsStandby: Bool
    private let processes = Mutex<[SuiteService: ChildProcess]>([:])

    /// Migrates a new database and starts services.
    ///
    /// - Parameters:
    ///   - services: the services to start; the database is migrated for all.
    ///   - partitions: the number of partitions of the log; the default of the services if nil.
    ///   - fsync: whether a commit reaches the disk, as in production.
    ///   - hasStandby: whether the cluster has a standby.
    ///   - isSynchronous: whether a commit waits for the standby.
    ///   - readsStandby: whether `ops` queries the standby.
    ///   - workers: the number of workers of Citus; 0 for a database without it.
    ///   - settings: further settings of all services.
    static func start(
        _ services: [SuiteService] = SuiteService.allCases, virtualTime: Bool = false, partitions: Int? = nil,
        fsync: Bool = false, hasStandby: Bool = false, isSynchronous: Bool = true, readsStandby: Bool = false,
        workers: Int = 0, settings: [String: String] = [:]
    ) async throws -> RunningSuite {
        let migrated: MigratedCluster
        let cluster: PrivateCluster
        if workers > 0 {
            cluster = try await PrivateCluster.makeCitus(workers: workers, fsync: fsync)
            migrated = try await migrate(cluster, virtualTime: virtualTime, partitions: partitions)
        } else {
            migrated = try await MigratedCluster.of(virtualTime: virtualTime, partitions: partitions)
            cluster = try await PrivateCluster.make(fsync: fsync, copyOf: migrated.cluster)
        }
        // The copy has another log.
        try await cluster.sql("UPDATE bus.incarnation SET id = DEFAULT", database: migrated.database)
        let standby = hasStandby ? try await cluster.makeStandby(isSynchronous: isSynchronous) : nil
        let suite = try await RunningSuite(
            cluster, standby, database: migrated.database, partitions, settings, readsStandby: readsStandby)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for service in services { group.addTask { try await suite.launch(service) } }
            try await group.waitForAll()
        }
        return suite
    }

    private init(
        _ cluster: PrivateCluster, _ standby: PrivateCluster?, database: String, _ partitions: Int?,
        _ further: [String: String], readsStandby: Bool
    ) async throws {
        self.readsStandby = readsStandby
        self.cluster = cluster
        self.standby = standby
        self.partitions = partitions
        self.further = further
        self.database = database
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("suite-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var ports: [SuiteService: Int] = [:]
        for service in SuiteService.allCases {
            // `freePort` may return the same port again until a service listens on it.
            repeat { ports[service] = try freePort() } while Set(ports.values).count < ports.count
        }
        self.ports = ports
        var apns = 0
        repeat { apns = try freePort() } while ports.values.contains(apns)
        self.apns = apns
        proxy = try await TCPProxy.start(port: ports[.transfer] ?? 0)
        let keys = [
            OperatorKeys.line(name: "alice", scopes: [.read, .operate], key: Self.operatorKey),
            OperatorKeys.line(name: "bob", scopes: [.read], key: Self.readersKey),
        ]
        try write(keys.joined(separator: "\n"), to: "operator-keys")
        for service in SuiteService.allCases { try write("secret-of-\(service.rawValue)", to: service.rawValue) }
    }

    /// Replaces the file with the operators' keys.
    func write(operatorKeys lines: [String]) throws { try write(lines.joined(separator: "\n"), to: "operator-keys") }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func port(_ service: SuiteService) -> Int { ports[service] ?? 0 }

    func address(_ service: SuiteService) -> String { "http://127.0.0.1:\(ports[service] ?? 0)" }

    /// Returns the process of a service; nil if it does not run.
    func process(of service: SuiteService) -> pid_t? { processes.withLock { $0[service]?.pid } }

    /// The provider endpoint over TLS, and the file with its authority.
    var apnsAddress: String { "https://localhost:\(apns)" }
    var apnsAuthority: String { path("apns/ca.pem") }

    /// Kills a service, and waits until the process has ended.
    func kill(_ service: SuiteService) async throws {
        let process = processes.withLock { $0.removeValue(forKey: service) }
        process?.signal(SIGKILL)
        _ = try await process?.exit()
    }

    /// Waits until a service has ended by itself.
    func end(of service: SuiteService) async throws -> ExitStatus? {
        try await processes.withLock { $0[service] }?.exit(within: 60)
    }

    /// Starts an ended service on the same port, and waits until it is ready.
    func launch(_ service: SuiteService) async throws {
        let process = try start(service, port: ports[service] ?? 0, apns: apns)
        processes.withLock { $0[service] = process }
        try await process.waitForLine(containing: "is ready", within: 90)
    }

    /// Starts another replica of a service, and waits until it is ready. The replica is killed on release.
    func launchReplica(
        _ service: SuiteService, settings: [String: String] = [:]
    ) async throws -> (process: ChildProcess, address: String) {
        let process = try start(service, port: 0, apns: 0, settings)
        let line = try await process.waitForLine(containing: "is ready on", within: 90)
        guard let address = line.split(separator: " ").last else { throw Unexpected("no address in: \(line)") }
        return (process, String(address))
    }

    private func start(
        _ service: SuiteService, port: Int, apns: Int, _ own: [String: String] = [:]
    ) throws -> ChildProcess {
        var settings = settings(of: service).merging(further) { $1 }.merging(own) { $1 }
        settings["LOG_LEVEL"] = "warning"
        settings["PORT"] = "\(port)"
        if service == .push { settings["APNS_PORT"] = "\(apns)" }
        settings["OPERATOR_KEY_FILE"] = path("operator-keys")
        settings["DATA_DIRECTORY"] = path("content")
        settings["ALLOWED_ORIGINS"] = "http://127.0.0.1:\(proxy.port),\(address(.transfer))"
        return try ChildProcess.start(ChildProcess.product(service.rawValue), ["serve"], environment: settings)
    }

    /// Stops all services with SIGTERM.
    ///
    /// - Returns: the exit status of each service.
    func stop() async throws -> [SuiteService: ExitStatus] {
        let running = processes.withLock { processes in
            defer { processes = [:] }
            return processes
        }
        for process in running.values { process.signal(SIGTERM) }
        var ends: [SuiteService: ExitStatus] = [:]
        for (service, process) in running { ends[service] = try await process.exit(within: 90) }
        return ends
    }

    /// Waits until a ready service reports no fault, or a fault: a service stays ready while the database is down.
    func waitUntil(_ service: SuiteService, isWell: Bool) async throws {
        let last = Latest()
        do {
            try await eventually(within: 90, describe: "/readyz of \(service) is \(isWell ? "" : "not ")well") {
                [self] in
                let answer = try? await send(.GET, service, "/readyz")
                last.text.withLock { $0 = answer.map { "\($0.status) \(String(buffer: $0.body))" } ?? "no answer" }
                return answer?.status == 200 && (answer?.json["errors"] == nil) == isWell
            }
        } catch let error as TimedOut {
            throw Unexpected("\(error); the last was \(last.text.withLock { $0 })\n\(words(of: service))")
        }
    }

    /// Returns the last lines of the standard error of a service.
    func words(of service: SuiteService) -> String { processes.withLock { $0[service]?.errors.tail() } ?? "" }

    /// Waits until every service has read the whole log.
    func waitUntilAllIsTakenIn() async throws {
        try await eventually(within: 90, describe: "no consumer lags") { [self] in
            let consumers = try await call(.GET, .ops, "/v1/consumers").json["items"]?.items ?? []
            return consumers.count == SuiteService.writers.count && consumers.allSatisfy { $0["lag"]?.int == 0 }
        }
    }

    /// Starts a fleet that runs until SIGINT, then writes its summary. Like the fleet of `./deploy/up`, it sends to the
    /// provider endpoint over TLS, and trusts the authority that `push` exports.
    func startFleet(devices: Int) throws -> RunningFleet {
        try startFleet([
            "run", "--devices", "\(devices)", "--for", "1h", "--rate", "120", "--begin-at", "08:00",
            "--pushes-per-minute", "120",
        ])
    }

    /// Starts `fleet` with a command, the addresses of the suite and a file for its summary.
    func startFleet(_ command: [String]) throws -> RunningFleet {
        var endpoints: [JSON.Member] = SuiteService.allCases.map { .init($0.rawValue, .string(address($0))) }
        endpoints.append(.init("apns", .string("https://localhost:\(apns)")))
        endpoints.append(.init("ca", .string(path("apns/ca.pem"))))
        endpoints.append(.init("operatorKey", .string(Self.operatorKey)))
        try write(String(decoding: JSON.object(endpoints).bytes, as: UTF8.self), to: "endpoints.json")
        let process = try ChildProcess.start(
            ChildProcess.product("fleet"),
            command + ["--endpoints", path("endpoints.json"), "--summary-json", path("summary.json")])
        return RunningFleet(process: process, summary: folder.appendingPathComponent("summary.json"))
    }

    /// Returns the path of a file in the folder of the suite.
    func file(_ name: String, text: String? = nil) throws -> String {
        if let text { try write(text, to: name) }
        return path(name)
    }

    /// Returns the resident memory of a service.
    func residentBytes(of service: SuiteService) throws -> Int {
        let pid = processes.withLock { $0[service]?.pid } ?? 0
        let pages = try String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8).split(separator: " ")
        return (pages.dropFirst().first.flatMap { Int($0) } ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// The bytes of downloads on disk.
    var bytesOnDisk: Int {
        let segments = folder.appendingPathComponent("content/segments")
        let files = try? FileManager.default.contentsOfDirectory(
            at: segments, includingPropertiesForKeys: [.fileSizeKey])
        return (files ?? []).reduce(0) { $0 + ((try? $1.resourceValues(forKeys: [.fileSizeKey]).fileSize) ?? 0) }
    }

    /// Returns the names of the files of `transfer` with these bytes.
    func files(with text: String) -> [String] {
        let root = folder.appendingPathComponent("content")
        let names = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
        return names.filter { name in
            let bytes = FileManager.default.contents(atPath: root.appendingPathComponent(name).path)
            return bytes?.range(of: Data(text.utf8)) != nil
        }
    }

    /// Starts a cluster, migrates a new database for all services, and stops the cluster.
    static func migrate(virtualTime: Bool, partitions: Int?) async throws -> MigratedCluster {
        let cluster = try await PrivateCluster.make(fsync: false)
        let migrated = try await migrate(cluster, virtualTime: virtualTime, partitions: partitions)
        try await cluster.stop()
        return migrated
    }

    private static func migrate(
        _ cluster: PrivateCluster, virtualTime: Bool, partitions: Int?
    ) async throws -> MigratedCluster {
        let database = try await cluster.makeNamedDatabase()
        let suite = try await RunningSuite(cluster, nil, database: database, partitions, [:], readsStandby: false)
        for service in SuiteService.allCases {
            var settings = suite.migrationSettings(of: service)
            settings["VIRTUAL_TIME"] = virtualTime ? "true" : "false"
            try await ChildProcess.migrate(service.rawValue, settings: settings)
        }
        return MigratedCluster(cluster: cluster, database: database)
    }

    /// Returns the settings of a migration with the owner of the tables, who sets the password of the role.
    func migrationSettings(of service: SuiteService) -> [String: String] {
        var settings = settings(of: service)
        settings["MIGRATION_DATABASE_URL"] = cluster.url(database: database)
        settings["ROLE_PASSWORD_FILE"] = path(service.rawValue)
        return settings
    }

    /// Returns the settings of a service over TCP with its own role, with the rights as in a deployment.
    func settings(of service: SuiteService) -> [String: String] {
        let hosts = [cluster, standby].compactMap(\.self).map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
        var settings = [
            "DATABASE_URL": "postgresql://dormouse_\(service.rawValue)@\(hosts)/\(database)",
            "DATABASE_PASSWORD_FILE": path(service.rawValue),
        ]
        settings["PARTITIONS"] = partitions.map(String.init)
        if service == .ops {
            if readsStandby, let standby {
                settings["READ_DATABASE_URL"] = "postgresql://dormouse_ops@127.0.0.1:\(standby.port)/\(database)"
            }
            let addresses = SuiteService.writers.map { ("\($0.rawValue.uppercased())_URL", address($0)) }
            return settings.merging(addresses) { $1 }
        }
        guard service == .push else { return settings }
        return settings.merging(["APNS_PORT": "0", "APNS_CERTIFICATES": path("apns")]) { $1 }
    }

    private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    private func write(_ text: String, to name: String) throws {
        try text.write(toFile: path(name), atomically: true, encoding: .utf8)
    }
}

/// A fleet in its own process.
struct RunningFleet {
    let process: ChildProcess
    let summary: URL

    /// Sends SIGINT and waits.
    ///
    /// - Returns: the exit status, the last lines of output, and the summary.
    func finish() async throws -> (status: ExitStatus, words: String, summary: JSON) {
        process.signal(SIGINT)
        let status = try await process.exit(within: 180)
        let data = FileManager.default.contents(atPath: summary.path) ?? Data()
        return (status, process.output.tail(60), (try? JSON(parsing: Array(data))) ?? .null)
    }
}

struct Unexpected: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// The last observation, for the message of a failure.
final class Latest: Sendable {
    let text = Mutex("no answer")
}
