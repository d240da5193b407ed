import FleetService
import Foundation
import Records
import TestSupport
import Timeline

/// The real `lifecycle` as a process, over a database of its own; killed and started again on the same port.
final class LifecycleBench: Sendable {
    let cluster: PrivateCluster
    let url: String
    let port: Int

    private init(_ cluster: PrivateCluster, _ url: String, _ port: Int) {
        self.cluster = cluster
        self.url = url
        self.port = port
    }

    static func make() async throws -> LifecycleBench {
        let cluster = try await PrivateCluster.make(fsync: false)
        let url = try await cluster.makeDatabase()
        let bench = LifecycleBench(cluster, url, try freePort())
        let migration = try ChildProcess.start(
            ChildProcess.product("lifecycle"), ["migrate", "--migration-database-url", url])
        guard try await migration.exit() == .exited(0) else { throw FleetError(migration.errors.tail()) }
        return bench
    }

    /// Starts the service and waits until it is ready.
    func start() async throws -> ChildProcess {
        let process = try ChildProcess.start(
            ChildProcess.product("lifecycle"),
            ["serve", "--database-url", url, "--port", "\(port)", "--insecure-dev", "--log-level", "info"])
        try await process.waitForLine(containing: "is ready", within: 30)
        return process
    }

    var address: String { "http://127.0.0.1:\(port)" }

    /// A fleet that lives fast, from eight in the morning on.
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
        endpoints.operatorKey = "nobody asks"
        return try FleetRun(options, endpoints, now: RealClock().now, run: UUID().uuidString)
    }
}
