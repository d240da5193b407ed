import Records
import TestSupport
import Testing

/// Device tokens of several kinds, and the apps that may register.
@Suite(.tags(.database, .processes), .timeLimit(.minutes(4))) struct TokenKindTests {
    private static let app = "/v1/devices/phone/apps/\(PushSuite.app)"

    @Test func `an app that does not run can neither register nor unregister`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            for method in ["PUT", "DELETE"] {
                let answer = try await suite.send(method, Self.app + "/registration", method == "PUT" ? [:] : nil)
                #expect(answer.status == 409 && answer.code == "app_not_running")
            }
            let tokens = try await suite.send("GET", Self.app + "/tokens")
            #expect(tokens.json == ["items": [["environment": "sandbox", "kind": "apns", "token": .string(token)]]])
        }
    }

    @Test func `each kind has its own token, and a push needs a token of its kind`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            let voip = try await suite.whileOnScreen("phone") {
                let call: JSON = ["kind": "voip"]
                let made = try await suite.send("PUT", Self.app + "/registration", call).json["token"]?.string
                #expect(try await suite.send("PUT", Self.app + "/registration", call).json["token"]?.string == made)
                return try #require(made)
            }
            #expect(voip != token)
            let kinds = try await suite.send("GET", Self.app + "/tokens").json["items"]?.items ?? []
            #expect(kinds.map { $0["kind"]?.string } == ["apns", "voip"])

            let alert: JSON = ["aps": ["alert": "x"]]
            let call = ["apns-push-type": "voip", "apns-topic": PushSuite.app + ".voip"]
            #expect(try await suite.notify(voip, alert, call).status == 200)
            #expect(try await suite.notify(token, alert).status == 200)
            for answer in [try await suite.notify(token, alert, call), try await suite.notify(voip, alert)] {
                #expect(answer.status == 400 && answer.json["reason"] == "DeviceTokenNotForTopic")
            }
            let removed = try await suite.whileOnScreen("phone") {
                try await suite.send("DELETE", Self.app + "/registration?kind=voip").status
            }
            #expect(removed == 204)
            #expect(try await suite.notify(voip, alert, call).status == 410)
            #expect(try await suite.notify(token, alert).status == 200)
        }
    }

    @Test func `willPresent decides whether an app on screen shows an alert`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            var stream = try await DeviceStream(suite, "phone")
            let path = "/v1/devices/phone/notifications/"
            try await suite.whileOnScreen("phone") { () async throws -> Void in
                for options: JSON in [["banner", "sound"], ["sound"]] {
                    let sent = try await suite.notify(token, ["aps": ["alert": "x"]])
                    let id = try #require(sent.headers["apns-unique-id"])
                    #expect(try await stream.next()?["willPresent"]?.bool == true)
                    let presented = try await suite.send("POST", path + id + "/presentation", ["options": options])
                    #expect(presented.status == 204)
                    let isShown = options[0]?.string == "banner"
                    let opened = try await suite.send("POST", path + id + "/opened")
                    #expect(opened.status == (isShown ? 204 : 409))
                    let timeline = try await suite.send("GET", "/v1/notifications/\(id)").json["statuses"]?.items ?? []
                    #expect(timeline.map { $0["status"]?.string }.contains("Presented") == isShown)
                    #expect(timeline[1]["cause"]?.string == "willPresent")
                }
            }
        }
    }
}
