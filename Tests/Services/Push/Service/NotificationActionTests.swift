import Records
import TestSupport
import Testing

/// Categories, and the user's responses over HTTP: `push` removes the notification, and `lifecycle` wakes or opens the app.
@Suite(.tags(.database, .processes), .timeLimit(.minutes(4))) struct NotificationActionTests {
    private static let app = "/v1/devices/phone/apps/\(PushSuite.app)"
    private static let categories: JSON = [
        "categories": [
            [
                "identifier": "message", "options": ["customDismissAction"],
                "actions": [
                    ["identifier": "reply", "options": ["authenticationRequired"], "textInput": true],
                    ["identifier": "show", "options": ["foreground"]],
                ],
            ]
        ]
    ]

    @Test func `an action wakes its app in the background, and another opens it`() async throws {
        try await PushSuite.run { suite in
            let token = try await Self.makeDevice(suite)
            var stream = try await DeviceStream(suite, "phone")
            let first = try await Self.show(suite, token, &stream)
            let text: JSON = ["actionIdentifier": "reply", "userText": "yes"]
            #expect(
                try await Self.respond(suite, first, ["actionIdentifier": "pay"]).code == "notification_action_unknown")
            #expect(try await Self.respond(suite, first, ["actionIdentifier": "reply"]).code == "user_text_missing")
            #expect(try await Self.respond(suite, first, text).status == 204)
            #expect(try await Self.respond(suite, first, text).code == "notification_not_shown")
            let statuses = try await suite.send("GET", "/v1/notifications/\(first)").json["statuses"]?.items ?? []
            #expect(statuses.last?["status"] == "Responded" && statuses.last?["cause"] == "reply")
            try await Self.waitForState("background", suite)

            let second = try await Self.show(suite, token, &stream)
            #expect(try await Self.respond(suite, second, ["actionIdentifier": "show"]).status == 204)
            try await Self.waitForState("active", suite)
        }
    }

    @Test func `a locked device asks for an unlock, and a dismissal removes the notification`() async throws {
        try await PushSuite.run { suite in
            let token = try await Self.makeDevice(suite)
            var stream = try await DeviceStream(suite, "phone")
            let id = try await Self.show(suite, token, &stream)
            let conditions = "/v1/devices/phone/conditions"
            let locked = try await suite.send("PATCH", conditions, ["locked": true], port: suite.lifecycle)
            #expect(locked.status == 200)
            try await suite.send("GET", Self.app + "/explain", after: locked)
            let text: JSON = ["actionIdentifier": "reply", "userText": "yes"]
            #expect(try await Self.respond(suite, id, text).code == "device_locked")
            let dismissal: JSON = ["actionIdentifier": "com.apple.UNNotificationDismissActionIdentifier"]
            #expect(try await Self.respond(suite, id, dismissal).status == 204)
            #expect(try await suite.send("POST", "/v1/devices/phone/notifications/\(id)/opened").status == 409)
        }
    }

    @Test func `categories are listed, and wrong ones are refused`() async throws {
        try await PushSuite.run { suite in
            _ = try await Self.makeDevice(suite)
            let path = Self.app + "/notification-categories"
            let listed = try await suite.send("GET", path).json["categories"]?.items ?? []
            #expect(listed.compactMap { $0["identifier"]?.string } == ["message"])
            #expect(try await suite.send("PUT", path, Self.categories).code == "app_not_running")
            let twice: JSON = ["categories": [["identifier": "a"], ["identifier": "a"]]]
            #expect(try await suite.send("PUT", path, twice).status == 422)
        }
    }

    private static func makeDevice(_ suite: PushSuite) async throws -> String {
        let token = try await suite.makeDevice("phone")
        try await suite.whileOnScreen("phone") { () async throws -> Void in
            #expect(try await suite.send("PUT", app + "/notification-categories", categories).status == 200)
        }
        return token
    }

    /// Sends an alert that the device shows.
    private static func show(
        _ suite: PushSuite, _ token: String, _ stream: inout DeviceStream
    ) async throws -> String {
        let sent = try await suite.notify(token, ["aps": ["alert": "x", "category": "message"]])
        try await suite.acknowledgeNext(of: &stream, "phone")
        return try #require(sent.headers["apns-unique-id"])
    }

    private static func respond(_ suite: PushSuite, _ id: String, _ response: JSON) async throws -> PushSuite.Answer {
        try await suite.send("POST", "/v1/devices/phone/notifications/\(id)/response", response)
    }

    /// Waits until `lifecycle` has followed the response.
    private static func waitForState(_ state: String, _ suite: PushSuite) async throws {
        try await eventually(describe: "the app is \(state)") {
            try await suite.send("GET", app, port: suite.lifecycle).json["state"]?.string == state
        }
    }
}
