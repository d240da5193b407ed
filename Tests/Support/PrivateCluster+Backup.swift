import Foundation

// Base backups, and the archive of the write-ahead log.
extension PrivateCluster {
    /// The settings of a cluster that archives its write-ahead log beside its data folder.
    public static let archiving = [
        "archive_mode": "on", "archive_command": "mkdir -p ../archive && cp %p ../archive/%f",
    ]

    nonisolated var backupDirectory: String { "\(socketDirectory)/backup" }

    /// Makes the base backup of the running server. It is removed with the cluster.
    /// - Throws: ``ClusterFailed``.
    public nonisolated func makeBaseBackup() async throws {
        let command = try PostgresBinaries.asServerUser([
            "\(binaries.directory)/pg_basebackup", "-D", backupDirectory, "-d", url(database: "postgres"), "-X", "none",
            "-c", "fast", "--no-sync",
        ])
        let result = try await SpawnedProcess.run(
            command[0], Array(command.dropFirst()), environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"])
        guard result.status == .exited(0) else { throw ClusterFailed("pg_basebackup: \(result.errors)") }
    }

    /// Starts a new server from the base backup and the archive of a cluster, and waits for the end of its recovery.
    ///
    /// - Parameters:
    ///   - original: a stopped cluster with a base backup.
    ///   - point: the name of a restore point after the base backup.
    ///   - settings: the settings of the original cluster.
    ///   - workers: the restored workers of a coordinator of Citus.
    /// - Throws: ``ClusterFailed``.
    public static func restored(
        from original: PrivateCluster, to point: String, settings: [String: String], workers: [PrivateCluster] = []
    ) async throws -> PrivateCluster {
        let touch = try PostgresBinaries.asServerUser(["/usr/bin/touch", original.backupDirectory + "/recovery.signal"])
        let touched = try await SpawnedProcess.run(touch[0], Array(touch.dropFirst()), environment: [:])
        guard touched.status == .exited(0) else { throw ClusterFailed("touch: \(touched.errors)") }
        let recovery = [
            "restore_command": "cp \(original.socketDirectory)/archive/%f %p", "recovery_target_name": point,
            "recovery_target_action": "promote",
        ]
        let cluster = try await PrivateCluster(
            binaries: original.binaries,
            configuration: configuration(fsync: true, settings: settings.merging(recovery) { $1 }),
            .backup(of: original), workers: workers)
        try await eventually(within: 60, describe: "the recovery to \(point) ends") {
            try await cluster.sql("SELECT pg_is_in_recovery()") == "f"
        }
        return cluster
    }
}
