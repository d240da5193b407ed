import Contracts
import EventLog
import Foundation
import Logging
import Postgres
import Runtime
import TestSupport

/// A log of many events over four days, with the schemas of `lifecycle` and `ops`, and a running `ops`.
///
/// The event types have about the shares of a real fleet.
final class FilledLog: Sendable {
    static let partitions = 16
    static let devices = 10_000
    static let days = 4

    let cluster: PrivateCluster
    let name: String
    let url: String
    /// The address of `ops`.
    let address: String
    let ops: ChildProcess
    let pool: ConnectionPool

    /// - Parameter events: the least number of events; each partition has the same number.
    static func make(events: Int) async throws -> FilledLog {
        let cluster = try await PrivateCluster.make(
            settings: ["shared_buffers": "1GB", "max_wal_size": "8GB", "maintenance_work_mem": "256MB"])
        let name = try await cluster.makeNamedDatabase()
        let url = cluster.url(database: name)
        for service in ["lifecycle", "ops"] { try await ChildProcess.migrate(service, url) }
        let pool = ConnectionPool(try ConnectionOptions(url: url), size: 4, logger: quiet)
        try await fill(pool, each: (events + partitions - 1) / partitions)
        let (ops, port) = try await ChildProcess.serve(
            "ops", url, benchmarkSettings + ["--connections-per-address", "0"])
        return FilledLog(cluster, name, url, "http://127.0.0.1:\(port)", ops, pool)
    }

    private init(
        _ cluster: PrivateCluster, _ name: String, _ url: String, _ address: String, _ ops: ChildProcess,
        _ pool: ConnectionPool
    ) {
        (self.cluster, self.name, self.url) = (cluster, name, url)
        (self.address, self.ops, self.pool) = (address, ops, pool)
    }

    private static var quiet: Logger {
        var logger = Logger(label: "benchmarks")
        logger.logLevel = .error
        return logger
    }

    func stop() async throws {
        ops.signal(SIGTERM)
        _ = try await ops.exit(within: 60)
        await pool.close()
        try await cluster.destroy()
    }

    /// Creates each day's table as the log does, with evenly spaced events.
    private static func fill(_ pool: ConnectionPool, each: Int) async throws {
        let keys = (0..<devices).map { AggregateKey.device("device-\($0)") }
        _ = try await pool.execute([
            Query(
                Statement(
                    """
                    CREATE TABLE public.crowd AS
                    SELECT partition, (row_number() OVER (PARTITION BY partition))::int AS n, key
                    FROM unnest($1::text[], $2::int4[]) AS c (key, partition)
                    """),
                [.texts(keys.map(\.description)), .int4s(keys.map { Int32($0.partition(of: partitions)) })]),
            Query(Statement("CREATE UNIQUE INDEX ON public.crowd (partition, n)")),
        ])
        for day in 1..<days {
            let table = "'events_' || to_char(current_date - \(day), 'YYYYMMDD')"
            _ = try await pool.execute(
                Query(
                    Statement(
                        """
                        DO $$ BEGIN IF to_regclass('bus.' || \(table)) IS NULL THEN
                            EXECUTE format('CREATE TABLE bus.%I PARTITION OF bus.events FOR VALUES FROM (%L) TO (%L)',
                                \(table), current_date - \(day), current_date - \(day) + 1);
                        END IF; END $$
                        """)))
        }
        for partition in 0..<partitions {
            _ = try await pool.execute(Query(insert, [.int4(Int32(partition)), .int(each)]))
            Report.progress("\((partition + 1) * each) events are in the log")
        }
        for text in ["VACUUM ANALYZE bus.events", "DROP TABLE public.crowd", "CHECKPOINT"] {
            _ = try await pool.execute(Query(Statement(text)))
        }
    }

    /// The events of one partition. Parameters: the partition and the number of events.
    private static let insert = Statement(
        """
        WITH head AS (UPDATE bus.partitions SET head = $2 WHERE partition = $1),
        crowd AS (SELECT count(*)::int AS size FROM public.crowd WHERE partition = $1),
        event AS (
            SELECT o, abs(hashint8(o * 31 + $1)) % 1000 AS kind, abs(hashint8(o * 17 + $1)) % c.size + 1 AS n,
                extract(epoch FROM current_date - \(days - 1)) * 1000
                    + o * (extract(epoch FROM now() - (current_date - \(days - 1))::timestamptz) * 1000 / ($2 + 1)) AS ms
            FROM crowd AS c, generate_series(1, $2::int8) AS o)
        INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, app, time, correlationid,
            traceparent, data, appended_at)
        SELECT $1, o, to_timestamp(ms / 1000)::date,
            (lpad(to_hex(ms::int8), 12, '0') || '7' || substr(md5(o::text), 1, 3) || '8' || substr(md5($1 || 'x' || o), 1, 15))::uuid,
            split_part(t.type, '.', 1), t.type, 1, c.key, 'com.example.app' || o % 3, ms::int8, gen_random_uuid(),
            '00-' || md5(o::text) || '-00000000000000a1-01', t.data::json, to_timestamp(ms / 1000)
        FROM event JOIN public.crowd AS c ON c.partition = $1 AND c.n = event.n
        CROSS JOIN LATERAL (
            SELECT CASE
                WHEN kind < 160 THEN 'lifecycle.app.woken' WHEN kind < 320 THEN 'lifecycle.wake.completed'
                WHEN kind < 470 THEN 'lifecycle.app.suspended' WHEN kind < 600 THEN 'push.notification.received'
                WHEN kind < 720 THEN 'push.notification.delivered' WHEN kind < 820 THEN 'push.wake.requested'
                WHEN kind < 900 THEN 'fetch.refresh.due' WHEN kind < 960 THEN 'transfer.progress.made'
                WHEN kind < 990 THEN 'lifecycle.wake.refused' WHEN kind < 999 THEN 'lifecycle.app.terminated'
                WHEN o % 64 > 0 THEN 'lifecycle.conditions.changed' ELSE 'transfer.task.completed' END AS type,
                json_build_object('app', 'com.example.app' || o % 3, 'reason', CASE WHEN kind % 2 = 0 THEN 'push' ELSE 'fetch' END,
                    'refusal', 'lowPowerMode', 'status', 'Delivered', 'bytesWritten', 4096,
                    'wake', gen_random_uuid(), 'state', CASE WHEN kind < 160 THEN 'background' ELSE 'suspended' END) AS data) AS t
        """)

    /// The number of events that `ops` has not counted yet.
    func uncounted() async throws -> Int {
        try await pool.execute(
            Query(
                Statement(
                    """
                    SELECT sum(p.head - r.log_offset)::int8 FROM bus.readers AS r JOIN bus.partitions AS p USING (partition)
                    WHERE r.reader = 'ops'
                    """), rowsExpected: 1))[0].decode(Int.self, at: 0)
    }
}
