import Contracts
import EventLog
import Postgres
import Records
import Timeline

// The registered devices and their apps.
extension OpsStore {
    // One scan per partition, because the index begins with it. Names compare byte by byte, as in the index.
    private static let devices = Statement(
        """
        SELECT d.key, d.profile, d.fleet, d.powered, d.registered_at, d.locked, d.low_power_mode, d.charging, d.battery_level
        FROM \(partitions) AS p CROSS JOIN LATERAL (
            SELECT * FROM ops.known_devices AS d
            WHERE d.partition = p.partition AND d.key > $1 AND d.key >= $2
                -- '~' sorts after every character of a name.
                AND d.key < $2 || '~' AND ($3::text IS NULL OR d.fleet = $3)
                AND ($5::text IS NULL OR d.profile = $5) AND ($6::text IS NULL OR d.powered = ($6 = 'on'))
                AND ($8::bool IS NULL OR d.locked = $8) AND ($9::bool IS NULL OR d.low_power_mode = $9)
                AND ($10::bool IS NULL OR d.charging = $10)
                AND ($11::int8 IS NULL OR d.battery_level < $11 / 100.0::double precision)
                -- The apps of a partition are read once, so a rare state costs as much as a common one.
                AND ($7::text IS NULL OR d.key IN (
                    SELECT a.key FROM ops.known_apps AS a WHERE a.partition = p.partition AND a.state = $7))
            ORDER BY d.key LIMIT $4) AS d
        ORDER BY d.key LIMIT $4
        """)
    private static let apps = Statement(
        """
        SELECT a.key, a.app, a.state, a.since FROM \(partitions) AS p
        JOIN ops.known_apps AS a ON a.partition = p.partition AND a.key = ANY($1)
        ORDER BY a.key COLLATE "C", a.app COLLATE "C"
        """)

    private static let fleets = Statement(
        """
        SELECT count(*), fleet FROM ops.known_devices WHERE fleet COLLATE "C" > $1
        GROUP BY fleet ORDER BY fleet COLLATE "C" LIMIT $2
        """)

    /// Returns a page of fleets by name.
    func fleets(after name: String, limit: Int) async throws(PostgresError) -> Page<KnownFleet> {
        let rows = try await pool.execute(Self.fleets, .text(name), .int(limit + 1)).decode((Int, String).self)
        var page = Page(rows.prefix(limit).map { KnownFleet(devices: $0, fleet: $1) })
        if rows.count > limit { page.next = page.items.last?.fleet }
        return page
    }

    private static let members = Statement(
        """
        SELECT k.key, d.key IS NOT NULL, d.fleet = ANY($3) AND NOT d.built_in
        FROM unnest($1::int4[], $2::text[]) AS k (partition, key)
        LEFT JOIN ops.known_devices AS d ON d.partition = k.partition AND d.key = k.key
        """)
    // A new device may be missing in the table for a second: the log has its registration.
    private static let newMembers = Statement(
        """
        SELECT n.key FROM (
            SELECT k.key, (
                SELECT e.data -> 'registration' FROM bus.events AS e
                WHERE e.partition = p.partition AND e.key = k.key AND e.type = ANY($4)
                ORDER BY e.log_offset DESC LIMIT 1) AS registration
            FROM unnest($1::int4[], $2::text[]) AS k (partition, key)
            JOIN bus.partitions AS p ON p.partition = k.partition) AS n
        WHERE n.registration ->> 'fleet' = ANY($3) AND n.registration ->> 'simulate' IS NULL
        """)

    /// Returns those of some devices that belong to one of these fleets and are not built-in.
    func members(
        of fleets: [String], among devices: [AggregateKey], partitions: Int
    ) async throws(PostgresError) -> [AggregateKey] {
        func parameters(_ devices: [AggregateKey]) -> [Parameter] {
            [
                .int4s(devices.map { Int32($0.partition(of: partitions)) }), .texts(devices.map(\.description)),
                .texts(fleets),
            ]
        }
        let known = try await pool.execute(Self.members, parameters(devices)).decode((AggregateKey, Bool, Bool?).self)
        let members = known.filter { $0.2 == true }.map(\.0)
        let new = known.filter { !$0.1 }.map(\.0)
        guard !new.isEmpty else { return members }
        let registrations = [LifecycleEvent.DeviceRegistered.type, LifecycleEvent.DeviceUpdated.type]
        return members
            + (try await pool.execute(Self.newMembers, parameters(new) + [.texts(registrations)]).decode(
                AggregateKey.self))
    }

    /// Returns a page of devices by name.
    func devices(_ query: DeviceQuery) async throws(PostgresError) -> Page<KnownDevice> {
        let rows = try await pool.execute(
            Self.devices, .text(query.after), .text("device:" + query.prefix), .text(query.fleet),
            .int(query.limit + 1), .text(query.profile), .text(query.power?.rawValue), .text(query.state?.rawValue),
            .bool(query.locked), .bool(query.lowPowerMode), .bool(query.charging), .int(query.batteryBelow))
        var list = Page(
            try rows.prefix(query.limit).map { row throws(PostgresError) in
                let (key, profile, fleet, powered, registeredAt, locked, lowPowerMode, charging, batteryLevel) =
                    try row.decode((String, String, String?, Bool, Instant, Bool?, Bool?, Bool?, Double?).self)
                return KnownDevice(
                    apps: [], batteryLevel: batteryLevel, charging: charging,
                    device: String(key.dropFirst("device:".count)), fleet: fleet, locked: locked,
                    lowPowerMode: lowPowerMode, powered: powered, profile: profile, registeredAt: registeredAt)
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
