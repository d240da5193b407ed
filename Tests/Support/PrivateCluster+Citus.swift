import Foundation

// Clusters with the extension citus: a coordinator and its workers, each with its own folder and port.
extension PrivateCluster {
    static let citusSettings = [
        "shared_preload_libraries": "citus", "wal_level": "logical", "max_prepared_transactions": "100",
        // Citus starts a worker process for each database. The shared cluster has one for each test.
        "max_worker_processes": "64",
        // The nodes run as one user, and connect over unix sockets.
        "citus.node_conninfo": "sslmode=disable",
    ]
    private static let citusStart = Task { try await makeCitus(fsync: false) }

    /// Whether the servers of the tests have the extension citus.
    public static func hasCitus() async throws -> Bool {
        let tool = try await PostgresBinaries.find().directory + "/pg_config"
        guard FileManager.default.isExecutableFile(atPath: tool) else { return false }
        let folder = try await SpawnedProcess.run(tool, ["--sharedir"], environment: [:]).output
        return FileManager.default.fileExists(atPath: "\(folder)/extension/citus.control")
    }

    /// The coordinator that all tests of this process share, with two workers. It does not flush to disk.
    /// - Throws: ``ClusterFailed``.
    public static func sharedCitus() async throws -> PrivateCluster { try await citusStart.value }

    /// Starts a coordinator with workers for one test. Its new databases have the extension and know the workers.
    /// - Parameters:
    ///   - count: the number of workers, at least 1.
    ///   - settings: more settings for `postgresql.conf` of each node, unquoted.
    /// - Throws: ``ClusterFailed``.
    public static func makeCitus(
        workers count: Int = 2, fsync: Bool = true, settings: [String: String] = [:]
    ) async throws -> PrivateCluster {
        let settings = settings.merging(citusSettings) { $1 }
        var workers: [PrivateCluster] = []
        for _ in 0..<count { workers.append(try await make(fsync: fsync, settings: settings)) }
        return try await make(fsync: fsync, settings: settings, workers: workers)
    }

    /// Starts a synchronous standby of a worker.
    /// - Throws: ``ClusterFailed``.
    public func makeCitusStandby() async throws -> PrivateCluster {
        try await makeStandby(isSynchronous: true, settings: Self.citusSettings)
    }

    /// Starts a coordinator and its workers from the base backups of a cluster. Each node has a new address.
    ///
    /// - Parameters:
    ///   - original: a stopped coordinator with base backups of all nodes.
    ///   - point: the name of a restore point that `citus_create_restore_point` made after the base backups.
    ///   - database: the database that gets the new addresses.
    /// - Throws: ``ClusterFailed``.
    public static func restoredCitus(
        from original: PrivateCluster, to point: String, database: String
    ) async throws -> PrivateCluster {
        var workers: [PrivateCluster] = []
        for worker in original.workers {
            workers.append(try await restored(from: worker, to: point, settings: citusSettings))
        }
        let cluster = try await restored(from: original, to: point, settings: citusSettings, workers: workers)
        for node in workers + [cluster] {
            try await node.sql(
                "ALTER DATABASE \(database) SET citus.local_hostname = '\(node.socketDirectory)'", database: database)
        }
        for (old, new) in zip(original.workers + [original], workers + [cluster]) {
            try await cluster.sql(
                """
                SELECT citus_update_node(nodeid, '\(new.socketDirectory)', \(new.port), force => true)
                FROM pg_dist_node WHERE nodeport = \(old.port)
                """, database: database)
        }
        return cluster
    }

    /// Creates a database of the same name on the workers, and makes this server their coordinator in it.
    func addWorkers(to database: String) async throws {
        for worker in workers { try await worker.sql("CREATE DATABASE \(database) TEMPLATE template0") }
        for node in workers + [self] {
            // A node that moves shards connects to itself.
            try await node.sql(
                "ALTER DATABASE \(database) SET citus.local_hostname = '\(node.socketDirectory)'", database: database)
            try await node.sql("CREATE EXTENSION citus", database: database)
        }
        let nodes = workers.map { "SELECT citus_add_node('\($0.socketDirectory)', \($0.port));" }
        let adding = "SELECT citus_set_coordinator_host('\(socketDirectory)', \(port)); \(nodes.joined())"
        for attempt in 1...10 {
            do {
                try await sql(adding, database: database)
                return
            } catch let error as ClusterFailed where attempt < 10 && error.isConflict {
                // A new node gets all roles. Other tests change the same roles, and PostgreSQL lets only one succeed.
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }
}
