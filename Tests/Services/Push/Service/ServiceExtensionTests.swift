import Records
import TestSupport
import Testing

/// Notification service extensions over HTTP.
@Suite(.tags(.database, .processes), .timeLimit(.minutes(4))) struct ServiceExtensionTests {
    private static let path = "/v1/devices/phone/notifications/"

    @Test func `a service extension decrypts an alert, and the timeline has its content`() async throws {
        try await PushSuite.run { suite in
            let token = try await Self.makeDevice(suite)
            var stream = try await DeviceStream(suite, "phone")
            let payload: JSON = ["aps": ["alert": "locked", "mutable-content": 1], "secret": "x"]
            let sent = try await suite.notify(token, payload)
            let id = try #require(sent.headers["apns-unique-id"])
            let order = try #require(try await stream.next())
            #expect(order["extensionDeadline"]?.string != nil && order["payload"] == payload)
            #expect(try await suite.send("POST", Self.path + id + "/opened").code == "notification_not_shown")

            let content: JSON = ["attachments": ["cat.png"], "body": "clear"]
            let answer = try await suite.send("POST", Self.path + id + "/content", content)
            #expect(answer.status == 200 && answer.json == ["isModified": true, "willPresent": false])
            let repeated = try await suite.send("POST", Self.path + id + "/content", content)
            #expect(repeated.code == "service_extension_not_running")

            let statuses = try await suite.send("GET", "/v1/notifications/\(id)").json["statuses"]?.items ?? []
            let words = statuses.compactMap { $0["status"]?.string }
            #expect(words == ["Received", "Delivered", "Modified", "Acknowledged", "Presented"])
            #expect(statuses[2]["content"] == content && statuses[2]["cause"] == "attachments, body")
            #expect(statuses[4]["cause"] == "serviceExtension")
            #expect(try await suite.send("POST", Self.path + id + "/opened").status == 204)
        }
    }

    @Test func `on screen, the service extension comes before willPresent`() async throws {
        try await PushSuite.run { suite in
            let token = try await Self.makeDevice(suite)
            var stream = try await DeviceStream(suite, "phone")
            try await suite.whileOnScreen("phone") { () async throws -> Void in
                let sent = try await suite.notify(token, ["aps": ["alert": "locked", "mutable-content": 1]])
                let id = try #require(sent.headers["apns-unique-id"])
                #expect(try await stream.next()?["willPresent"]?.bool == true)
                let options: JSON = ["options": ["banner"]]
                let early = try await suite.send("POST", Self.path + id + "/presentation", options)
                #expect(early.code == "service_extension_running")
                let answer = try await suite.send("POST", Self.path + id + "/content", [:])
                #expect(answer.json == ["isModified": false, "willPresent": true])
                #expect(try await suite.send("POST", Self.path + id + "/presentation", options).status == 204)
                #expect(try await suite.send("POST", Self.path + id + "/opened").status == 204)
            }
        }
    }

    @Test func `content beyond its limits is refused`() async throws {
        try await PushSuite.run { suite in
            _ = try await Self.makeDevice(suite)
            for content: JSON in [
                ["badge": -1], ["body": .string(String(repeating: "x", count: 4097))], ["attachments": [""]],
                ["color": "red"],
            ] {
                #expect(try await suite.send("POST", Self.path + "n/content", content).status == 422)
            }
        }
    }

    /// Makes a device whose app has a service extension.
    private static func makeDevice(_ suite: PushSuite) async throws -> String {
        let token = try await suite.makeDevice("phone")
        let app = "/v1/devices/phone/apps/\(PushSuite.app)"
        let manifest: JSON = ["notificationServiceExtension": true]
        let installed = try await suite.send("PUT", app, manifest, port: suite.lifecycle)
        #expect(installed.status == 201)
        try await suite.send("GET", app + "/explain", after: installed)
        return token
    }
}
