import Records
import TestSupport
import Testing

// The refusals of service extensions, categories and responses. The device "old" has iOS 7, the device "screen" iOS 18.
extension DescriptionTests {
    static func refuseExtensions(_ given: GivenRefusals, _ suite: PushSuite) async throws {
        func path(_ device: String, _ id: String) -> String { "/v1/devices/\(device)/notifications/\(id)/" }
        try await given.refuse("service_extension_not_running", "POST", path("screen", "none") + "content", "{}")
        try await given.refuse("unsupported_on_profile", "POST", path("old", "none") + "content", "{}")
        let token = try await suite.makeDevice("extended")
        let app = "/v1/devices/extended/apps/\(PushSuite.app)"
        let manifest: JSON = ["notificationServiceExtension": true]
        let installed = try await suite.send("PUT", app, manifest, port: suite.lifecycle)
        try await suite.send("GET", app + "/explain", after: installed)
        var stream = try await DeviceStream(suite, "extended")
        try await suite.whileOnScreen("extended") {
            let sent = try await suite.notify(token, ["aps": ["alert": "x", "mutable-content": 1]])
            #expect(try await stream.next()?["extensionDeadline"] != nil)
            let id = try #require(sent.headers["apns-unique-id"])
            let options = #"{"options":["banner"]}"#
            try await given.refuse("service_extension_running", "POST", path("extended", id) + "presentation", options)
        }
    }

    static func refuseResponses(_ given: GivenRefusals, _ suite: PushSuite) async throws {
        let categories = "/notification-categories"
        let app = "/v1/devices/extended/apps/\(PushSuite.app)"
        let set =
            #"{"categories":[{"identifier":"c","actions":[{"identifier":"like"},{"identifier":"reply","textInput":true}"#
            + #",{"identifier":"show","options":["foreground"]}]}]}"#
        try await given.refuse("app_not_running", "PUT", app + categories, set)
        try await suite.whileOnScreen("extended") { () async throws -> Void in
            try await given.refuse("too_many_categories", "PUT", app + categories, tooMany)
            #expect(try await suite.send("PUT", app + categories, try JSON(parsing: Array(set.utf8))).status == 200)
        }
        try await suite.whileOnScreen("old") {
            let old = "/v1/devices/old/apps/\(PushSuite.app)"
            try await given.refuse("unsupported_on_profile", "PUT", old + categories, set)
        }
        let id = try await show("extended", suite)
        let path = "/v1/devices/extended/notifications/\(id)/response"
        try await given.refuse(
            "notification_not_shown", "POST", "/v1/devices/extended/notifications/none/response", "{}")
        for (code, body) in [
            ("notification_action_unknown", #"{"actionIdentifier":"other"}"#),
            ("user_text_missing", #"{"actionIdentifier":"reply"}"#),
            ("user_text_unexpected", #"{"actionIdentifier":"like","userText":"x"}"#),
        ] { try await given.refuse(code, "POST", path, body) }
        let conditions = "/v1/devices/extended/conditions"
        let locked = try await suite.send("PATCH", conditions, ["locked": true], port: suite.lifecycle)
        try await suite.send("GET", app + "/explain", after: locked)
        try await given.refuse("device_locked", "POST", path, #"{"actionIdentifier":"show"}"#)
        let old = "/v1/devices/old/notifications/\(try await show("old", suite))/response"
        try await given.refuse("unsupported_on_profile", "POST", old, #"{"actionIdentifier":"like"}"#)
    }

    /// Sends an alert that the device shows.
    private static func show(_ device: String, _ suite: PushSuite) async throws -> String {
        let path = "/v1/devices/\(device)/apps/\(PushSuite.app)/tokens"
        let token = try await suite.send("GET", path).json["items"]?.items?.first?["token"]?.string
        var stream = try await DeviceStream(suite, device)
        let sent = try await suite.notify(try #require(token), ["aps": ["alert": "x", "category": "c"]])
        try await suite.acknowledgeNext(of: &stream, device)
        return try #require(sent.headers["apns-unique-id"])
    }

    /// Categories of more than 16 KiB.
    private static var tooMany: String {
        let categories = (0..<16).map { category -> JSON in
            let actions = (0..<10).map { action -> JSON in
                ["identifier": .string("\(action)" + String(repeating: "x", count: 120))]
            }
            return ["identifier": .string("\(category)"), "actions": .array(actions)]
        }
        return String(decoding: (["categories": .array(categories)] as JSON).bytes, as: UTF8.self)
    }
}
