import Contracts
import HTTPKit
import Identity
import LifecycleCore
import NIOHTTP1
import Postgres
import Records
import ServiceKit
import TestSupport
import Testing

@testable import LifecycleService

@Suite("The REST calls of lifecycle", .tags(.database), .timeLimit(.minutes(5))) struct LifecycleRouteTests {
    /// Every route of a device with a valid and an invalid body, and the pointer of the fault.
    static let calls: [(method: String, path: String, body: String?, wrong: String?, pointer: String?)] = [
        ("PUT", "", #"{"profile":"ios15"}"#, #"{"profile":"ios99"}"#, "/profile"),
        ("GET", "", nil, nil, nil),
        ("PATCH", "/conditions", #"{"tower":"208-1-77"}"#, #"{"battery":{"level":2}}"#, "/battery/level"),
        ("PUT", "/settings", #"{"backgroundRefresh":"on"}"#, #"{"backgroundRefresh":"maybe"}"#, "/backgroundRefresh"),
        ("GET", "/app-switcher", nil, nil, nil),
        ("PUT", "/apps/a", #"{"backgroundModes":["fetch"]}"#, #"{"backgroundModes":["flight"]}"#, "/backgroundModes/0"),
        ("GET", "/apps/a", nil, nil, nil),
        (
            "PUT", "/apps/a/settings", #"{"backgroundRefresh":"on"}"#,
            #"{"backgroundRefresh":"on","refresh":"on"}"#, "/refresh"
        ),
        (
            "POST", "/apps/a/authorization-requests", #"{"options":["alert","provisional"]}"#,
            #"{"options":["alarm"]}"#, "/options/0"
        ),
        ("POST", "/apps/a/transitions", #"{"event":"launch"}"#, #"{"event":"fly"}"#, "/event"),
        ("POST", "/apps/a/tasks", #"{"name":"clean-up"}"#, #"{"expirationHandler":"yes"}"#, "/expirationHandler"),
        ("DELETE", "/apps/a/tasks/none", nil, nil, nil),
        ("GET", "/apps/a/background-time-remaining", nil, nil, nil),
        ("GET", "/apps/a/background-refresh-status", nil, nil, nil),
        ("POST", "/apps/a/callbacks/didEnterBackground/completion", "{}", #"{"snapshotLabel":""}"#, "/snapshotLabel"),
        ("POST", "/apps/a/wakes/none/completion", #"{"result":"newData"}"#, #"{"result":"all"}"#, "/result"),
        ("POST", "/apps/a/activities/audio", "{}", #"{"loud":true}"#, "/loud"),
        ("DELETE", "/apps/a/activities/audio", nil, nil, nil),
        ("POST", "/apps/a/actions", #"{"kind":"fileLock"}"#, #"{"kind":"fileLock","thread":"side"}"#, "/thread"),
        (
            "PUT", "/apps/a/regions/home", #"{"latitude":48.85,"longitude":2.35,"radiusMeters":100}"#,
            #"{"latitude":98.85,"longitude":2.35,"radiusMeters":100}"#, "/latitude"
        ),
        ("DELETE", "/apps/a/regions/home", nil, nil, nil),
        (
            "PUT", "/apps/a/beacon-regions/shop", #"{"beacon":{"uuid":"E2C56DB5-DFFB-48D2-B060-D0F5A71096E0"}}"#,
            #"{"beacon":{"uuid":"E2C56DB5"}}"#, "/beacon/uuid"
        ),
        ("DELETE", "/apps/a/beacon-regions/shop", nil, nil, nil),
        ("PUT", "/apps/a/monitors/places", nil, nil, nil),
        (
            "PUT", "/apps/a/monitors/places/conditions/home",
            #"{"circle":{"latitude":48.85,"longitude":2.35,"radiusMeters":100}}"#, #"{"assuming":"maybe"}"#, "/assuming"
        ),
        ("DELETE", "/apps/a/monitors/places/conditions/home", nil, nil, nil),
        ("PUT", "/apps/a/significant-location-changes", nil, nil, nil),
        ("DELETE", "/apps/a/significant-location-changes", nil, nil, nil),
        (
            "PUT", "/apps/a/bluetooth-managers/central", #"{"restoreIdentifier":"lock"}"#, #"{"restoreIdentifier":""}"#,
            "/restoreIdentifier"
        ),
        ("POST", "/apps/a/bluetooth-events", #"{"event":"connected"}"#, #"{"event":"lost"}"#, "/event"),
        ("DELETE", "/apps/a/bluetooth-managers/central", nil, nil, nil),
        (
            "PUT", "/apps/a/health-deliveries/heartRate", #"{"frequency":"hourly"}"#, #"{"frequency":"weekly"}"#,
            "/frequency"
        ),
        ("POST", "/health-samples", #"{"sampleType":"heartRate"}"#, #"{"sampleType":""}"#, "/sampleType"),
        ("DELETE", "/apps/a/health-deliveries/heartRate", nil, nil, nil),
        ("PUT", "/apps/a/visits", nil, nil, nil),
        ("POST", "/visits", #"{"kind":"arrival"}"#, #"{"kind":"stay"}"#, "/kind"),
        ("DELETE", "/apps/a/visits", nil, nil, nil),
        ("GET", "/apps/a/terminations", nil, nil, nil),
        ("GET", "/apps/a/explain", nil, nil, nil),
        ("POST", "/app-switcher/a", nil, nil, nil),
        ("DELETE", "/app-switcher/a", nil, nil, nil),
        ("GET", "/orders?wait=0", nil, nil, nil),
        ("POST", "/token", nil, nil, nil),
        ("POST", "/interruptions", #"{"kind":"call"}"#, #"{"kind":"doorbell"}"#, "/kind"),
        ("POST", "/power", #"{"event":"reboot"}"#, #"{"event":"explode"}"#, "/event"),
        ("DELETE", "/apps/a", nil, nil, nil),
        ("DELETE", "", nil, nil, nil),
    ]

    @Test func `one device uses every route`() async throws {
        try await LifecycleFixture.run { fixture in
            let path = "/v1/devices/d1"
            let app = path + "/apps/a"
            let registered = try await fixture.send("PUT", path, #"{"profile":"ios15","model":"iPhone15,2"}"#)
            #expect(registered.status == 201)
            #expect(registered["device"] == "d1")
            #expect(registered["registration"]?["model"] == "iPhone15,2")
            // From now on, the device uses its own token.
            let token = try #require(registered["token"]?.string)
            @Sendable func call(_ method: String, _ path: String, _ body: String? = nil) async throws
                -> LifecycleFixture.Answer
            { try await fixture.send(method, path, body, key: token) }

            let manifest = #"{"backgroundModes":["fetch"],"handlersReturn":"reported"}"#
            #expect(try await call("PUT", app, manifest).status == 201)
            #expect(try await call("PATCH", path + "/conditions", #"{"lowPowerMode":true}"#).status == 200)
            #expect(try await call("PUT", path + "/settings", #"{"backgroundRefresh":"off"}"#).status == 200)
            #expect(try await call("PUT", app + "/settings", #"{"backgroundRefresh":"on"}"#).status == 200)
            #expect(try await call("GET", app + "/background-refresh-status")["status"] == "denied")
            let launched = try await call("POST", app + "/transitions", #"{"event":"launch"}"#)
            #expect(launched["state"] == "inactive")
            #expect(launched["callbacks"] == ["willFinishLaunching", "didFinishLaunching"])
            let active = try await call("POST", app + "/callbacks/didFinishLaunching/completion", "{}")
            #expect(active["state"] == "active")
            #expect(active["callbacks"] == ["didBecomeActive"])
            #expect(try await call("GET", app + "/background-time-remaining")["unlimited"] == true)
            let task = try await call("POST", app + "/tasks", #"{"name":"clean-up"}"#)
            #expect(task.status == 201 && task["unlimited"] == true)
            let home = try await call("POST", app + "/transitions", #"{"event":"home"}"#)
            #expect(home["state"] == "background")
            #expect(home["callbacks"] == ["willResignActive", "didEnterBackground"])
            let left = try await call("GET", app + "/background-time-remaining")
            #expect(try #require(left["secondsRemaining"]?.double) <= 30 && left["unlimited"] == false)
            let returned = try await call(
                "POST", app + "/callbacks/didEnterBackground/completion", #"{"snapshotLabel":"blurred"}"#)
            #expect(returned["state"] == "background")
            let id = try #require(task["task"]?.string)
            #expect(try await call("DELETE", app + "/tasks/\(id)").status == 204)
            let read = try await call("GET", app)
            #expect(read["state"] == "suspended")
            #expect(read.headers.first(name: "ETag") != nil)
            let entry = try await call("GET", path + "/app-switcher")["items"]?[0]
            #expect(entry?["processAlive"] == true && entry?["snapshotLabel"] == "blurred")
            #expect(try await call("POST", path + "/app-switcher/a")["state"] == "active")
            #expect(try await call("DELETE", path + "/app-switcher/a")["callbacks"]?.items?.last == "willTerminate")
            #expect(try await call("POST", app + "/callbacks/willTerminate/completion", "{}")["state"] == "notRunning")
            #expect(try await call("GET", path)["apps"]?["a"]?["forceQuit"] == true)
            #expect(try await call("POST", path + "/power", #"{"event":"reboot"}"#)["isPoweredOn"] == true)
            #expect(try await call("GET", path + "/orders?wait=0")["items"] == [])
            #expect(try await call("DELETE", app).status == 204)
            #expect(try await call("DELETE", path).status == 204)
            // Deregistration revoked its token, so an operator sends the request.
            #expect(try await fixture.send("GET", path).code == "device_not_registered")
        }
    }

    @Test func `home moves an app to the background, and its suspension follows`() async throws {
        try await LifecycleFixture.run { fixture in
            _ = try await fixture.phone("d1")
            try await fixture.transition("d1", "launch")
            let home = try await fixture.transition("d1", "home")
            #expect(home["state"] == "background")
            #expect(home["callbacks"] == ["willResignActive", "didEnterBackground"])
            let read = try await fixture.send("GET", "/v1/devices/d1/apps/a")
            #expect(read["state"] == "suspended")
            #expect(home["version"]?.int.map { "\"\($0)\"" } == read.headers.first(name: "ETag"))
        }
    }

    @Test func `an unknown device is not found`() async throws {
        try await LifecycleFixture.run { fixture in
            for call in Self.calls where call.method != "PUT" || call.path != "" {
                let answer = try await fixture.send(call.method, "/v1/devices/nobody" + call.path, call.body)
                #expect(answer.status == 404, "\(call.method) \(call.path): \(answer.body)")
                #expect(answer.code == "device_not_registered", "\(call.method) \(call.path)")
            }
            #expect(try await fixture.log(of: "nobody").isEmpty)
        }
    }

    @Test func `invalid input is reported with its pointer and changes nothing`() async throws {
        try await LifecycleFixture.run { fixture in
            _ = try await fixture.phone("d1")
            let before = try await fixture.log(of: "d1")
            for call in Self.calls {
                guard let wrong = call.wrong else { continue }
                let answer = try await fixture.send(call.method, "/v1/devices/d1" + call.path, wrong)
                #expect(answer.status == 422, "\(call.method) \(call.path): \(answer.body)")
                #expect(answer["errors"]?[0]?["pointer"]?.string == call.pointer, "\(call.method) \(call.path)")
            }
            for path in ["/apps/a%20b", "/orders?after=x", "/orders?wait=99"] {
                #expect(try await fixture.send("GET", "/v1/devices/d1" + path).status == 400, "\(path)")
            }
            let unheard = try await fixture.send("POST", "/v1/devices/d1/apps/a/callbacks/didExplode/completion", "{}")
            #expect(unheard.status == 404)
            #expect(try await fixture.send("POST", "/v1/devices/d1/apps/a/activities/juggling", "{}").status == 404)
            #expect(try await fixture.log(of: "d1") == before)
        }
    }

    @Test func `the token of another device gives no access`() async throws {
        try await LifecycleFixture.run { fixture in
            _ = try await fixture.phone("d1")
            let stranger = try await fixture.phone("d2")
            let fleet = try await fixture.tokens.fleet("others")
            let before = try await fixture.log(of: "d1")
            for call in Self.calls {
                for key in [stranger, fleet] where !(key == fleet && call.method == "PUT" && call.path == "") {
                    let answer = try await fixture.send(call.method, "/v1/devices/d1" + call.path, call.body, key: key)
                    #expect(answer.status == 404, "\(call.method) \(call.path): \(answer.body)")
                    #expect(answer.code == "not_found", "\(call.method) \(call.path)")
                }
                let anonymous = try await fixture.send(call.method, "/v1/devices/d1" + call.path, call.body, key: nil)
                #expect(anonymous.status == 401)
            }
            #expect(try await fixture.log(of: "d1") == before)
        }
    }

    @Test func `a key with scope read can only read`() async throws {
        try await LifecycleFixture.run { fixture in
            _ = try await fixture.phone("d1")
            for call in Self.calls {
                let answer = try await fixture.send(
                    call.method, "/v1/devices/d1" + call.path, call.body, key: LifecycleFixture.readerKey)
                if call.method == "GET" {
                    // These routes refuse because of the app's state, not because of the key.
                    #expect([200, 409].contains(answer.status), "\(call.method) \(call.path): \(answer.body)")
                } else {
                    #expect(answer.status == 403, "\(call.method) \(call.path): \(answer.body)")
                }
            }
        }
    }

    @Test func `a repeated request with an idempotency key has one effect`() async throws {
        try await LifecycleFixture.run { fixture in
            _ = try await fixture.phone("d1")
            let path = "/v1/devices/d1/apps/a/transitions"
            let headers = ["Idempotency-Key": "k1"]
            let first = try await fixture.send("POST", path, #"{"event":"launch"}"#, headers)
            let count = try await fixture.log(of: "d1").count
            let second = try await fixture.send("POST", path, #"{"event":"launch"}"#, headers)
            #expect(first.status == 200 && second.status == 200)
            #expect(first.body == second.body)
            #expect(try await fixture.log(of: "d1").count == count)
            let other = try await fixture.send("POST", path, #"{"event":"home"}"#, headers)
            #expect(other.code == "idempotency_conflict")
            // Without the key, it is a second launch of an active app.
            #expect(try await fixture.transition("d1", "launch").code == "illegal_transition")
        }
    }

    @Test func `an outdated If-Match is refused`() async throws {
        try await LifecycleFixture.run { fixture in
            _ = try await fixture.phone("d1")
            let tag = try #require(try await fixture.send("GET", "/v1/devices/d1").headers.first(name: "ETag"))
            let path = "/v1/devices/d1/apps/a/transitions"
            #expect(try await fixture.send("POST", path, #"{"event":"launch"}"#, ["If-Match": tag]).status == 200)
            #expect(try await fixture.send("POST", path, #"{"event":"home"}"#, ["If-Match": tag]).status == 412)
        }
    }
}
