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

    @Test func `a forecast has the outcome of a push of each type`() async throws {
        try await PushSuite.run { suite in
            _ = try await suite.makeDevice("phone")
            let path = "/v1/devices/phone/apps/com.example.app/explain"
            let offline = try await suite.send("GET", path).json["forecast"]?.members ?? []
            #expect(
                offline.map(\.name).sorted() == [
                    "alert", "alertByPower", "alertWithoutWaking", "background", "complication", "controls",
                    "fileprovider", "liveactivity", "location", "mdm", "pushtotalk", "voip", "widgets",
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
