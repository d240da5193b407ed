import HTTPKit
import Hummingbird
import Identity
import Postgres
import Records
import Timeline

/// The list of registered devices, as counted from the log.
struct DeviceRoutes: Sendable {
    let store: OpsStore

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
            return Response(try await asking { try await store.devices(query) })
        }
    }
}

/// The query of `/v1/devices`.
struct DeviceQuery {
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
