import HTTPKit
import Hummingbird
import Identity
import Postgres
import Records
import Timeline

/// The list of registered devices, as counted from the log.
struct DeviceRoutes: Sendable {
    let pool: ConnectionPool

    func add(to table: inout RouteTable) {
        table.add(
            .get, "/v1/devices",
            "Lists the registered devices by name, with the state of each app",
            access: .scope(.read),
            parameters: [
                .text("prefix", "Only devices whose names begin with this text"),
                .text("fleet", "Only devices of this fleet"),
                .number("limit", 1...1000, "The maximum number of devices; 100 by default"),
                .text("cursor", "The `next` of the previous page"),
            ],
            response: DeviceList.self, problems: [.invalidQuery] + Problem.ofLog, unknownQuery: .refusedByHandler
        ) { request, _ in
            let query = try DeviceQuery(request)
            return Response(try await asking { try await list(query) })
        }
    }

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

    private func list(_ query: DeviceQuery) async throws -> DeviceList {
        let rows = try await pool.execute(
            Query(
                Self.devices,
                [
                    .text(query.after), .text("device:" + query.prefix), .text(query.fleet), .int(query.limit + 1),
                ]))
        var list = DeviceList()
        list.items = try rows.prefix(query.limit).map { row throws(PostgresError) in
            var device = KnownDevice()
            device.device = String(try row.text(0).dropFirst("device:".count))
            device.profile = try row.text(1)
            device.fleet = try row.optionalText(2)
            device.powered = try row.bool(3)
            device.registeredAt = Instant(milliseconds: Int64(try row.int(4)))
            return device
        }
        if rows.count > query.limit, let last = list.items.last { list.next = last.device }
        // PostgreSQL distinguishes two Unicode forms of a key that are equal strings in Swift.
        let places = Dictionary(
            list.items.indices.map { ("device:" + list.items[$0].device, $0) }, uniquingKeysWith: { first, _ in first })
        for row in try await pool.execute(Query(Self.apps, [.texts(places.keys.sorted())])) {
            var app = KnownDevice.App()
            app.app = try row.text(1)
            app.state = try row.text(2)
            app.since = Instant(milliseconds: Int64(try row.int(3)))
            if let place = places[try row.text(0)] { list.items[place].apps.append(app) }
        }
        return list
    }
}

/// The query of `/v1/devices`.
private struct DeviceQuery {
    /// The page begins after this key.
    private(set) var after = ""
    private(set) var prefix = ""
    private(set) var fleet: String?
    private(set) var limit = 100

    init(_ request: Request) throws(Problem) {
        var faults: [FieldError] = []
        for (key, value) in request.uri.queryParameters {
            let (name, text) = (String(key), String(value))
            switch name {
            case "limit":
                if let limit = Int(text), (1...1000).contains(limit) {
                    self.limit = limit
                } else {
                    faults.append(FieldError(pointer: "/limit", detail: "must be from 1 to 1000"))
                }
            case "prefix", "fleet", "cursor":
                guard isIdentifier(text) else {
                    let detail = "must be an identifier: 1 to 128 of A-Z a-z 0-9 . _ : -"
                    faults.append(FieldError(pointer: "/\(name)", detail: detail))
                    continue
                }
                switch name {
                case "prefix": prefix = text
                case "fleet": fleet = text
                default: after = "device:" + text
                }
            default:
                let detail = "is not a parameter of this route; the parameters are prefix, fleet, limit, cursor"
                faults.append(FieldError(pointer: isIdentifier(name) ? "/\(name)" : "", detail: detail))
            }
        }
        guard faults.isEmpty else {
            throw .query(faults)
        }
    }
}

/// A page of devices.
struct DeviceList: Record {
    var items: [KnownDevice] = []
    var next: Nullable<String> = nil
}

/// A device, as of the last event that was counted.
struct KnownDevice: Record {
    /// An installed app.
    struct App: Record {
        var app = ""
        var since = Instant.epoch
        var state = ""
    }

    var apps: [App] = []
    var device = ""
    var fleet: Nullable<String> = nil
    var powered = true
    var profile = ""
    var registeredAt = Instant.epoch
}
