import Crypto
import FleetService
import Foundation
import Records
import TestSupport
import Timeline

/// The real `lifecycle` as a process with its own database. It can be killed and restarted on the same port.
final class LifecycleFixture: Sendable {
    let cluster: PrivateCluster
    let url: String
    let port: Int

    static let operatorKey = "correct-horse"
    private let keys: URL

    private init(_ cluster: PrivateCluster, _ url: String, _ port: Int) throws {
        self.cluster = cluster
        self.url = url
        self.port = port
        keys = FileManager.default.temporaryDirectory.appendingPathComponent("fleet-keys-\(port)")
        let hash = SHA256.hash(data: Array(Self.operatorKey.utf8))
        let digits = hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        try "deploy read,operate \(digits)\n".write(to: keys, atomically: true, encoding: .utf8)
    }

    deinit { try? FileManager.default.removeItem(at: keys) }

    static func make() async throws -> LifecycleFixture {
        let cluster = try await PrivateCluster.make(fsync: false)
        let url = try await cluster.makeDatabase()
        let fixture = try LifecycleFixture(cluster, url, try freePort())
        try await ChildProcess.migrate("lifecycle", url)
        return fixture
    }

    /// Starts the service and waits until it is ready.
    func start() async throws -> ChildProcess {
        try await ChildProcess.serve("lifecycle", url, port: port, ["--operator-key-file", keys.path]).process
    }

    var address: String { "http://127.0.0.1:\(port)" }

    /// Creates a fast fleet that starts at 08:00.
    func fleet(devices: Int, seed: UInt64 = 7) throws -> FleetRun {
        var options = FleetOptions()
        options.devices = devices
        options.duration = .minutes(5)
        options.rate = 600
        options.seed = seed
        options.fleet = "test"
        options.beginsAt = 480
        var endpoints = Endpoints()
        try endpoints.set(.lifecycle, address)
        endpoints.operatorKey = Self.operatorKey
        return try FleetRun(options, endpoints, now: RealClock().now, run: UUID().uuidString)
    }
}
