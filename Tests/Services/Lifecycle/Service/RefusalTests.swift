import Contracts
import HTTPKit
import HTTPTypes
import Records
import Synchronization
import TestSupport
import Testing

@testable import LifecycleService

/// Each described refusal of a route occurs. All other tests check that each refusal is described.
@Suite("Refusals", .tags(.database), .timeLimit(.minutes(3))) struct RefusalTests {
    @Test func `every described refusal occurs`() async throws {
        try await LifecycleFixture.run { fixture in
            let given = Given(fixture)
            try await refuseWithoutWhatTheRouteIsAbout(given)
            try await refuseTransitions(given)
            try await refuseOnAnOldGeneration(given)
            try await refuseWork(given)
            try await refuseWakes(given)
            try await refusePlaces(given)
            try await refuseMonitors(given)
            try await refuseSettings(given)
            #expect(given.all == Self.described(fixture))
        }
    }

    @Test func `an undescribed response is found`() async throws {
        try await LifecycleFixture.run { fixture in
            let read = try await fixture.send("GET", "/v1/devices/d1/apps/a")
            #expect(fixture.documentation.fault(of: read, to: "GET", "/v1/devices/d1/apps/a") == nil)
            // Profiles exist without a registered device.
            #expect(fixture.documentation.fault(of: read, to: "GET", "/v1/profiles") != nil)
            let profiles = try await fixture.send("GET", "/v1/profiles")
            #expect(fixture.documentation.fault(of: profiles, to: "GET", "/v1/devices/d1") != nil)
        }
    }

    /// Provokes the refusals without a device, an app or a running app.
    private func refuseWithoutWhatTheRouteIsAbout(_ given: Given) async throws {
        _ = try await given.fixture.phone("still")
        for route in given.fixture.documentation.routes {
            let codes = given.fixture.documentation.codes(of: route)
            let cases = [
                ("device_not_registered", "nobody", "a"), ("app_not_installed", "still", "none"),
                ("app_not_running", "still", "a"),
            ]
            for (code, device, app) in cases where codes.contains(code) {
                let words = [
                    "device": device, "app": app, "callback": "willTerminate", "kind": "audio", "role": "central",
                ]
                let path = route.path.split(separator: "/").map { part in
                    part.hasPrefix("{") ? words[String(part.dropFirst().dropLast())] ?? "x" : String(part)
                }
                try await given.refuse(
                    code, route.method.rawValue, "/" + path.joined(separator: "/"), Self.body(for: route))
            }
        }
    }

    private func refuseTransitions(_ given: Given) async throws {
        _ = try await given.fixture.phone("d1")
        let device = "/v1/devices/d1"
        try await given.refuse("illegal_transition", "POST", device + "/apps/a/transitions", #"{"event":"home"}"#)
        try await given.refuse("illegal_transition", "POST", device + "/app-switcher/a")
        try await given.refuse("illegal_transition", "DELETE", device + "/app-switcher/a")
        try await given.fixture.send("POST", device + "/power", #"{"event":"off"}"#)
        try await given.refuse("device_off", "POST", device + "/apps/a/transitions", #"{"event":"launch"}"#)
        try await given.refuse("device_off", "POST", device + "/app-switcher/a")
        try await given.refuse("device_off", "DELETE", device + "/app-switcher/a")
        let connection = #"{"event":"connected"}"#
        try await given.refuse("device_off", "POST", device + "/apps/a/bluetooth-events", connection)
        try await given.fixture.send("PATCH", "/v1/devices/still/conditions", #"{"bluetooth":"off"}"#)
        try await given.refuse("bluetooth_off", "POST", "/v1/devices/still/apps/a/bluetooth-events", connection)
        try await given.fixture.send("PATCH", "/v1/devices/still/conditions", #"{"bluetooth":"on"}"#)
        try await given.refuse("bluetooth_not_awaited", "POST", "/v1/devices/still/apps/a/bluetooth-events", connection)
        try await given.refuse("device_off", "POST", device + "/health-samples", #"{"sampleType":"heartRate"}"#)
        try await given.refuse("device_off", "POST", device + "/visits", #"{"kind":"arrival"}"#)
        try await given.refuse("device_off", "POST", device + "/interruptions", #"{"kind":"call"}"#)
        try await given.fixture.send("PUT", "/v1/devices/old", #"{"profile":"ios7"}"#)
        try await given.fixture.send("PUT", "/v1/devices/old/apps/a", "{}")
        let prewarming = #"{"event":"prewarm"}"#
        try await given.refuse("unsupported_on_profile", "POST", "/v1/devices/old/apps/a/transitions", prewarming)
        try await given.fixture.send("PATCH", "/v1/devices/old/conditions", #"{"doNotDisturb":"always"}"#)
        try await given.refuse("unsupported_on_profile", "PATCH", device + "/conditions", #"{"doNotDisturb":"always"}"#)
    }

    private func refuseOnAnOldGeneration(_ given: Given) async throws {
        let device = "/v1/devices/ancient"
        try await given.fixture.send("PUT", device, #"{"profile":"ios6"}"#)
        try await given.fixture.send("PUT", device + "/apps/a", "{}")
        try await given.fixture.transition("ancient", "launch")
        let snapshot = #"{"snapshotLabel":"inbox"}"#
        for (method, path, body) in [
            ("PATCH", "/conditions", #"{"lowPowerMode":true}"#),
            ("PATCH", "/conditions", #"{"focus":{"state":"on"}}"#), ("GET", "/app-switcher", nil),
            ("PUT", "/settings", #"{"backgroundRefresh":"off"}"#),
            ("PUT", "/settings", #"{"summaryTimes":["08:00"]}"#), ("GET", "/apps/a/background-refresh-status", nil),
            ("PUT", "/apps/a/settings", #"{"backgroundRefresh":"off"}"#),
            ("PUT", "/apps/b", #"{"notificationAuthorization":"provisional"}"#),
            ("POST", "/apps/a/authorization-requests", #"{"options":["provisional"]}"#),
            ("POST", "/apps/a/callbacks/didEnterBackground/completion", snapshot),
            ("POST", "/apps/a/wakes/none/completion", #"{"snapshot":"inbox"}"#),
            ("POST", "/apps/a/activities/backgroundActivitySession", "{}"),
            ("PUT", "/apps/a/health-deliveries/heartRate", "{}"),
            ("POST", "/health-samples", #"{"sampleType":"heartRate"}"#),
            ("PUT", "/apps/a/beacon-regions/shop", Self.beacons), ("PUT", "/apps/a/monitors/m", nil),
            ("PUT", "/apps/a/monitors/m/conditions/c", "{}"), ("PUT", "/apps/a/visits", nil),
            ("POST", "/visits", #"{"kind":"arrival"}"#),
            ("PUT", "/apps/a/bluetooth-managers/central", #"{"restoreIdentifier":"lock"}"#),
        ] {
            try await given.refuse("unsupported_on_profile", method, device + path, body)
        }
    }

    private func refuseWork(_ given: Given) async throws {
        _ = try await given.fixture.phone("d2", manifest: #"{"exitsOnSuspend":true}"#)
        let app = "/v1/devices/d2/apps/a"
        try await given.fixture.transition("d2", "launch")
        try await given.refuse("invalid_task", "POST", app + "/tasks", "{}")
        try await given.refuse("already_completed", "POST", app + "/callbacks/didEnterBackground/completion", "{}")
        for type in 0..<20 { try await given.fixture.send("PUT", app + "/health-deliveries/\(type)", "{}") }
        try await given.refuse("too_many_health_types", "PUT", app + "/health-deliveries/heartRate", "{}")
        let requests = app + "/authorization-requests"
        try await given.fixture.send(
            "PUT", app + "/settings", #"{"notifications":{"authorization":"notDetermined"}}"#)
        try await given.refuse("answer_missing", "POST", requests, #"{"options":["alert"]}"#)
        try await given.refuse("entitlement_missing", "POST", requests, #"{"options":["criticalAlert"]}"#)
        try await given.refuse(
            "entitlement_missing", "PUT", app + "/settings", #"{"notifications":{"timeSensitive":"on"}}"#)
    }

    private func refuseWakes(_ given: Given) async throws {
        let fixture = given.fixture
        _ = try await fixture.phone("d3", manifest: #"{"backgroundModes":["fetch","location"]}"#)
        let app = "/v1/devices/d3/apps/a"
        try await fixture.transition("d3", "launch")
        try await fixture.send("POST", app + "/tasks", "{}")
        try await fixture.transition("d3", "home")
        try await given.refuse("activity_not_allowed", "POST", app + "/activities/audio", "{}")
        try await given.refuse("unknown_wake", "POST", app + "/wakes/none/completion", "{}")
        try await fixture.append(FetchEvent.RefreshDue(app: "a", fetch: "f-1"), to: "d3")
        let open = try await wake(of: app, fixture)
        let fetch = open + "/completion"
        try await given.refuse("result_missing", "POST", fetch, "{}")
        try await given.refuse("unknown_wake", "PUT", app + "/wakes/none/progress", Self.progress)
        try await given.refuse("wake_without_progress", "PUT", open + "/progress", Self.progress)
        try await fixture.send("PUT", app + "/settings", #"{"locationAuthorization":"whenInUse"}"#)
        let updates = #"{"allowsBackgroundLocationUpdates":true}"#
        try await given.refuse("location_not_in_use", "POST", app + "/activities/location", updates)
        #expect(try await fixture.send("POST", fetch, #"{"result":"newData"}"#).status == 200)
        try await given.refuse("already_completed", "POST", fetch, #"{"result":"newData"}"#)
        try await given.refuse("already_completed", "PUT", open + "/progress", Self.progress)
        try await fixture.append(
            FetchEvent.TaskDue(app: "a", identifier: "t", kind: .refresh, request: "r-1"), to: "d3")
        try await given.refuse("success_missing", "POST", try await wake(of: app, fixture) + "/completion", "{}")
        let manifest = #"{"backgroundModes":["push-to-talk"]}"#
        try await fixture.send("PUT", "/v1/devices/d6", #"{"profile":"ios16"}"#)
        try await fixture.send("PUT", "/v1/devices/d6/apps/a", manifest)
        try await fixture.append(
            PushEvent.WakeRequested(app: "a", notification: "n-1", payload: [:], pushType: .pushtotalk), to: "d6")
        let talk = try await wake(of: "/v1/devices/d6/apps/a", fixture) + "/completion"
        try await given.refuse("push_result_missing", "POST", talk, "{}")
    }

    private func refusePlaces(_ given: Given) async throws {
        let fixture = given.fixture
        let circle = #"{"latitude":48.85,"longitude":2.35,"radiusMeters":300}"#
        try await fixture.send("PUT", "/v1/devices/d4", #"{"profile":"ios15","gps":false,"cellular":false}"#)
        try await fixture.send("PUT", "/v1/devices/d4/apps/a", "{}")
        try await fixture.transition("d4", "launch")
        _ = try await fixture.phone("d5")
        try await fixture.transition("d5", "launch")
        for (device, code) in [("d4", "unavailable_on_device"), ("d5", "location_denied")] {
            let app = "/v1/devices/\(device)/apps/a"
            try await given.refuse(code, "PUT", app + "/regions/home", circle)
            try await given.refuse(code, "PUT", app + "/significant-location-changes")
        }
        try await given.refuse("location_denied", "POST", "/v1/devices/d5/apps/a/activities/location", "{}")
        try await given.refuse("location_denied", "PUT", "/v1/devices/d5/apps/a/visits")
        let shop = "/v1/devices/d5/apps/a/beacon-regions/shop"
        try await given.refuse("location_denied", "PUT", shop, Self.beacons)
        try await given.refuse("beacon_major_missing", "PUT", shop, Self.minorAlone)
        try await fixture.send("PUT", "/v1/devices/d5/apps/a/settings", #"{"locationAuthorization":"always"}"#)
        let continent = #"{"latitude":48.85,"longitude":2.35,"radiusMeters":2000000}"#
        try await given.refuse("region_monitoring_failure", "PUT", "/v1/devices/d5/apps/a/regions/home", continent)
        for region in 0..<20 { try await fixture.send("PUT", "/v1/devices/d5/apps/a/regions/\(region)", circle) }
        try await given.refuse("region_monitoring_failure", "PUT", shop, Self.beacons)
    }

    private func refuseMonitors(_ given: Given) async throws {
        let fixture = given.fixture
        let circle = #"{"circle":{"latitude":48.85,"longitude":2.35,"radiusMeters":300}}"#
        for (device, gps) in [("d7", true), ("d8", false)] {
            try await fixture.send("PUT", "/v1/devices/\(device)", #"{"profile":"ios17","gps":\#(gps)}"#)
            try await fixture.send("PUT", "/v1/devices/\(device)/apps/a", "{}")
            try await fixture.transition(device, "launch")
        }
        try await fixture.send("PUT", "/v1/devices/d8/apps/a/monitors/m")
        try await given.refuse("unavailable_on_device", "PUT", "/v1/devices/d8/apps/a/monitors/m/conditions/c", circle)
        let monitors = "/v1/devices/d7/apps/a/monitors/"
        let condition = monitors + "m/conditions/c"
        try await given.refuse(
            "app_not_in_use", "PUT", "/v1/devices/still/apps/a/settings", #"{"locationAccuracy":"temporaryFull"}"#)
        try await given.refuse("monitor_not_open", "PUT", condition, circle)
        try await given.refuse("monitor_not_open", "DELETE", condition)
        try await fixture.send("PUT", monitors + "m")
        try await given.refuse("condition_unclear", "PUT", condition, "{}")
        try await given.refuse("beacon_major_missing", "PUT", condition, Self.minorAlone)
        try await given.refuse("location_denied", "PUT", condition, circle)
        try await fixture.send("PUT", "/v1/devices/d7/apps/a/settings", #"{"locationAuthorization":"always"}"#)
        for name in 0..<20 {
            try await fixture.send("PUT", monitors + "m/conditions/\(name)", circle)
            try await fixture.send("PUT", monitors + "\(name)")
        }
        try await given.refuse("condition_limit_exceeded", "PUT", condition, circle)
        try await given.refuse("too_many_monitors", "PUT", monitors + "last")
    }

    private static let beacons = #"{"beacon":{"uuid":"E2C56DB5-DFFB-48D2-B060-D0F5A71096E0"}}"#
    private static let minorAlone = #"{"beacon":{"uuid":"E2C56DB5-DFFB-48D2-B060-D0F5A71096E0","minor":1}}"#

    private func refuseSettings(_ given: Given) async throws {
        _ = try await given.fixture.phone("d6")
        let device = "/v1/devices/d6"
        try await given.fixture.send("PUT", device + "/settings", #"{"restrictions":{"backgroundRefresh":true}}"#)
        for path in [device, device + "/apps/a"] {
            try await given.refuse("restricted", "PUT", path + "/settings", #"{"backgroundRefresh":"off"}"#)
        }
    }

    /// Waits for the only open wake and returns it.
    private func wake(of app: String, _ fixture: LifecycleFixture) async throws -> String {
        let found = Signal<String>()
        try await eventually(describe: "a wake") {
            let wakes = try await fixture.send("GET", app)["wakes"]?.members ?? []
            return wakes.count == 1 && found.fire(wakes[0].name)
        }
        return app + "/wakes/" + (try await found.value())
    }

    private static let progress = #"{"completedUnitCount":1,"totalUnitCount":2}"#

    /// Returns a valid body of a route.
    private static func body(for route: Route) -> String? {
        guard route.request != nil else { return nil }
        switch route.path.split(separator: "/").last {
        case "transitions", "power": return route.path.hasSuffix("power") ? #"{"event":"boot"}"# : #"{"event":"home"}"#
        case "bluetooth-events": return #"{"event":"connected"}"#
        case "health-samples": return #"{"sampleType":"heartRate"}"#
        case "visits" where !route.path.contains("{app}"): return #"{"kind":"arrival"}"#
        case "interruptions": return #"{"kind":"call"}"#
        case "progress": return progress
        case "actions": return #"{"kind":"work"}"#
        case "{region}" where route.path.contains("beacon"): return beacons
        case "authorization-requests": return #"{"options":["alert"],"answer":"allow"}"#
        case "{region}": return #"{"latitude":48.85,"longitude":2.35,"radiusMeters":300}"#
        default: return "{}"
        }
    }

    /// Returns each described refusal with its route.
    private static func described(_ fixture: LifecycleFixture) -> Set<String> {
        let codes: Set = [
            "device_not_registered", "app_not_installed", "app_not_running", "device_off", "illegal_transition",
            "unsupported_on_profile", "invalid_task", "already_completed", "unknown_wake", "result_missing",
            "success_missing", "push_result_missing", "activity_not_allowed", "location_denied",
            "location_not_in_use", "bluetooth_not_awaited", "too_many_health_types", "region_monitoring_failure",
            "unavailable_on_device", "restricted", "bluetooth_off", "beacon_major_missing", "monitor_not_open",
            "app_not_in_use", "condition_unclear", "condition_limit_exceeded", "too_many_monitors",
            "answer_missing", "entitlement_missing", "wake_without_progress",
        ]
        return Set(
            fixture.documentation.routes.flatMap { route in
                fixture.documentation.codes(of: route).filter(codes.contains).map {
                    "\(route.method.rawValue) \(route.path) \($0)"
                }
            })
    }
}

/// The refusals so far, with their routes.
private final class Given: Sendable {
    let fixture: LifecycleFixture
    private let refusals = Mutex<Set<String>>([])
    var all: Set<String> { refusals.withLock { $0 } }

    init(_ fixture: LifecycleFixture) { self.fixture = fixture }

    func refuse(_ code: String, _ method: String, _ path: String, _ body: String? = nil) async throws {
        let answer = try await fixture.send(method, path, body)
        #expect(answer.code == code, "\(method) \(path): \(answer.body)")
        let route = try #require(fixture.documentation.route(method, path))
        refusals.withLock { _ = $0.insert("\(route.method.rawValue) \(route.path) \(code)") }
    }
}
