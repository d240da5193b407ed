import Attack
import Crypto
import Foundation
import Logging
import NIOHTTP1
import Postgres
import Records
import TestSupport

/// The five services as processes, with the settings of `deploy/up`, over a private PostgreSQL server.
///
/// The processes end with ``stop()``, and at the latest with this process.
final class MeasuredSuite: Sendable {
    /// In the order of migrations.
    static let services = ["lifecycle", "fetch", "push", "transfer", "ops"]

    let pool: ConnectionPool
    let cluster: PrivateCluster
    private let database: String
    private let folder: URL
    private let ports: [String: Int]
    private let processes: [String: ChildProcess]
    private let operatorKey: String
    /// The process ids of the postmasters: the coordinator or only server, then the workers.
    private let postmasters: [Int32]

    /// Migrates a new database, and starts the services.
    ///
    /// - Parameters:
    ///   - workers: the number of workers of Citus; 0 starts one PostgreSQL server.
    ///   - prepare: changes the migrated database before the services start.
    static func start(
        workers: Int = 0, prepare: (ConnectionPool) async throws -> Void = { _ in }
    ) async throws -> MeasuredSuite {
        // The settings of deploy/up for one replica.
        let cluster = try await PrivateCluster.measured(
            workers: workers,
            settings: [
                "shared_buffers": "256MB", "max_wal_size": "2GB", "max_connections": "200",
                "idle_in_transaction_session_timeout": "5s",
            ])
        let folder = URL.temporaryDirectory.appending(path: "dormouse-benchmark-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            return try await MeasuredSuite(cluster, folder, prepare)
        } catch {
            // A cancelled task could not wait.
            await Task { try? await cluster.destroy() }.value
            try? FileManager.default.removeItem(at: folder)
            throw error
        }
    }

    private init(
        _ cluster: PrivateCluster, _ folder: URL, _ prepare: (ConnectionPool) async throws -> Void
    ) async throws {
        (self.cluster, self.folder) = (cluster, folder)
        database = try await cluster.makeNamedDatabase()
        operatorKey = UUID().uuidString
        postmasters = try ([cluster] + cluster.workers).map { try Self.postmaster(of: $0) }
        var ports: [String: Int] = [:]
        for name in Self.services + ["apns"] {
            // `freePort` may return the same port again until a process listens on it.
            repeat { ports[name] = try freePort() } while Set(ports.values).count < ports.count
        }
        self.ports = ports
        let digest = SHA256.hash(data: Data(operatorKey.utf8)).map { String(format: "%02x", $0) }.joined()
        try Self.write("benchmarks read,operate \(digest)", folder, "operator-keys")
        for service in Self.services { try Self.write("secret-of-\(service)", folder, service) }
        let settings = Self.settings(cluster, database, folder, ports)
        for service in Self.services {
            let migration = [
                "MIGRATION_DATABASE_URL": cluster.url(database: database), "VIRTUAL_TIME": "false",
                "ROLE_PASSWORD_FILE": folder.appending(path: service).path,
            ]
            try await ChildProcess.migrate(
                service, settings: (settings[service] ?? [:]).merging(migration) { $1 })
        }
        var logger = Logger(label: "benchmarks")
        logger.logLevel = .critical
        pool = ConnectionPool(
            try ConnectionOptions(url: cluster.url(database: database)), size: 1, logger: logger)
        try await prepare(pool)
        var processes: [String: ChildProcess] = [:]
        for service in Self.services {
            processes[service] = try ChildProcess.start(
                ChildProcess.product(service), ["serve"], environment: settings[service] ?? [:])
        }
        self.processes = processes
        for process in processes.values { try await process.waitForLine(containing: "is ready", within: 90) }
    }

    private static func postmaster(of server: PrivateCluster) throws -> Int32 {
        let file = try String(contentsOfFile: server.dataDirectory + "/postmaster.pid", encoding: .utf8)
        guard let pid = file.split(separator: "\n").first.flatMap({ Int32($0) }) else {
            throw ToolFailed(description: "postmaster.pid has no process id")
        }
        return pid
    }

    /// Shuts all processes down and removes everything, also after a cancellation.
    func stop() async throws {
        // A cancelled task could not wait for the processes.
        try await Task {
            await pool.close()
            for process in processes.values { process.signal(SIGTERM) }
            for process in processes.values {
                if (try? await process.exit(within: 30)) == nil { process.signal(SIGKILL) }
            }
            try? FileManager.default.removeItem(at: folder)
            try await cluster.destroy()
        }.value
    }

    func port(_ service: String) -> Int { ports[service] ?? 0 }

    func address(_ service: String) -> String { Self.address(service, ports) }

    /// Returns the usage of each service, of PostgreSQL with its workers, and of this process as `client`.
    func usage() throws -> [String: ProcessUsage] {
        var usage: [String: ProcessUsage] = [:]
        for (service, process) in processes {
            guard let own = ProcessUsage.of(process.pid) else {
                throw ToolFailed(
                    description: "\(service) has ended:\n\(process.errors.tail())\n\(process.output.tail())")
            }
            usage[service] = own
        }
        usage["PostgreSQL"] = postmasters.compactMap { ProcessUsage.ofFamily($0) }.reduce(ProcessUsage(), +)
        usage["client"] = ProcessUsage.of(getpid())
        return usage
    }

    /// Returns the number of open files of a service. Most of them are connections.
    func openFiles(of service: String) throws -> Int {
        guard let process = processes[service] else { return 0 }
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.pid)/fd").count
    }

    /// Returns the suite for crowds and honest callers, with a new honest provider.
    func crowded() -> CrowdedSuite {
        CrowdedSuite(
            ports: Dictionary(uniqueKeysWithValues: AttackedPort.allCases.map { ($0, port($0.rawValue)) }),
            operatorKey: operatorKey, authority: folder.appending(path: "apns/ca.pem").path)
    }

    /// The headers of a request by an operator.
    var operatorHeaders: HTTPHeaders { ["Authorization": "Bearer \(operatorKey)", "Content-Type": "application/json"] }

    /// Returns the transitions of a device's app, in turn.
    ///
    /// - Parameter credential: the token of the device; that of the operator by default.
    func transitions(of device: String, credential: String? = nil) -> LoadScript {
        LoadScript(
            ["home", "open"].map { event in
                let body = #"{"event":"\#(event)"}"#
                let head = [
                    "POST /v1/devices/\(device)/apps/app/transitions HTTP/1.1", "Host: 127.0.0.1:\(port("lifecycle"))",
                    "Authorization: Bearer \(credential ?? operatorKey)", "Content-Type: application/json",
                    "Content-Length: \(body.utf8.count)",
                ]
                return head.joined(separator: "\r\n") + "\r\n\r\n" + body
            })
    }

    /// Starts simulated devices that run until SIGINT.
    func startFleet(devices: Int, rate: Int, pushesPerMinute: Int) throws -> ChildProcess {
        var endpoints: [JSON.Member] = Self.services.map { .init($0, .string(address($0))) }
        endpoints.append(.init("apns", .string("https://localhost:\(port("apns"))")))
        endpoints.append(.init("ca", .string(folder.appending(path: "apns/ca.pem").path)))
        endpoints.append(.init("operatorKey", .string(operatorKey)))
        let text = String(decoding: JSON.object(endpoints).bytes, as: UTF8.self)
        try Self.write(text, folder, "endpoints.json")
        return try ChildProcess.start(
            ChildProcess.product("fleet"),
            [
                "run", "--endpoints", folder.appending(path: "endpoints.json").path, "--devices", "\(devices)",
                "--rate", "\(rate)", "--pushes-per-minute", "\(pushesPerMinute)", "--for", "1h",
            ])
    }

    /// The settings of each service. Only those of `deploy/up` differ from the defaults.
    private static func settings(
        _ cluster: PrivateCluster, _ database: String, _ folder: URL, _ ports: [String: Int]
    ) -> [String: [String: String]] {
        func path(_ name: String) -> String { folder.appending(path: name).path }
        var settings: [String: [String: String]] = [:]
        for service in services {
            let socket = "host=\(cluster.socketDirectory)&port=\(cluster.port)"
            settings[service] = [
                "HOST": "127.0.0.1", "PORT": "\(ports[service] ?? 0)",
                "DATABASE_URL": "postgres://dormouse_\(service)@/\(database)?\(socket)",
                "DATABASE_PASSWORD_FILE": path(service), "OPERATOR_KEY_FILE": path("operator-keys"),
            ]
        }
        for service in services where service != "ops" {
            settings["ops"]?["\(service.uppercased())_URL"] = address(service, ports)
        }
        settings["transfer"]?["DATA_DIRECTORY"] = path("content")
        settings["transfer"]?["ALLOWED_ORIGINS"] = address("transfer", ports)
        settings["push"]?["APNS_PORT"] = "\(ports["apns"] ?? 0)"
        settings["push"]?["APNS_CERTIFICATES"] = path("apns")
        return settings
    }

    private static func address(_ service: String, _ ports: [String: Int]) -> String {
        "http://127.0.0.1:\(ports[service] ?? 0)"
    }

    private static func write(_ text: String, _ folder: URL, _ name: String) throws {
        try text.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
    }
}
