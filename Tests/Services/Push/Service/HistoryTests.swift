import Foundation
import Records
import TestSupport
import Testing

@Suite(.tags(.database, .processes), .timeLimit(.minutes(4))) struct HistoryTests {
    @Test func `notifications of an app are listed with their latest status`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            _ = try await suite.makeDevice("tablet")
            var ids: [String] = []
            for number in 0..<5 {
                let sent = try await suite.notify(token, ["aps": ["alert": .int(number)]])
                ids.insert(try #require(sent.headers["apns-unique-id"]), at: 0)
            }
            let path = "/v1/devices/phone/apps/com.example.app/notifications"
            let all = try await suite.send("GET", path).json
            #expect(all["items"]?.items?.map { $0["id"]?.string } == ids)
            let words = all["items"]?.items?.map { $0["status"]?.string }
            #expect(words == ["Stored – Device Offline"] + Array(repeating: "Replaced By", count: 4))
            let newest = try #require(all["items"]?.items?.first)
            #expect(newest["pushType"]?.string == "alert" && newest["priority"]?.int == 10)
            #expect(newest["topic"]?.string == "com.example.app" && newest["apnsID"]?.string?.count == 36)
            #expect(all["next"] == .null)

            var pages: [[String?]] = []
            var cursor: String? = ""
            while let place = cursor {
                let more = place.isEmpty ? "" : "&cursor=\(place)"
                let page = try await suite.send("GET", path + "?limit=2" + more).json
                pages.append(page["items"]?.items?.map { $0["id"]?.string } ?? [])
                cursor = page["next"]?.string
            }
            #expect(pages.flatMap { $0 } == ids && pages.first?.count == 2)

            let stored = try await suite.send("GET", path + "?status=Stored%20%E2%80%93%20Device%20Offline").json
            #expect(stored["items"]?.items?.map { $0["id"]?.string } == [ids[0]])
            #expect(try await suite.send("GET", path + "?status=Received").json["items"]?.items == [])
            let wrong = try await suite.send("GET", path + "?status=Lost")
            #expect(wrong.status == 400 && wrong.code == "invalid_query")
            #expect(wrong.json["detail"]?.string?.contains("Replaced By") == true)
            let others = "/v1/devices/tablet/apps/com.example.app/notifications"
            #expect(try await suite.send("GET", others).json["items"]?.items == [])
            #expect(try await suite.send("GET", "/v1/devices/none/apps/a/notifications").status == 404)
        }
    }

    @Test func `the timeline of a held push says that a force quit ended it`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            let stream = try await DeviceStream(suite, "phone")
            let reported = try await suite.send(
                "PATCH", "/v1/devices/phone/conditions", ["lowPowerMode": true], port: suite.lifecycle)
            try await suite.send("GET", "/v1/devices/phone/apps/\(PushSuite.app)/explain", after: reported)
            let sent = try await suite.notify(
                token, ["aps": ["content-available": 1]], ["apns-push-type": "background", "apns-priority": "5"])
            let id = try #require(sent.headers["apns-unique-id"])
            let swipe = "/v1/devices/phone/app-switcher/\(PushSuite.app)"
            let swiped = try await suite.send("DELETE", swipe, port: suite.lifecycle)
            #expect((200..<300).contains(swiped.status))
            try await suite.send("GET", "/v1/devices/phone/apps/\(PushSuite.app)/explain", after: swiped)
            let timeline = try await suite.send("GET", "/v1/notifications/\(id)").json["statuses"]?.items ?? []
            let words = timeline.map { $0["status"]?.string }
            #expect(words == ["Received", "Held – Low Power Mode", "Discarded – App Killed"])
            #expect(timeline.last?["cause"]?.string == "forceQuit")
            _ = stream
        }
    }

    @Test func `a forecast has the outcome of a push of each type with a token`() async throws {
        try await PushSuite.run { suite in
            _ = try await suite.makeDevice("phone")
            let app = "/v1/devices/phone/apps/com.example.app"
            let path = app + "/explain"
            let first = try await suite.send("GET", path).json["forecast"]?.members ?? []
            let ordinary = ["alert", "alertByPower", "alertWithoutWaking", "background", "mdm"]
            #expect(first.map(\.name).sorted() == ordinary, "only types for which the app has a token")
            try await suite.whileOnScreen("phone") { () async throws -> Void in
                for kind: JSON in ["fileprovider", "location", "voip"] {
                    #expect(try await suite.send("PUT", app + "/registration", ["kind": kind]).status == 200)
                }
            }
            let offline = try await suite.send("GET", path).json["forecast"]?.members ?? []
            #expect(
                offline.map(\.name).sorted() == [
                    "alert", "alertByPower", "alertWithoutWaking", "background", "fileprovider", "location", "mdm",
                    "voip",
                ])
            #expect(offline.allSatisfy { $0.value["status"]?.string == "Stored – Device Offline" })
            #expect(offline.allSatisfy { $0.value["until"]?.string != nil })
            let stream = try await DeviceStream(suite, "phone")
            let conditions: JSON = ["locked": true]
            let reported = try await suite.send(
                "PATCH", "/v1/devices/phone/conditions", conditions, port: suite.lifecycle)
            let asleep = try await suite.send("GET", path, after: reported).json["forecast"]
            #expect(asleep?["alert"]?["status"]?.string == "Delivered")
            #expect(asleep?["alertByPower"]?["status"]?.string == "Stored – Power Considerations")
            #expect(asleep?["alertWithoutWaking"]?["status"]?.string == "Stored – Power Considerations")
            #expect(asleep?["voip"]?["status"]?.string == "Delivered")
            _ = stream
        }
    }
}
