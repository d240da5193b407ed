import EventLog
import Postgres
import Records
import Timeline

// The registered devices and their apps.
extension OpsStore {
    // One scan per partition, because the index begins with it. Names compare byte by byte, as in the index.
    private static let devices = Statement(
        """
        SELECT d.key, d.profile, d.fleet, d.powered, d.registered_at
        FROM bus.partitions AS p CROSS JOIN LATERAL (
            SELECT * FROM ops.known_devices AS d
            WHERE d.partition = p.partition AND d.key > $1 AND d.key >= $2
                -- '~' sorts after every character of a name.
                AND d.key < $2 || '~' AND ($3::text IS NULL OR d.fleet = $3)
            ORDER BY d.key LIMIT $4) AS d
        ORDER BY d.key LIMIT $4
        """)
    private static let apps = Statement(
        """
        SELECT a.key, a.app, a.state, a.since FROM bus.partitions AS p
        JOIN ops.known_apps AS a ON a.partition = p.partition AND a.key = ANY($1)
        ORDER BY a.key COLLATE "C", a.app COLLATE "C"
        """)

    /// Returns a page of devices by name.
    func devices(_ query: DeviceQuery) async throws(PostgresError) -> Page<KnownDevice> {
        let rows = try await pool.execute(
            Self.devices, .text(query.after), .text("device:" + query.prefix), .text(query.fleet),
            .int(query.limit + 1)
        ).decode((String, String, String?, Bool, Instant).self)
        var list = Page(
            rows.prefix(query.limit).map { key, profile, fleet, powered, registeredAt in
                KnownDevice(
                    apps: [], device: String(key.dropFirst("device:".count)), fleet: fleet, powered: powered,
                    profile: profile, registeredAt: registeredAt)
            })
        if rows.count > query.limit { list.next = list.items.last?.device }
        // PostgreSQL distinguishes two Unicode forms of a key that are equal strings in Swift.
        let indexes = Dictionary(
            list.items.indices.map { ("device:" + list.items[$0].device, $0) }, uniquingKeysWith: { first, _ in first })
        let apps = try await pool.execute(Self.apps, .texts(indexes.keys.sorted()))
        for (key, name, state, since) in try apps.decode((String, String, String, Instant).self) {
            guard let index = indexes[key] else { continue }
            list.items[index].apps.append(KnownDevice.App(app: name, since: since, state: state))
        }
        return list
    }
}
