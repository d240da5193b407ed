import Contracts
import EventLog
import Foundation
import Postgres
import TestSupport
import Testing

/// The restore of a log on Citus: a coordinator with two workers.
@Suite(
    .tags(.database, .processes), .timeLimit(.minutes(5)),
    .enabled("skipped: Citus is not installed") { try await PrivateCluster.hasCitus() })
struct CitusRestoreTests {
    @Test func `all nodes return to a restore point, and the log goes on`() async throws {
        let cluster = try await PrivateCluster.makeCitus(settings: PrivateCluster.archiving)
        let fixture = try await RuntimeFixture(cluster)
        let load = try await CounterProcess(fixture, "load", "5", "50")
        try await load.acknowledges(50)
        let nodes = cluster.workers + [cluster]
        for node in nodes { try await node.makeBaseBackup() }
        try await load.acknowledges(50)
        let kept = load.acknowledged
        try await cluster.sql("SELECT citus_create_restore_point('common')", database: fixture.database)
        // Each of the five clients may have had a command under way.
        try await load.acknowledges(50)
        let lost = load.acknowledged.suffix(40)
        try await load.stop()
        await fixture.pool.close()
        // The archive gets the rest of the write-ahead log.
        for node in nodes { try await node.stop() }

        let restored = try await PrivateCluster.restoredCitus(from: cluster, to: "common", database: fixture.database)
        try await cluster.destroy()
        let after = try await RuntimeFixture(fixture, in: restored)
        try await after.audit(acknowledged: kept)
        let log = Set(try await after.log().map(\.correlation.uuidString))
        #expect(log.isDisjoint(with: lost), "commands after the restore point are gone")
        let connection = try await Connection.open(
            ConnectionOptions(url: restored.url(database: after.database)), logger: after.logger)
        let begun = try await LogIncarnation.begin("test", connection, by: AuditActor(.commandLine), of: "ops")
        await connection.close()
        #expect(!begun.isFirst)
        let next = try await CounterProcess(after, "load", "5", "50")
        try await next.acknowledges(50)
        try await next.stop()
        try await after.audit(acknowledged: kept + next.acknowledged)
        await after.pool.close()
        try await restored.destroy()
    }
}
