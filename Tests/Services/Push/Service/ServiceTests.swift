import AsyncHTTPClient
import Foundation
import NIOCore
import Records
import TestSupport
import Testing

@Suite(.tags(.database, .processes), .timeLimit(.minutes(4))) struct PushServiceTests {
    @Test func `a silent push reaches its device and has a timeline`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            var stream = try await DeviceStream(suite, "phone")
            let id = "0d4ed9a6-7b5f-4f10-a9a2-1f2f6f0a8f11"
            let sent = try await suite.notify(
                token, ["aps": ["content-available": 1], "n": 7],
                ["apns-push-type": "background", "apns-priority": "5", "apns-id": id])
            #expect(sent.status == 200)
            #expect(sent.headers["apns-id"] == id)
            let unique = try #require(sent.headers["apns-unique-id"])

            let got = try #require(try await stream.next())
            #expect(got["id"]?.string == unique)
            #expect(got["apnsID"]?.string == id)
            #expect(got["silent"]?.bool == true)
            #expect(got["payload"]?["n"]?.int == 7)

            for _ in 1...2 {
                #expect(try await suite.send("POST", "/v1/devices/phone/notifications/\(unique)/ack").status == 204)
            }
            for name in [unique, id] {
                let timeline = try await suite.send("GET", "/v1/notifications/\(name)").json
                let words = timeline["statuses"]?.items?.compactMap { $0["status"]?.string } ?? []
                #expect(words.prefix(3) == ["Received", "Delivered", "Wake Requested"])
                #expect(timeline["id"]?.string == unique)
            }
            let explained = try await suite.send("GET", "/v1/devices/phone/apps/com.example.app/explain").json
            #expect(explained["online"]?.bool == true)
            #expect(explained["forecast"]?["alert"]?["status"]?.string == "Delivered")
        }
    }

    @Test func `opening a notification brings its app to the foreground`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            var stream = try await DeviceStream(suite, "phone")
            let sent = try await suite.notify(token, ["aps": ["alert": "x"]])
            let id = try #require(sent.headers["apns-unique-id"])
            #expect(try await stream.next()?["id"]?.string == id)
            let path = "/v1/devices/phone/notifications/"
            #expect(try await suite.send("POST", path + id + "/ack").status == 204)
            #expect(try await suite.send("POST", path + id + "/opened").status == 204)
            let again = try await suite.send("POST", path + id + "/opened")
            #expect(again.status == 409 && again.code == "notification_not_shown")
            try await eventually(describe: "the app is in the foreground") {
                let app = "/v1/devices/phone/apps/com.example.app"
                return try await suite.send("GET", app, port: suite.lifecycle).json["state"]?.string == "active"
            }
            let timeline = try await suite.send("GET", "/v1/notifications/\(id)").json["statuses"]?.items ?? []
            #expect(timeline.map { $0["status"]?.string } == ["Received", "Delivered", "Acknowledged", "Opened"])
        }
    }

    @Test func `a timeline with a new event has a new ETag`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            let sent = try await suite.notify(token, ["aps": ["alert": "x"]])
            let path = "/v1/notifications/\(try #require(sent.headers["apns-unique-id"]))"
            let stored = try await suite.send("GET", path)
            let tag = try #require(stored.headers["etag"])
            #expect(try await suite.send("GET", path, nil, ["If-None-Match": tag]).status == 304)
            var stream = try await DeviceStream(suite, "phone")
            _ = try await stream.next()
            let delivered = try await suite.send("GET", path, nil, ["If-None-Match": tag])
            #expect(delivered.status == 200 && delivered.headers["etag"] != tag)
            #expect(delivered.json["statuses"] != stored.json["statuses"])
            // Other notifications do not change the timeline.
            #expect(try await suite.notify(token, ["aps": ["alert": "y"]]).status == 200)
            let later = try #require(delivered.headers["etag"])
            #expect(try await suite.send("GET", path, nil, ["If-None-Match": later]).status == 304)
        }
    }

    @Test func `a stored notification is delivered on the next connection`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("tablet")
            for text in ["one", "two"] {
                #expect(try await suite.notify(token, ["aps": ["alert": .string(text)]]).status == 200)
            }
            let path = "/v1/devices/tablet"
            var polled = try await suite.send("GET", path + "/notifications?wait=0").json["items"]?.items ?? []
            #expect(polled.map { $0["payload"]?["aps"]?["alert"]?.string } == ["two"])
            #expect(polled.first?["fromStorage"]?.bool == true)

            // A new stream replaces the polls, and gets unacknowledged notifications again.
            var stream = try await DeviceStream(suite, "tablet")
            #expect(try await stream.next()?["id"] == polled.first?["id"])
            var second = try await DeviceStream(suite, "tablet")
            #expect(try await second.next()?["id"] == polled.first?["id"])
            #expect(try await stream.next() == nil)

            let id = try #require(polled.first?["id"]?.string)
            #expect(try await suite.send("POST", "\(path)/notifications/\(id)/ack").status == 204)
            // A poll replaces the stream, and waits for a notification.
            async let waiting = suite.send("GET", path + "/notifications?wait=30")
            #expect(try await second.next() == nil)
            #expect(try await suite.notify(token, ["aps": ["alert": "three"]]).status == 200)
            polled = try await waiting.json["items"]?.items ?? []
            #expect(polled.map { $0["payload"]?["aps"]?["alert"]?.string } == ["three"])
            #expect(try await suite.send("POST", path + "/keep-alive").json["items"]?.items == [])
            #expect(try await suite.send("PUT", path + "/throttle", ["enabled": false]).json["enabled"]?.bool == false)
        }
    }

    @Test func `a device is offline after its stream closes`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("watch")
            let client = HTTPClient(eventLoopGroupProvider: .singleton)
            let request = suite.request("GET", "/v1/devices/watch/notifications")
            let response = try await client.execute(request, timeout: .seconds(30))
            // The connection lasts while its body is read.
            var parts = response.body.makeAsyncIterator()
            #expect(try await parts.next() != nil)
            #expect(try await isOnline(suite))
            try await client.shutdown()
            try await eventually(describe: "the device is offline") { try await !isOnline(suite) }
            #expect(try await suite.notify(token, ["aps": ["alert": "x"]]).status == 200)
            let explained = try await suite.send("GET", "/v1/devices/watch/apps/com.example.app/explain").json
            #expect(explained["forecast"]?["alert"]?["status"]?.string == "Stored – Device Offline")
        }
    }

    private func isOnline(_ suite: PushSuite) async throws -> Bool {
        let explained = try await suite.send("GET", "/v1/devices/watch/apps/com.example.app/explain").json
        return explained["online"]?.bool == true
    }

    @Test func `a provider gets the reason of each error`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            let alert: JSON = ["aps": ["alert": "x"]]
            func reason(
                _ token: String, _ payload: JSON?, _ headers: [String: String] = [:], method: String = "POST",
                path: String? = nil
            ) async throws -> String {
                let answer = try await suite.notify(token, payload, headers, method: method, path: path)
                #expect(answer.headers["apns-id"]?.count == 36)
                return "\(answer.status) \(answer.reason ?? "")"
            }
            let foreign = token.dropLast(8) + "00000000"
            #expect(try await reason(String(foreign), alert) == "400 BadDeviceToken")
            #expect(try await reason(String(repeating: "f", count: 64), alert) == "400 BadDeviceToken")
            #expect(try await reason("xyz", alert) == "400 BadDeviceToken")
            #expect(try await reason(token, alert, ["apns-topic": "com.other"]) == "400 DeviceTokenNotForTopic")
            #expect(try await reason(token, alert, ["apns-topic": "none"]) == "400 MissingTopic")
            #expect(try await reason(token, alert, ["authorization": "none"]) == "403 MissingProviderToken")
            #expect(try await reason(token, alert, ["authorization": "bearer x.y.z"]) == "403 InvalidProviderToken")
            #expect(try await reason(token, alert, path: "/3/device/") == "400 MissingDeviceToken")
            #expect(try await reason(token, alert, path: "/3/devices/x") == "404 BadPath")
            #expect(try await reason(token, nil, method: "GET") == "405 MethodNotAllowed")
            #expect(try await reason(token, nil) == "400 PayloadEmpty")
            let large: JSON = ["aps": [:], "x": .string(String(repeating: "x", count: 6000))]
            #expect(try await reason(token, large) == "413 PayloadTooLarge")

            try await suite.unregister("phone")
            let gone = try await suite.notify(token, alert)
            #expect(gone.status == 410)
            #expect(gone.reason == "Unregistered")
            let age = Date().timeIntervalSince1970 * 1000 - Double(try #require(gone.json["timestamp"]?.int))
            #expect((-1000..<60_000).contains(age))
            // Each refused push for the token of a device is in the log, and no other.
            let refused = """
                SELECT data ->> 'topic' || ': ' || (data ->> 'status') FROM bus.events
                WHERE type = 'push.notification.refused' ORDER BY log_offset
                """
            let found = try await Database(suite).texts(refused)
            #expect(
                found == ["com.other: Refused – DeviceTokenNotForTopic", "com.example.app: Refused – Unregistered"])
        }
    }

    @Test func `a team has at most two keys for all its topics`() async throws {
        try await PushSuite.run { suite async throws -> Void in
            func add(_ id: String, _ topics: JSON = []) async throws -> String {
                let answer = try await suite.send(
                    "POST", "/v1/provider-keys",
                    [
                        "keyID": .string(id), "teamID": .string(suite.signer.teamID), "environment": "sandbox",
                        "publicKey": .string(suite.signer.publicKey), "topics": topics,
                    ])
                return "\(answer.status) \(answer.code ?? "")"
            }
            #expect(try await add("KEYKEYKEY1") == "409 provider_key_exists")
            #expect(try await add("KEYKEYKEY2") == "201 ")
            #expect(try await add("KEYKEYKEY3") == "409 too_many_provider_keys")
            #expect(try await add("KEYKEYKEY3", ["com.example.app"]) == "201 ")
            #expect(try await add("short") == "422 invalid_document")
            let path = "/v1/provider-keys/\(suite.signer.teamID)/KEYKEYKEY2"
            #expect(try await suite.send("DELETE", path).status == 204)
            #expect(try await suite.send("DELETE", path).status == 404)
            #expect(try await suite.send("GET", "/v1/provider-keys").json["items"]?.items?.count == 2)
        }
    }

    @Test func `a repeated request registers its key once`() async throws {
        try await PushSuite.run { suite async throws -> Void in
            func add(_ id: String, _ key: String) async throws -> PushSuite.Answer {
                try await suite.send(
                    "POST", "/v1/provider-keys",
                    [
                        "keyID": .string(id), "teamID": .string(suite.signer.teamID), "environment": "sandbox",
                        "publicKey": .string(suite.signer.publicKey),
                    ], ["Idempotency-Key": key])
            }
            let path = "/v1/provider-keys"
            // A refusal is not stored: a retry may succeed.
            #expect(try await add("KEYKEYKEY1", "k1").code == "provider_key_exists")
            let first = try await add("KEYKEYKEY2", "k1")
            #expect(first.status == 201)
            let again = try await add("KEYKEYKEY2", "k1")
            #expect(again.status == 201 && again.json == first.json)
            #expect(try await add("KEYKEYKEY2", "k2").status == 409)
            #expect(try await add("KEYKEYKEY3", "k1").code == "idempotency_conflict")
            #expect(try await add("KEYKEYKEY3", "not a key").code == "invalid_header")
            #expect(try await suite.send("DELETE", path + "/\(suite.signer.teamID)/KEYKEYKEY2").status == 204)
            #expect(try await add("KEYKEYKEY2", "k1").status == 201)
            #expect(try await suite.send("GET", path).json["items"]?.items?.count == 1)
        }
    }
}
