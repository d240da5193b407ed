import Foundation
import Records
import TestSupport
import Testing

/// The `/openapi.json` of a running process. All other tests validate their answers by it, too.
@Suite("The description of push", .tags(.database, .processes), .timeLimit(.minutes(4))) struct DescriptionTests {
    @Test func `every described operation has a route`() async throws {
        try await PushSuite.run { suite in
            let operations = suite.description.operations
            #expect(operations.count > 20)
            for operation in operations {
                // A 405 for an unknown method lists the methods of the path.
                let answer = try await suite.send("PURGE", operation.path([:]))
                let allowed = answer.headers["allow"]?.components(separatedBy: ", ") ?? []
                #expect(answer.status == 405 && allowed.contains(operation.method), "\(operation.name)")
                let described = Set(operations.filter { $0.path == operation.path }.map(\.method))
                // Under /1, /3 and /4 other methods get APNs's errors.
                if operation.path.hasPrefix("/v1/") { #expect(Set(allowed) == described, "\(operation.name)") }
            }
        }
    }

    @Test func `every APNs call is described with its reasons`() async throws {
        try await PushSuite.run { suite in
            for (method, path, some) in [
                ("POST", "/3/device/{token}", ["BadDeviceToken", "Unregistered", "ExpiredProviderToken", "Shutdown"]),
                ("POST", "/4/broadcasts/apps/{app}", ["ChannelNotRegistered", "BadExpirationDate", "PayloadEmpty"]),
                ("POST", "/1/apps/{app}/channels", ["CannotCreateChannelConfig", "TopicMismatch"]),
            ] {
                let operation = try #require(suite.description.operation(method, path))
                #expect(operation.errors.isSuperset(of: some), "\(operation.name)")
                #expect(operation.errors.isDisjoint(with: ["not_found", "internal_error", "invalid_identifier"]))
            }
        }
    }

    @Test func `an answer that the description does not allow is a fault`() async throws {
        try await PushSuite.run { suite in
            let description = suite.description
            let keys = try await suite.send("GET", "/v1/provider-keys")
            #expect(description.fault(of: keys, to: "GET", "/v1/provider-keys") == nil)
            // The answer is not a throttle document, not an APNs error, and not a 201.
            #expect(description.fault(of: keys, to: "PUT", "/v1/devices/d1/throttle") != nil)
            #expect(description.fault(of: keys, to: "POST", "/v1/provider-keys") != nil)
            #expect(description.fault(of: keys, to: "POST", "/3/device/x") != nil)
            let missing = try await suite.send("GET", "/v1/notifications/none")
            #expect(description.fault(of: missing, to: "GET", "/v1/notifications/none") == nil)
            #expect(description.fault(of: missing, to: "GET", "/v1/provider-keys") != nil)
        }
    }

    // MARK: Refusals

    @Test func `every described refusal can be provoked`() async throws {
        try await PushSuite.run { suite in
            let given = GivenRefusals(suite.description) { call in
                try await suite.send(call.method, call.path, bytes: call.body, type: call.type, call.headers)
            }
            let scene = try await Self.prepare(suite)
            let operations = suite.description.operations.filter { !$0.isCommon && $0.path.hasPrefix("/v1/") }
            try await given.refuse(operations, in: scene)
            let nothing = scene.values.merging(["notification": "none"]) { $1 }
            for operation in operations where operation.errors.contains("not_found") {
                guard !operation.places.contains("device") else { continue }
                guard !operation.places.contains("fleet") else {
                    // An operator sees all fleets.
                    let bearer = ["authorization": "bearer \(scene.bearer)"]
                    try await given.refuse("not_found", operation.method, operation.path([:]), headers: bearer)
                    continue
                }
                try await given.refuse("not_found", operation.method, operation.path(nothing))
            }
            try await Self.refuseByState(given, suite)
            try await Self.refuseKeys(given, suite)
            let cases = [
                ("invalid_header", "x"), ("position_beyond_log", "0:9000000"),
                ("earlier_incarnation", "0123456789ab.0:1"),
            ]
            for (code, value) in cases {
                let stream = "/v1/fleets/blue/notifications/stream"
                try await given.refuse(code, "GET", stream, headers: ["Last-Event-ID": value])
            }
            // The tests of orders provoke the refusal of positions that retention has dropped.
            let missing = given.missing(of: operations, but: GivenRefusals.circumstances.union(["beyond_retention"]))
            #expect(missing.isEmpty, "described, but not provoked: \(missing)")
        }
    }

    /// Makes a device with a notification, and another device.
    private static func prepare(_ suite: PushSuite) async throws -> GivenRefusals.Scene {
        let token = try await suite.makeDevice("phone", profile: "ios18")
        let sent = try await suite.notify(token, ["aps": ["alert": "x"]])
        let stranger = try await suite.send("PUT", "/v1/devices/other", ["profile": "ios15"], port: suite.lifecycle)
        var scene = GivenRefusals.Scene()
        scene.values = [
            "activity": "1", "device": "phone", "app": PushSuite.app, "team": suite.signer.teamID, "key": "KEYKEYKEY9",
            "notification": try #require(sent.headers["apns-unique-id"]),
        ]
        scene.absent = [
            ("device_not_registered", "device", "nobody"), ("app_not_installed", "app", "none"),
        ]
        scene.bearer = try #require(stranger.json["token"]?.string)
        scene.usedKey = "used"
        let used = try await suite.send(
            "PUT", "/v1/devices/phone/throttle", ["enabled": false], ["Idempotency-Key": scene.usedKey])
        #expect(used.status == 200)
        scene.queries = [
            "partitions=x", "limit=0", "cursor=x", "status=Lost", "wait=x", "from=x", "to=x", "type=x", "kind=x",
        ]
        let key = Self.key("KEYKEYKEY8", suite)
        scene.body = { operation in
            guard operation.takesDocument else { return nil }
            return switch operation.path.split(separator: "/").last {
            case "throttle": #"{"enabled":true}"#
            case "presentation": #"{"options":[]}"#
            case "notification-categories": #"{"categories":[]}"#
            case "provider-keys": key
            case "update",
                .some where operation.path.contains("live-activities") && operation.method == "PUT":
                #"{"contentState":{}}"#
            default: "{}"
            }
        }
        return scene
    }

    private static func refuseByState(_ given: GivenRefusals, _ suite: PushSuite) async throws {
        let device = "/v1/devices/phone"
        let registration = device + "/apps/\(PushSuite.app)/registration"
        let unknown = Data(count: 16).base64EncodedString()
        try await given.refuse("unknown_channel", "PUT", registration, #"{"channels":["\#(unknown)"]}"#)
        let old = "/v1/devices/other/apps/\(PushSuite.app)"
        #expect(try await suite.send("PUT", old, [:], port: suite.lifecycle).status == 201)
        let channels = #"{"channels":["\#(unknown)"]}"#
        try await given.refuse("unsupported_on_profile", "PUT", old + "/registration", channels)
        try await given.refuse("app_not_running", "PUT", registration, "{}")
        try await given.refuse("app_not_running", "DELETE", registration)
        try await refuseActivities(given, suite)
        try await suite.whileOnScreen("phone") { try await refuseTokens(given, suite, registration) }
        try await refusePresentations(given, suite)
        try await refuseExtensions(given, suite)
        try await refuseResponses(given, suite)
        try await given.refuse("notification_not_shown", "POST", device + "/notifications/none/opened")
        try await given.refuse("not_connected", "POST", device + "/keep-alive")
        for (change, path, code) in [
            (#"{"network":{"kind":"none"}}"#, "/conditions", "no_network"),
            (#"{"event":"off"}"#, "/power", "device_off"),
        ] {
            let changed = try await suite.send(
                path == "/power" ? "POST" : "PATCH", device + path, try JSON(parsing: Array(change.utf8)),
                port: suite.lifecycle)
            try await suite.send("GET", device + "/apps/\(PushSuite.app)/explain", after: changed)
            for query in ["", "?wait=0"] {
                try await given.refuse(code, "GET", device + "/notifications" + query)
            }
        }
        try await given.refuse("device_off", "POST", device + "/notifications/none/opened")
        try await given.refuse("device_off", "POST", device + "/notifications/none/response", "{}")
        try await given.refuse("device_off", "DELETE", device + "/apps/\(PushSuite.app)/live-activities/1")
    }

    private static func refuseTokens(_ given: GivenRefusals, _ suite: PushSuite, _ path: String) async throws {
        try await given.refuse("activity_missing", "PUT", path, #"{"kind":"liveactivity"}"#)
        try await given.refuse("activity_unexpected", "PUT", path, #"{"activity":"x","kind":"voip"}"#)
        try await given.refuse("channels_unexpected", "PUT", path, #"{"channels":[],"kind":"voip"}"#)
        try await given.refuse("activity_not_running", "PUT", path, #"{"activity":"x","kind":"liveactivity"}"#)
        #expect(try await suite.send("DELETE", path).status == 204)
        try await given.refuse("not_registered_for_notifications", "DELETE", path)
    }

    private static func refuseActivities(_ given: GivenRefusals, _ suite: PushSuite) async throws {
        let path = "/v1/devices/phone/apps/\(PushSuite.app)/live-activities"
        let (content, update, end) = (#"{"contentState":{}}"#, path + "/1/update", path + "/1/end")
        let unknown = Data(count: 16).base64EncodedString()
        let channel = #"{"channel":"\#(unknown)","contentState":{}}"#
        let large = #"{"contentState":{"x":""# + String(repeating: "x", count: 4096) + #""}}"#
        try await given.refuse("unknown_channel", "PUT", path + "/1", channel)
        try await given.refuse("app_not_running", "PUT", path + "/1", content)
        try await given.refuse("app_not_running", "POST", update, content)
        try await given.refuse("app_not_running", "POST", end, "{}")
        try await given.refuse("activity_not_running", "DELETE", path + "/1")
        try await suite.whileOnScreen("phone") {
            try await given.refuse("activity_not_running", "POST", update, content)
            try await given.refuse("activity_not_running", "POST", end, "{}")
            try await given.refuse("content_too_large", "PUT", path + "/1", large)
            for number in 1...8 {
                let started = try await suite.send("PUT", path + "/\(number)", ["contentState": [:]])
                #expect(started.status == 200)
            }
            try await given.refuse("activity_exists", "PUT", path + "/1", content)
            try await given.refuse("too_many_activities", "PUT", path + "/9", content)
            try await given.refuse("content_too_large", "POST", update, large)
            try await given.refuse("content_too_large", "POST", end, large)
        }
        _ = try await suite.makeDevice("older", profile: "ios15")
        let older = "/v1/devices/older/apps/\(PushSuite.app)"
        try await suite.whileOnScreen("older") {
            let activity = older + "/live-activities/1"
            try await given.refuse("unsupported_on_profile", "PUT", activity, content)
            try await given.refuse("unsupported_on_profile", "POST", activity + "/update", content)
            try await given.refuse("unsupported_on_profile", "POST", activity + "/end", "{}")
            try await given.refuse("unsupported_on_profile", "DELETE", activity)
        }
        try await refuseActivityInBackground(given, suite)
    }

    /// An app that a notification has woken runs in the background.
    private static func refuseActivityInBackground(_ given: GivenRefusals, _ suite: PushSuite) async throws {
        let app = "/v1/devices/behind/apps/\(PushSuite.app)"
        _ = try await suite.makeDevice("behind", profile: "ios18")
        let lifecycle = suite.lifecycle
        for event in ["launch", "home"] {
            let transition = try await suite.send(
                "POST", app + "/transitions", ["event": .string(event)], port: lifecycle)
            #expect(transition.status == 200)
            if event == "launch" {
                let task = try await suite.send("POST", app + "/tasks", ["name": "t"], port: lifecycle)
                #expect(task.status == 201)
            } else {
                try await suite.send("GET", app + "/explain", after: transition)
            }
        }
        try await given.refuse("app_not_on_screen", "PUT", app + "/live-activities/1", #"{"contentState":{}}"#)
    }

    private static func refusePresentations(_ given: GivenRefusals, _ suite: PushSuite) async throws {
        let options = #"{"options":["banner"]}"#
        func path(_ device: String, _ id: String) -> String { "/v1/devices/\(device)/notifications/\(id)/presentation" }
        try await given.refuse("notification_not_offered", "POST", path("phone", "none"), options)
        _ = try await suite.makeDevice("old", profile: "ios7")
        try await given.refuse("unsupported_on_profile", "POST", path("old", "none"), options)
        let registration = "/v1/devices/old/apps/\(PushSuite.app)/registration"
        try await suite.whileOnScreen("old") {
            try await given.refuse("unsupported_on_profile", "PUT", registration, #"{"kind":"pushToStart"}"#)
        }
        let token = try await suite.makeDevice("screen")
        var stream = try await DeviceStream(suite, "screen")
        let id = try await suite.whileOnScreen("screen") {
            let sent = try await suite.notify(token, ["aps": ["alert": "x"]])
            #expect(try await stream.next()?["willPresent"]?.bool == true)
            return try #require(sent.headers["apns-unique-id"])
        }
        try await given.refuse("app_not_running", "POST", path("screen", id), options)
    }

    private static func refuseKeys(_ given: GivenRefusals, _ suite: PushSuite) async throws {
        let path = "/v1/provider-keys"
        try await given.refuse("provider_key_exists", "POST", path, key(suite.signer.keyID, suite))
        let keyed = ["Idempotency-Key": "k1"]
        let second = try await suite.send("POST", path, try JSON(parsing: Array(key("KEYKEYKEY2", suite).utf8)), keyed)
        #expect(second.status == 201)
        try await given.refuse("too_many_provider_keys", "POST", path, key("KEYKEYKEY3", suite))
        try await given.refuse("idempotency_conflict", "POST", path, key("KEYKEYKEY3", suite), headers: keyed)
    }

    private static func key(_ id: String, _ suite: PushSuite) -> String {
        let key: JSON = [
            "keyID": .string(id), "teamID": .string(suite.signer.teamID), "environment": "sandbox",
            "publicKey": .string(suite.signer.publicKey),
        ]
        return String(decoding: key.bytes, as: UTF8.self)
    }
}
