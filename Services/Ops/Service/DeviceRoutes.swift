import Contracts
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
            .get, "/v1/devices", "Lists the registered devices by name, with the state of each app", .scope(.read),
            .parameters(
                .text("prefix", "Only devices whose names begin with this text"),
                .text("fleet", "Only devices of this fleet"),
                .text("profile", "Only devices with this profile, for example `ios18`"),
                RouteParameter(
                    "state", in: .query, "Only devices with an app in this state", AppState.schema),
                RouteParameter(
                    "power", in: .query, "Only devices that are turned `on` or `off`", DevicePower.schema),
                .number("limit", 1...1000, "The maximum number of devices; 100 by default"),
                .text("cursor", "The `next` of the previous page")),
            .refuses([.invalidQuery] + Problem.ofLog), .unknownQuery(.refusedByHandler)
        ) { call in
            let query = try DeviceQuery(call)
            return Reply(try await asking { try await store.devices(query) })
        }
        table.add(
            .get, "/v1/fleets", "Lists the fleets by name, with the number of devices that are in each now",
            .scope(.read),
            .parameters(
                .number("limit", 1...1000, "The maximum number of fleets; 1000 by default"),
                .text("cursor", "The `next` of the previous page")),
            .refuses([.invalidQuery] + Problem.ofLog), .unknownQuery(.refusedByHandler)
        ) { call in
            var query = QueryReader(call)
            let after = query.identifier("cursor") ?? ""
            let limit = query.number("limit") ?? 1000
            try query.finish()
            return Reply(try await asking { try await store.fleets(after: after, limit: limit) })
        }
    }
}

/// The query of `/v1/devices`.
struct DeviceQuery {
    let after: String
    let prefix: String
    let fleet: String?
    let profile: String?
    let state: AppState?
    let power: DevicePower?
    let limit: Int

    init(_ call: Call) throws(Problem) {
        var query = QueryReader(call)
        after = query.identifier("cursor").map { "device:" + $0 } ?? ""
        prefix = query.identifier("prefix") ?? ""
        fleet = query.identifier("fleet")
        profile = query.identifier("profile")
        state = query.oneOf("state")
        power = query.oneOf("power")
        limit = query.number("limit") ?? 100
        try query.finish()
    }
}

/// A fleet with at least one device.
struct KnownFleet: Record {
    var devices = 0
    var fleet = ""
}

/// Whether a device is turned on.
enum DevicePower: String, WireEnum {
    case on
    case off
}

extension QueryReader {
    fileprivate mutating func oneOf<Value: WireEnum>(_ name: String) -> Value? {
        let names = Value.allCases.map(\.rawValue).joined(separator: ", ")
        return value(name, "must be one of \(names)") { Value(rawValue: $0) }
    }
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
