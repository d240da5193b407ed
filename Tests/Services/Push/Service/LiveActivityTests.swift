import Foundation
import Records
import TestSupport
import Testing

@testable import PushService

/// Live Activities over HTTP: the calls of their app, and pushes of httpx over HTTP/2.
@Suite(.tags(.database, .processes, .stockClient), .timeLimit(.minutes(4))) struct LiveActivityTests {
    private static let app = "/v1/devices/phone/apps/\(PushSuite.app)"
    private static let topic = PushSuite.app + ".push-type.liveactivity"

    @Test func `httpx starts a Live Activity, updates it, and gets the reasons of wrong combinations`() async throws {
        try await PushSuite.run { suite in
            let alerts = try await suite.makeDevice("phone")
            let start = try await suite.whileOnScreen("phone") {
                let made = try await suite.send("PUT", Self.app + "/registration", ["kind": "pushToStart"])
                return try #require(made.json["token"]?.string)
            }
            var stream = try await DeviceStream(suite, "phone")
            let plan = try await suite.stockPlan(.http2)
            let now = Int(Date().timeIntervalSince1970)
            let starting: JSON = [
                "aps": [
                    "timestamp": .int(now), "event": "start", "content-state": ["score": 0], "attributes-type": "Match",
                    "attributes": ["teams": "a-b"], "alert": ["title": "Kick-off"],
                ]
            ]
            let first = try await plan.send([Self.request("start", start, starting)])
            #expect(first.map(\.status) == [200] && first[0].version == "HTTP/2")
            try await suite.acknowledgeNext(of: &stream, "phone")
            let token = try #require(try await Self.activity(suite)?["token"]?.string)

            let older = Self.update(now - 1, score: 9)
            let answers = try await plan.send([
                Self.request("update", token, Self.update(now + 1, score: 1)), Self.request("older", token, older),
                Self.request("to the token of alerts", alerts, older),
                Self.request(
                    "alert to the activity", token, ["aps": ["alert": "x"]], type: "alert", topic: PushSuite.app),
                Self.request("wrong topic", token, older, topic: PushSuite.app),
            ])
            #expect(answers.map(\.status) == [200, 200, 400, 400, 400])
            let reasons = [nil, nil, "DeviceTokenNotForTopic", "DeviceTokenNotForTopic", "BadTopic"]
            #expect(answers.map(\.reason) == reasons)
            for _ in 0..<2 { try await suite.acknowledgeNext(of: &stream, "phone") }
            #expect(try await Self.activity(suite)?["contentState"] == ["score": 1])
            let id = try #require(answers[1].headers["apns-unique-id"])
            let timeline = try await suite.send("GET", "/v1/notifications/\(id)").json["statuses"]?.items ?? []
            #expect(timeline.last?["status"] == "Discarded – Outdated")
        }
    }

    @Test func `a push starts a Live Activity on a channel, and a broadcast reaches it`() async throws {
        try await PushSuite.run { suite in
            _ = try await suite.makeDevice("phone")
            let start = try await suite.whileOnScreen("phone") {
                let made = try await suite.send("PUT", Self.app + "/registration", ["kind": "pushToStart"])
                return try #require(made.json["token"]?.string)
            }
            let channel = try await suite.makeChannel(stores: true)
            var stream = try await DeviceStream(suite, "phone")
            let starting: JSON = [
                "aps": [
                    "timestamp": 100, "event": "start", "content-state": ["score": 0], "attributes-type": "Match",
                    "attributes": [:], "alert": ["title": "Kick-off"], "input-push-channel": .string(channel),
                ]
            ]
            let sent = try await suite.notify(
                start, starting, ["apns-push-type": "liveactivity", "apns-topic": Self.topic])
            #expect(sent.status == 200)
            try await suite.acknowledgeNext(of: &stream, "phone")
            let activity = try await Self.activity(suite)
            #expect(activity?["channel"]?.string == channel && activity?["token"] == nil)
            #expect(try await suite.broadcast(channel, "goal").status == 200)
            #expect(try await stream.next()?["channel"]?.string == channel)
        }
    }

    @Test func `an app starts, updates and ends a Live Activity, and the user removes it`() async throws {
        try await PushSuite.run { suite in
            _ = try await suite.makeDevice("phone")
            let path = Self.app + "/live-activities/match"
            try await suite.whileOnScreen("phone") { () async throws -> Void in
                let request: JSON = ["contentState": ["score": 0], "environment": "sandbox"]
                let started = try await suite.send("PUT", path, request)
                #expect(started.status == 200 && started.json["state"] == "active")
                #expect(started.json["token"]?.string?.count == 64)
                let updated = try await suite.send("POST", path + "/update", ["contentState": ["score": 1]])
                #expect(updated.status == 200 && updated.json["contentState"] == ["score": 1])
                #expect(try await suite.send("POST", path + "/end", ["contentState": ["score": 2]]).status == 204)
            }
            let ended = try await Self.activity(suite)
            #expect(ended?["state"] == "ended" && ended?["contentState"] == ["score": 2])
            #expect(try await suite.send("DELETE", path).status == 204)
            #expect(try await Self.activity(suite) == nil)
        }
    }

    @Test func `a repeated start gets its first answer after its channel and its device are gone`() async throws {
        try await PushSuite.run { suite in
            _ = try await suite.makeDevice("phone", profile: "ios18")
            let channel = try await suite.makeChannel(stores: true)
            let (path, keyed) = (Self.app + "/live-activities/match", ["Idempotency-Key": "start"])
            let request: JSON = ["channel": .string(channel), "contentState": ["score": 0]]
            let started = try await suite.whileOnScreen("phone") {
                try await suite.send("PUT", path, request, keyed)
            }
            #expect(started.status == 200 && started.json["channel"] == .string(channel))
            let deleted = try await suite.channels(
                "DELETE", "/1/apps/\(PushSuite.app)/channels", nil, ["apns-channel-id": channel])
            #expect(deleted.status == 204)
            #expect(try await suite.send("PUT", path, request).code == "unknown_channel")
            #expect(try await suite.send("PUT", path, request, keyed).json == started.json)
            let removed = try await suite.send("DELETE", "/v1/devices/phone", port: suite.lifecycle)
            try await suite.send("GET", Self.app + "/explain", after: removed)
            #expect(try await suite.send("PUT", path, request, keyed).json == started.json)
        }
    }

    private static func activity(_ suite: PushSuite) async throws -> JSON? {
        try await suite.send("GET", app + "/live-activities").json["items"]?.items?.first
    }

    private static func update(_ timestamp: Int, score: Int) -> JSON {
        ["aps": ["timestamp": .int(timestamp), "event": "update", "content-state": ["score": .int(score)]]]
    }

    private static func request(
        _ name: String, _ token: String, _ payload: JSON, type: String = "liveactivity", topic: String = topic
    ) -> StockPlan.Request {
        StockPlan.Request(
            name: name, connection: "one", path: "/3/device/\(token)",
            headers: [("apns-push-type", type), ("apns-topic", topic)],
            body: String(decoding: payload.bytes, as: UTF8.self))
    }
}

extension PushSuite {
    /// Acknowledges the next notification of a device's stream.
    func acknowledgeNext(of stream: inout DeviceStream, _ device: String) async throws {
        let id = try #require(try await stream.next()?["id"]?.string)
        #expect(try await send("POST", "/v1/devices/\(device)/notifications/\(id)/ack").status == 204)
    }
}
