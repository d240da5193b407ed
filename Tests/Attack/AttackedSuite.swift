import Crypto
import Foundation
import Glibc
import TestSupport

/// The suite as processes over a PostgreSQL server of its own, on loopback, several of each service.
///
/// All processes end with it, and with the process that has started it.
final class AttackedSuite: Sendable {
    static let operatorKey = "attack-with-this-key"

    let cluster: PrivateCluster
    let database: String
    let replicas: [Replica]
    /// A PEM file with the authority of the provider endpoint's certificate.
    var authority: String { folder.appendingPathComponent("apns/ca.pem").path }
    private let folder: URL

    /// Migrates a new database and starts all services.
    ///
    /// - Parameters:
    ///   - replicas: processes of each service but `ops`.
    ///   - isProxied: whether every second process has a proxy between it and its clients.
    static func start(replicas: Int, isProxied: Bool) async throws -> AttackedSuite {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("attack-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // Otherwise recovery reads every file of the cluster after each immediate stop.
        let cluster = try await PrivateCluster.make(settings: ["recovery_init_sync_method": "syncfs"])
        do {
            let suite = try await AttackedSuite(cluster, folder, replicas, isProxied)
            for service in AttackedService.allCases { try await suite.migrate(service) }
            // The first process of each service creates the shared keys and certificates.
            for wave in [suite.replicas.filter { $0.number == 1 }, suite.replicas.filter { $0.number > 1 }] {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for replica in wave { group.addTask { try await replica.start() } }
                    try await group.waitForAll()
                }
            }
            return suite
        } catch {
            try? FileManager.default.removeItem(at: folder)
            try? await cluster.destroy()
            throw error
        }
    }

    private init(_ cluster: PrivateCluster, _ folder: URL, _ count: Int, _ isProxied: Bool) async throws {
        self.cluster = cluster
        self.folder = folder
        database = try await cluster.makeNamedDatabase()
        var ports = Ports()
        var first: [AttackedService: Int] = [:]
        for service in AttackedService.allCases { first[service] = try ports.next() }
        let hash = SHA256.hash(data: Data(Self.operatorKey.utf8)).map { String(format: "%02x", $0) }.joined()
        try Self.write("attack read,operate \(hash)", folder, "operator-keys")
        for service in AttackedService.allCases { try Self.write("secret-of-\(service)", folder, "\(service)") }
        var replicas: [Replica] = []
        for service in AttackedService.allCases {
            for number in 1...(service == .ops ? 1 : count) {
                let port = try number == 1 ? first[service] ?? 0 : ports.next()
                let apns = try service == .push ? ports.next() : nil
                let proxy = try await TCPProxy.start(port: cluster.port)
                let front = isProxied && number % 2 == 0 ? try await TCPProxy.start(port: port) : nil
                var settings = Self.settings(service, folder, database, databasePort: proxy.port)
                settings["PORT"] = "\(port)"
                if let apns { settings["APNS_PORT"] = "\(apns)" }
                for (other, port) in first where service == .ops && other != .ops {
                    settings["\(other.rawValue.uppercased())_URL"] = "http://127.0.0.1:\(port)"
                }
                // Transfer workers of any replica fetch from the first replica directly, without a proxy.
                settings["ALLOWED_ORIGINS"] = "http://127.0.0.1:\(first[.transfer] ?? 0)"
                replicas.append(
                    Replica(
                        service, number, port: port, apnsPort: apns, database: proxy, front: front,
                        settings: settings))
            }
        }
        self.replicas = replicas
    }

    func replicas(of service: AttackedService) -> [Replica] { replicas.filter { $0.service == service } }

    /// Shuts all processes down as a deployment does, and removes everything.
    ///
    /// - Returns: the exit status of each running process.
    @discardableResult
    func stop() async throws -> [(name: String, status: ExitStatus)] {
        var ends: [(name: String, status: ExitStatus)] = []
        await withTaskGroup(of: (String, ExitStatus)?.self) { group in
            for replica in replicas {
                group.addTask {
                    replica.signal(SIGCONT)
                    if let status = try? await replica.end(SIGTERM, within: 30) { return (replica.name, status) }
                    return try? await replica.end(SIGKILL).map { (replica.name, $0) }
                }
            }
            for await end in group { if let end { ends.append(end) } }
        }
        try? FileManager.default.removeItem(at: folder)
        try await cluster.destroy()
        return ends.sorted { $0.name < $1.name }
    }

    private func migrate(_ service: AttackedService) async throws {
        var settings = Self.settings(service, folder, database, databasePort: cluster.port)
        settings["MIGRATION_DATABASE_URL"] = cluster.url(database: database)
        settings["ROLE_PASSWORD_FILE"] = folder.appendingPathComponent("\(service)").path
        try await ChildProcess.migrate("\(service)", settings: settings)
    }

    private static func settings(
        _ service: AttackedService, _ folder: URL, _ database: String, databasePort: Int
    ) -> [String: String] {
        func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
        return [
            "DATABASE_URL": "postgresql://dormouse_\(service)@127.0.0.1:\(databasePort)/\(database)",
            "DATABASE_PASSWORD_FILE": path("\(service)"), "OPERATOR_KEY_FILE": path("operator-keys"),
            "DATA_DIRECTORY": path("content"), "APNS_CERTIFICATES": path("apns"), "APNS_PORT": "0",
            "LOG_LEVEL": "warning", "LOG_FORMAT": "json",
        ]
    }

    private static func write(_ text: String, _ folder: URL, _ name: String) throws {
        try text.write(to: folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
    }
}

/// Free ports, each handed out once.
private struct Ports {
    private var taken: Set<Int> = []

    mutating func next() throws -> Int {
        while true {
            let port = try freePort()
            if taken.insert(port).inserted { return port }
        }
    }
}
