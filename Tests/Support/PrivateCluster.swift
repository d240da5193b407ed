import Foundation
import Glibc

/// A real PostgreSQL server only for tests, with its own folder and its own port.
///
/// It leaves nothing behind. A keeper process (see ``KeeperScript``) removes it after the release of this object, or
/// after the end of the test process, even by SIGKILL.
public actor PrivateCluster {
    /// The modes of `pg_ctl stop`.
    public enum StopMode: String, Sendable {
        /// Waits for the clients to disconnect.
        case smart
        /// Rolls back, disconnects clients and writes a checkpoint.
        case fast
        /// Stops without a checkpoint; the next start recovers from the WAL.
        case immediate
    }

    /// The superuser. The unix socket needs no password; TCP needs SCRAM-SHA-256.
    public nonisolated let superuser = "dormouse"
    /// The superuser's random password.
    public nonisolated let password: String
    /// The TCP port on 127.0.0.1. A restart keeps it.
    public nonisolated let port: Int
    /// The folder of the cluster with the unix socket. It is removed with the cluster.
    public nonisolated let socketDirectory: String
    /// The data folder.
    public nonisolated var dataDirectory: String { "\(socketDirectory)/data" }

    /// The workers of a coordinator of Citus; empty without Citus.
    public nonisolated let workers: [PrivateCluster]

    nonisolated let binaries: PostgresBinaries
    private nonisolated let keeper: SpawnedProcess
    private var commands = 0
    private var templates: [String: Task<String, any Error>] = [:]

    private static let sharedStart = Task { try await make(fsync: false) }

    /// The cluster that all tests of this process share. The first use starts it. It does not flush to disk. Do not
    /// stop it: for that, create a separate cluster with ``make(fsync:settings:)``.
    /// - Throws: ``ClusterFailed``.
    public static func shared() async throws -> PrivateCluster { try await sharedStart.value }

    /// Starts a cluster for one test. It ends with ``destroy()`` or when the object is released, so keep a reference.
    /// - Parameters:
    /// - fsync: whether commits are flushed to disk, as in production.
    /// - settings: more settings for `postgresql.conf`, unquoted; they override the defaults of the cluster.
    /// - original: a stopped cluster whose data and superuser the new one gets; nil for an empty cluster.
    /// - workers: the workers of a coordinator of Citus.
    /// - Throws: ``ClusterFailed``.
    public static func make(
        fsync: Bool = true, settings: [String: String] = [:], copyOf original: PrivateCluster? = nil,
        workers: [PrivateCluster] = []
    ) async throws -> PrivateCluster {
        let binaries = try await PostgresBinaries.find()
        let origin = original.map { Origin.data(of: $0) } ?? .nothing
        let place = fsync ? "/tmp" : volatilePlace
        let configuration = configuration(fsync: fsync, settings: settings)
        // Another process may take the port before the server does; the next attempt takes another port.
        var attempts = 0
        while true {
            do {
                return try await PrivateCluster(
                    binaries: binaries, configuration: configuration, in: place, origin, workers: workers)
            } catch let failure as ClusterFailed where failure.description.contains("could not bind") && attempts < 5 {
                attempts += 1
            }
        }
    }

    /// The folder for clusters that do not flush to disk. It is in memory if there is much: the databases of a test run
    /// have half a million files and several GiB.
    private static let volatilePlace: String = {
        var files = statvfs()
        guard statvfs("/dev/shm", &files) == 0,
            let memory = try? String(contentsOfFile: "/proc/meminfo", encoding: .utf8),
            let line = memory.split(separator: "\n").first(where: { $0.hasPrefix("MemAvailable:") }),
            let available = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { return "/tmp" }
        let free = Int(files.f_bavail) * Int(files.f_frsize)
        return free >= 10 << 30 && available >= 16 << 20 ? "/dev/shm" : "/tmp"
    }()

    /// Starts a standby of this server, with its superuser and password. It follows the write-ahead log.
    ///
    /// - Parameters:
    ///   - isSynchronous: whether each commit of this server waits from now on until the standby has flushed it.
    ///   - settings: more settings for `postgresql.conf`, unquoted.
    /// - Throws: ``ClusterFailed``.
    public func makeStandby(isSynchronous: Bool, settings: [String: String] = [:]) async throws -> PrivateCluster {
        let standby = try await PrivateCluster(
            binaries: binaries, configuration: Self.configuration(fsync: true, settings: settings), .primary(self))
        if isSynchronous {
            try await sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
            try await sql("SELECT pg_reload_conf()")
        }
        return standby
    }

    /// Makes a standby a primary, and waits for the end of its recovery.
    /// - Throws: ``ClusterFailed``.
    public nonisolated func promote() async throws {
        guard try await sql("SELECT pg_promote(wait_seconds => 60)") == "t" else {
            throw ClusterFailed("the standby is no primary after 60 s")
        }
    }

    /// Where the data of a new cluster come from.
    enum Origin {
        case nothing
        /// A stopped cluster.
        case data(of: PrivateCluster)
        /// The base backup of a cluster.
        case backup(of: PrivateCluster)
        /// A running cluster that the new one follows.
        case primary(PrivateCluster)
    }

    init(
        binaries: PostgresBinaries, configuration: String, in place: String = "/tmp", _ origin: Origin,
        workers: [PrivateCluster] = []
    ) async throws {
        self.binaries = binaries
        self.workers = workers
        let order: String
        switch origin {
        case .nothing:
            var generator = SystemRandomNumberGenerator()
            password = String(generator.next(), radix: 36) + String(generator.next(), radix: 36)
            order = "init \(password)"
        case .data(let cluster):
            password = cluster.password
            order = "clone \(cluster.dataDirectory)"
        case .backup(let cluster):
            password = cluster.password
            order = "clone \(cluster.backupDirectory)"
        case .primary(let primary):
            password = primary.password
            order = "copy \(primary.url(database: "postgres"))"
        }
        port = try freePort()
        let shell = [
            "/bin/sh", "-c", KeeperScript.text, "keeper", binaries.directory, configuration, "\(port)", superuser,
            place,
        ]
        let command = try PostgresBinaries.asServerUser(shell)
        keeper = try SpawnedProcess(
            command[0], Array(command.dropFirst()), environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"])
        guard keeper.write(line: "0 \(order)") else { throw ClusterFailed("the keeper has not started") }
        socketDirectory = try await Self.answer(to: 0, of: keeper)
        try await start()
    }

    /// Returns the URL of a database over the unix socket, without a password check. Connecting may take a minute on a
    /// loaded machine.
    public nonisolated func url(database: String) -> String {
        "postgresql://\(superuser):\(password)@/\(database)?host=\(socketDirectory)&port=\(port)&connect_timeout=60"
    }

    /// Returns the URL of a database over TCP with SCRAM-SHA-256, or through a ``TCPProxy`` with the port of the proxy.
    public nonisolated func tcpURL(database: String, port: Int? = nil) -> String {
        "postgresql://\(superuser):\(password)@127.0.0.1:\(port ?? self.port)/\(database)"
    }

    /// Starts a stopped or killed server and waits until it accepts connections.
    /// - Throws: ``ClusterFailed``, with the end of the server's log.
    public func start() async throws { try await order("start") }

    /// Stops the server and waits for its end. Does nothing if it is stopped.
    public func stop(_ mode: StopMode = .fast) async throws { try await order("stop \(mode.rawValue)") }

    /// Kills all processes of the server with SIGKILL, as when the machine loses power, and waits for its end.
    public func kill() async throws { try await order("stop kill") }

    /// Stops the server and its workers, and removes their folders. No other call works afterwards.
    public func destroy() async throws {
        for worker in workers { try await worker.destroy() }
        keeper.closeInput()
        _ = try await keeper.ended.value()
    }

    /// Runs SQL with `psql` as the superuser.
    /// - Returns: the rows as unaligned text, with columns separated by `|`.
    /// - Throws: ``ClusterFailed`` with the message of the server.
    @discardableResult
    public nonisolated func sql(_ statement: String, database: String = "postgres") async throws -> String {
        let result = try await SpawnedProcess.run(
            "\(binaries.directory)/psql",
            ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement, url(database: database)],
            environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"])
        guard result.status == .exited(0) else { throw ClusterFailed("psql: \(result.errors)") }
        return result.output
    }

    private func order(_ command: String) async throws {
        commands += 1
        let number = commands
        guard keeper.write(line: "\(number) \(command)") else { throw ClusterFailed("the cluster is destroyed") }
        _ = try await Self.answer(to: number, of: keeper)
    }

    private static func answer(to number: Int, of keeper: SpawnedProcess) async throws -> String {
        let answer = await keeper.output.first { $0.hasPrefix("@\(number) ") } ?? "@\(number) gone"
        let words = answer.split(separator: " ", maxSplits: 2)
        guard words.dropFirst().first == "ok" else {
            throw ClusterFailed("the private cluster failed:\n\(keeper.errors.tail())\n\(keeper.output.tail())")
        }
        return words.count > 2 ? String(words[2]) : ""
    }

    static func configuration(fsync: Bool, settings: [String: String]) -> String {
        var ours = [
            "listen_addresses": "127.0.0.1", "max_connections": "300", "shared_buffers": "128MB",
            "fsync": fsync ? "on" : "off", "full_page_writes": fsync ? "on" : "off", "timezone": "UTC",
            "log_line_prefix": "%m [%p] %d ",
        ]
        // The shared cluster has a database for each test. Autovacuum would start a worker for each of them every minute.
        if !fsync { ours["autovacuum_naptime"] = "1h" }
        return ours.merging(settings) { _, asked in asked }.sorted { $0.key < $1.key }
            .map { "\($0.key) = '\($0.value.replacingOccurrences(of: "'", with: "''"))'" }
            .joined(separator: "\n")
    }
}

extension PrivateCluster {
    /// Creates an empty database with a random name.
    /// - Parameter template: a database without connections; see ``template(_:prepare:)``.
    /// - Returns: its URL over the unix socket.
    public func makeDatabase(template: String = "template0") async throws -> String {
        url(database: try await makeNamedDatabase(template: template))
    }

    /// Like ``makeDatabase(template:)``, but returns the name, for ``tcpURL(database:port:)`` and ``sql(_:database:)``.
    public func makeNamedDatabase(template: String = "template0") async throws -> String {
        var generator = SystemRandomNumberGenerator()
        let name = "test_" + String(generator.next(), radix: 36) + String(generator.next(), radix: 36)
        try await sql("CREATE DATABASE \(name) TEMPLATE \(template)")
        if !workers.isEmpty { try await addWorkers(to: name) }
        return name
    }

    /// Returns a template database that is prepared once per cluster, for example with migrated schemas.
    /// - Parameters:
    ///   - key: the name of its contents; the same key gives the same template.
    ///   - prepare: receives the URL of the empty database. Its open connections are closed afterwards.
    /// - Returns: a name for ``makeDatabase(template:)``.
    public func template(
        _ key: String, prepare: @escaping @Sendable (_ url: String) async throws -> Void
    ) async throws -> String {
        // A separate task: several tests wait for it, so the cancellation of the first must not cancel it.
        let task =
            templates[key]
            ?? Task {
                let name = try await makeNamedDatabase()
                try await prepare(url(database: name))
                try await sql("ALTER DATABASE \(name) ALLOW_CONNECTIONS false")
                try await sql("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '\(name)'")
                return name
            }
        templates[key] = task
        return try await task.value
    }
}
