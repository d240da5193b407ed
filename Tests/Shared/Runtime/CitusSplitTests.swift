import Contracts
import EventLog
import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Runtime

/// A shard that is split while a replica runs: its partitions do not commit together any more.
@Suite(
    .tags(.database, .processes), .timeLimit(.minutes(10)),
    .enabled("skipped: Citus is not installed") { try await PrivateCluster.hasCitus() })
struct CitusSplitTests {
    @Test func `a replica reads the shards again after one was split, and loses nothing`() async throws {
        let cluster = try await PrivateCluster.makeCitus()
        // More partitions than shards.
        let fixture = try await RuntimeFixture(cluster, partitions: 8)
        let load = try await CounterProcess(fixture, "load", "3", "50")
        let queries = LogQueries(pool: fixture.pool, partitions: 8, placement: fixture.placement)
        try await fixture.running { runtime in
            try await load.acknowledges(50)
            // The bound between the hash values of two partitions of one shard.
            try await cluster.sql(
                """
                WITH placed AS (
                    SELECT get_shard_id_for_distribution_column('bus.partitions', n) AS shard, worker_hash(n) AS hash
                    FROM generate_series(0, 7) AS n),
                shared AS (SELECT shard, min(hash) AS bound FROM placed GROUP BY shard HAVING count(*) > 1 LIMIT 1)
                SELECT citus_split_shard_by_split_points(
                    shard, ARRAY[bound::text], ARRAY[n.nodeid, n.nodeid], 'block_writes')
                FROM shared JOIN pg_dist_placement AS p ON p.shardid = shard JOIN pg_dist_node AS n USING (groupid)
                """, database: fixture.database)
            let placement = try await LogPlacement.read(fixture.pool)
            #expect(placement != fixture.placement)
            let page = try await queries.page(EventFilter(), .oldest, limit: 1000)
            #expect(Set(page.events.map(\.partition)).count == 8, "a page has events of the old and the new shards")
            try await load.acknowledges(50)
            try await eventually(within: 60, describe: "the replica knows the new shards") {
                runtime.engine.placement.withLock(\.self) == placement
            }
            try await load.acknowledges(50)
        }
        try await load.stop()
        try await fixture.audit(acknowledged: load.acknowledged)
        await fixture.pool.close()
        try await cluster.destroy()
    }
}
