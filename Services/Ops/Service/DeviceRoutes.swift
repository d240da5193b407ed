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
                .flag("locked", "Only devices that are locked, or not"),
                .flag("lowPowerMode", "Only devices in Low Power Mode, or not"),
                .flag("charging", "Only devices that charge their battery, or not"),
                .number("batteryBelow", 1...100, "Only devices whose battery has less than this percentage"),
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
    let locked: Bool?
    let lowPowerMode: Bool?
    let charging: Bool?
    /// A percentage.
    let batteryBelow: Int?
    let limit: Int

    init(_ call: Call) throws(Problem) {
        var query = QueryReader(call)
        after = query.identifier("cursor").map { "device:" + $0 } ?? ""
        prefix = query.identifier("prefix") ?? ""
        fleet = query.identifier("fleet")
        profile = query.identifier("profile")
        state = query.oneOf("state")
        power = query.oneOf("power")
        locked = query.flag("locked")
        lowPowerMode = query.flag("lowPowerMode")
        charging = query.flag("charging")
        batteryBelow = query.number("batteryBelow")
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

extension RouteParameter {
    fileprivate static func flag(_ name: String, _ summary: String) -> RouteParameter {
        RouteParameter(name, in: .query, summary, Bool.schema)
    }
}

extension QueryReader {
    fileprivate mutating func flag(_ name: String) -> Bool? {
        value(name, "must be true or false") { Bool($0) }
    }

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
    /// From 0 to 1. This and the other conditions are null if the log has neither the registration nor a report.
    var batteryLevel: Nullable<Double> = nil
    var charging: Nullable<Bool> = nil
    var device = ""
    var fleet: Nullable<String> = nil
    var locked: Nullable<Bool> = nil
    var lowPowerMode: Nullable<Bool> = nil
    var powered = true
    var profile = ""
    var registeredAt = Instant.epoch
}
