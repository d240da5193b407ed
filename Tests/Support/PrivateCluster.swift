import Foundation
import Glibc

/// A real PostgreSQL server that belongs to the tests alone: its own folder under `/tmp`, its own port.
///
/// It leaves nothing behind: a keeper process (see ``KeeperScript``) holds it and removes it when this object, or the
/// whole test process, is gone, also by SIGKILL.
public actor PrivateCluster {
    /// How a server is stopped, in PostgreSQL's words.
    public enum StopMode: String, Sendable {
        /// Waits for the clients to leave.
        case smart
        /// Rolls back, disconnects, writes a checkpoint.
        case fast
        /// Leaves at once; the next start recovers from the log.
        case immediate
    }

    /// The superuser. Over the unix socket no password is asked for, over TCP SCRAM-SHA-256 is.
    public nonisolated let superuser = "dormouse"
    /// The superuser's password, made up for this cluster.
    public nonisolated let password: String
    /// The TCP port on 127.0.0.1. It stays the same when the server is started again.
    public nonisolated let port: Int
    /// The folder of the cluster, with the unix socket in it. It is gone when the cluster is.
    public nonisolated let socketDirectory: String
    /// The data folder, to look into it.
    public nonisolated var dataDirectory: String { "\(socketDirectory)/data" }

    private nonisolated let binaries: PostgresBinaries
    private nonisolated let keeper: SpawnedProcess
    private var commands = 0
    private var templates: [String: Task<String, any Error>] = [:]

    private static let sharedStart = Task { try await make(fsync: false) }

    /// The cluster that all tests of this process share, started by the first who asks. It does not flush to disk;
    /// do not stop it: a test that does such things takes one of its own with ``make(fsync:settings:)``.
    /// - Throws: ``ClusterFailed``.
    public static func shared() async throws -> PrivateCluster { try await sharedStart.value }

    /// Starts a cluster for one test. It ends with ``destroy()``, or when the object is released: hold it.
    /// - Parameters:
    ///   - fsync: whether a commit reaches the disk, as in production.
    ///   - settings: more lines of `postgresql.conf`; they win over the ones made here. Values are quoted for you.
    /// - Throws: ``ClusterFailed``.
    public static func make(fsync: Bool = true, settings: [String: String] = [:]) async throws -> PrivateCluster {
        let binaries = try await PostgresBinaries.find()
        let configuration = configuration(fsync: fsync, settings: settings)
        // Somebody else may take a free port before the server does: then the next one.
        var attempts = 0
        while true {
            do {
                return try await PrivateCluster(binaries: binaries, configuration: configuration)
            } catch let failure as ClusterFailed where failure.description.contains("could not bind") && attempts < 5 {
                attempts += 1
            }
        }
    }

    private init(binaries: PostgresBinaries, configuration: String) async throws {
        self.binaries = binaries
        var generator = SystemRandomNumberGenerator()
        password = String(generator.next(), radix: 36) + String(generator.next(), radix: 36)
        port = try freePort()
        let shell = [
            "/bin/sh", "-c", KeeperScript.text, "keeper", binaries.directory, configuration, "\(port)", superuser,
        ]
        let command = try PostgresBinaries.asServerUser(shell)
        keeper = try SpawnedProcess(
            command[0], Array(command.dropFirst()), environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"])
        guard keeper.write(line: "0 init \(password)") else { throw ClusterFailed("the keeper has not started") }
        socketDirectory = try await Self.answer(to: 0, of: keeper)
        try await start()
    }

    /// The URL of a database over the unix socket, without a password check. A loaded machine gets a minute to connect.
    public nonisolated func url(database: String) -> String {
        "postgresql://\(superuser):\(password)@/\(database)?host=\(socketDirectory)&port=\(port)&connect_timeout=60"
    }

    /// The URL of a database over TCP, with SCRAM-SHA-256; through a ``TCPProxy`` with that one's port.
    public nonisolated func tcpURL(database: String, port: Int? = nil) -> String {
        "postgresql://\(superuser):\(password)@127.0.0.1:\(port ?? self.port)/\(database)"
    }

    /// Starts a stopped or killed server and waits until it takes connections.
    /// - Throws: ``ClusterFailed``, with the end of the server's log.
    public func start() async throws { try await order("start") }

    /// Stops the server and waits until it is gone. Does nothing to a stopped one.
    public func stop(_ mode: StopMode = .fast) async throws { try await order("stop \(mode.rawValue)") }

    /// SIGKILLs the postmaster and waits until it is gone, as if the machine's memory had run out. Its backends
    /// notice by themselves; ``start()`` waits for that.
    public func kill() async throws { try await order("stop kill") }

    /// Stops the server and removes its folder, and waits until that is done. No other call works afterwards.
    public func destroy() async throws {
        keeper.closeInput()
        _ = try await keeper.ended.value()
    }

    /// Runs SQL with `psql` as the superuser.
    /// - Returns: its rows as unaligned text, columns separated by `|`.
    /// - Throws: ``ClusterFailed`` with what the server says.
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

    private static func configuration(fsync: Bool, settings: [String: String]) -> String {
        let ours = [
            "listen_addresses": "127.0.0.1", "max_connections": "300", "shared_buffers": "128MB",
            "fsync": fsync ? "on" : "off", "full_page_writes": fsync ? "on" : "off", "timezone": "UTC",
            "log_line_prefix": "%m [%p] %d ",
        ]
        return ours.merging(settings) { _, asked in asked }.sorted { $0.key < $1.key }
            .map { "\($0.key) = '\($0.value.replacingOccurrences(of: "'", with: "''"))'" }
            .joined(separator: "\n")
    }
}

extension PrivateCluster {
    /// Makes an empty database with a random name.
    /// - Parameter template: a database that nobody is connected to; see ``template(_:prepare:)``.
    /// - Returns: its URL over the unix socket.
    public func makeDatabase(template: String = "template0") async throws -> String {
        url(database: try await makeNamedDatabase(template: template))
    }

    /// As ``makeDatabase(template:)``, but answers the name, for ``tcpURL(database:port:)`` and ``sql(_:database:)``.
    public func makeNamedDatabase(template: String = "template0") async throws -> String {
        var generator = SystemRandomNumberGenerator()
        let name = "test_" + String(generator.next(), radix: 36) + String(generator.next(), radix: 36)
        try await sql("CREATE DATABASE \(name) TEMPLATE \(template)")
        return name
    }

    /// A template that is prepared once per cluster, however many tests ask for it: migrated schemas, for example.
    /// - Parameters:
    ///   - key: what it is; the same key gives the same template.
    ///   - prepare: gets the URL of the empty database. Connections that it leaves open are cut.
    /// - Returns: the name to give to ``makeDatabase(template:)``.
    public func template(
        _ key: String, prepare: @escaping @Sendable (_ url: String) async throws -> Void
    ) async throws -> String {
        // Shared by all who ask, so it must not be cancelled with the first of them: hence a task of its own.
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
