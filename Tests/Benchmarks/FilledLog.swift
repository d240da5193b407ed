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
    /// The devices of the log.
    struct Crowd: Sendable {
        var devices = 10_000
        /// Whether the log begins with the registration of each device and the installation of an app, and whether every
        /// eighth event is a notification, with its result behind it.
        var isRegistered = false
    }

    static let partitions = 16
    static let days = 4

    let cluster: PrivateCluster
    let name: String
    let url: String
    /// The address of `ops`.
    let address: String
    let ops: ChildProcess
    let pool: ConnectionPool

    /// - Parameter events: the least number of events; each partition has the same number.
    static func make(events: Int, crowd: Crowd = Crowd()) async throws -> FilledLog {
        let cluster = try await PrivateCluster.make(
            settings: ["shared_buffers": "1GB", "max_wal_size": "8GB", "maintenance_work_mem": "256MB"])
        let name = try await cluster.makeNamedDatabase()
        let url = cluster.url(database: name)
        for service in ["lifecycle", "ops"] { try await ChildProcess.migrate(service, url) }
        let pool = ConnectionPool(try ConnectionOptions(url: url), size: 4, logger: quiet)
        try await fill(pool, each: (events + partitions - 1) / partitions, crowd)
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
    private static func fill(_ pool: ConnectionPool, each: Int, _ crowd: Crowd) async throws {
        let keys = (0..<crowd.devices).map { AggregateKey.device("device-\($0)") }
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
            _ = try await pool.execute(Query(insert, [.int4(Int32(partition)), .int(each), .bool(crowd.isRegistered)]))
            Report.progress("\((partition + 1) * each) events are in the log")
        }
        for text in ["VACUUM ANALYZE bus.events", "DROP TABLE public.crowd", "CHECKPOINT"] {
            _ = try await pool.execute(Query(Statement(text)))
        }
    }

    /// The events of one partition. Parameters: the partition, the number of events, and whether the devices are
    /// registered. `kind` is -1 for the first events of a device, and -2 for those of notifications.
    private static let insert = Statement(
        """
        WITH head AS (UPDATE bus.partitions SET head = $2 WHERE partition = $1),
        crowd AS (SELECT count(*)::int AS size FROM public.crowd WHERE partition = $1),
        event AS (
            SELECT o, k.kind, CASE k.kind WHEN -1 THEN (o + 1) / 2
                    WHEN -2 THEN abs(hashint8(o / 8 * 17 + $1)) % c.size + 1
                    ELSE abs(hashint8(o * 17 + $1)) % c.size + 1 END AS n,
                extract(epoch FROM current_date - \(days - 1)) * 1000
                    + o * (extract(epoch FROM now() - (current_date - \(days - 1))::timestamptz) * 1000 / ($2 + 1))
                    - CASE WHEN k.kind = -2 AND o % 8 = 0 AND o / 8 % 33 = 0 THEN 60000 ELSE 0 END AS ms
            FROM crowd AS c, generate_series(1, $2::int8) AS o, LATERAL (
                SELECT CASE WHEN $3 AND o <= 2 * c.size THEN -1 WHEN $3 AND o % 8 < 2 THEN -2
                    ELSE abs(hashint8(o * 31 + $1)) % 1000 END AS kind) AS k)
        INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, app, time, correlationid,
            traceparent, data, appended_at)
        SELECT $1, o, to_timestamp(ms / 1000)::date,
            (lpad(to_hex(ms::int8), 12, '0') || '7' || substr(md5(o::text), 1, 3) || '8' || substr(md5($1 || 'x' || o), 1, 15))::uuid,
            split_part(t.type, '.', 1), t.type, 1, c.key, a.app, ms::int8, gen_random_uuid(),
            '00-' || md5(o::text) || '-00000000000000a1-01', t.data::json, to_timestamp(ms / 1000)
        FROM event JOIN public.crowd AS c ON c.partition = $1 AND c.n = event.n
        CROSS JOIN LATERAL (
            SELECT CASE WHEN kind = -1 AND o % 2 = 1 THEN NULL WHEN kind = -1 THEN 'com.example.app' || event.n % 3
                WHEN kind = -2 THEN 'com.example.app' || o / 8 % 3 ELSE 'com.example.app' || o % 3 END AS app) AS a
        CROSS JOIN LATERAL (
            SELECT CASE WHEN kind = -1 AND o % 2 = 1 THEN 'lifecycle.device.registered'
                    WHEN kind = -1 THEN 'lifecycle.app.installed'
                    WHEN kind = -2 AND o % 8 = 0 THEN 'push.notification.received'
                    WHEN kind = -2 AND o / 8 % 20 = 0 THEN 'push.notification.discarded'
                    WHEN kind = -2 AND o / 8 % 20 = 1 THEN 'push.notification.held'
                    WHEN kind = -2 THEN 'push.notification.presented'
                    WHEN kind < 160 THEN 'lifecycle.app.woken' WHEN kind < 320 THEN 'lifecycle.wake.completed'
                    WHEN kind < 470 THEN 'lifecycle.app.suspended' WHEN kind < 600 THEN 'push.notification.received'
                    WHEN kind < 720 THEN 'push.notification.delivered' WHEN kind < 820 THEN 'push.wake.requested'
                    WHEN kind < 900 THEN 'fetch.refresh.due' WHEN kind < 960 THEN 'transfer.progress.made'
                    WHEN kind < 990 THEN 'lifecycle.wake.refused' WHEN kind < 999 THEN 'lifecycle.app.terminated'
                    WHEN o % 64 > 0 THEN 'lifecycle.conditions.changed' ELSE 'transfer.task.completed' END AS type,
                CASE WHEN kind = -1 AND o % 2 = 1 THEN json_build_object('registration', json_build_object(
                        'profile', 'ios' || 12 + event.n % 7, 'fleet', 'fleet-' || event.n % 10))
                    WHEN kind = -1 THEN '{}'
                    WHEN kind = -2 AND o % 8 = 0 THEN json_build_object(
                        'notification', md5($1 || 'n' || o / 8), 'silent', o / 8 % 2 = 0, 'forUser', o / 8 % 2 = 1)
                    WHEN kind = -2 THEN json_build_object('notification', md5($1 || 'n' || o / 8), 'status', CASE o / 8 % 20
                        WHEN 0 THEN 'Discarded – Expired' WHEN 1 THEN 'Held – Silent Budget' ELSE 'Delivered' END)
                    ELSE json_build_object('app', a.app, 'reason', CASE WHEN kind % 2 = 0 THEN 'push' ELSE 'fetch' END,
                        'refusal', 'lowPowerMode', 'status', 'Delivered', 'bytesWritten', 4096, 'wake', gen_random_uuid(),
                        'state', CASE WHEN kind < 160 THEN 'background' ELSE 'suspended' END) END AS data) AS t
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
