import AsyncHTTPClient
import Contracts
import Foundation
import Glibc
import Postgres
import Records
import Synchronization
import TestSupport
import Testing
import Timeline

@testable import PushService

@Suite(.tags(.database, .processes), .timeLimit(.minutes(4))) struct ChannelTests {
    @Test func `channels are created, read, listed and deleted`() async throws {
        try await PushSuite.run { suite in
            let path = "/1/apps/\(PushSuite.app)"
            let id = "2288cf3f-70d8-46a6-97d7-dd5d00867127"
            let made = try await suite.channels(
                "POST", path + "/channels", ["message-storage-policy": 1, "push-type": "LiveActivity"],
                ["apns-request-id": id])
            #expect(made.status == 201 && made.json == .null)
            #expect(made.headers["apns-request-id"] == id && made.headers["apns-id"] == nil)
            let channel = try #require(made.headers["apns-channel-id"])
            #expect(Data(base64Encoded: channel)?.count == 16)
            let other = try await suite.makeChannel(stores: false)

            let read = try await suite.channels("GET", path + "/channels", nil, ["apns-channel-id": channel])
            #expect(read.status == 200 && read.headers["apns-request-id"]?.count == 36)
            #expect(read.json == ["message-storage-policy": 1, "push-type": "LiveActivity"])
            func listed() async throws -> [String] {
                let answer = try await suite.channels("GET", path + "/all-channels")
                #expect(answer.status == 200)
                return answer.json["channels"]?.items?.compactMap(\.string) ?? []
            }
            #expect(try await listed() == [channel, other])
            #expect(
                try await suite.channels("DELETE", path + "/channels", nil, ["apns-channel-id": channel]).status == 204)
            let again = try await suite.channels("DELETE", path + "/channels", nil, ["apns-channel-id": channel])
            #expect(again.status == 400 && again.reason == "ChannelNotRegistered")
            #expect(try await listed() == [other])
            // An app can't read the channel of another app.
            let foreign = try await suite.makeChannel(stores: true, app: "com.example.other")
            let crossed = try await suite.channels("GET", path + "/channels", nil, ["apns-channel-id": foreign])
            #expect(crossed.reason == "ChannelNotRegistered")
        }
    }

    @Test func `a channel belongs to its creator until a key names the app`() async throws {
        try await PushSuite.run { suite in
            let ask = { (signer: ProviderSigner, method: String, path: String, channel: String) in
                // A connection belongs to the team of its first token, so each request has its own.
                var headers = ["connection": "close"]
                headers["authorization"] = "bearer \(try await signer.token(issuedAt: RealClock().now))"
                if !channel.isEmpty { headers["apns-channel-id"] = channel }
                if path.hasPrefix("/4/") { headers["apns-push-type"] = "liveactivity" }
                let body: JSON =
                    path.hasPrefix("/4/")
                    ? ["aps": ["event": "update"]] : ["message-storage-policy": 1, "push-type": "LiveActivity"]
                return try await suite.channels(method, path, method == "POST" ? body : nil, headers)
            }
            let (creator, stranger, owner) = (suite.signer, signer("ALIEN"), signer("OWNER"))
            try await suite.register(stranger, port: suite.push)
            let (channels, all) = ("/1/apps/\(PushSuite.app)/channels", "/1/apps/\(PushSuite.app)/all-channels")
            let broadcasts = "/4/broadcasts/apps/\(PushSuite.app)"
            let channel = try #require(try await ask(creator, "POST", channels, "").headers["apns-channel-id"])
            for (method, path) in [("GET", channels), ("DELETE", channels), ("POST", broadcasts)] {
                let refused = try await ask(stranger, method, path, channel)
                #expect(refused.status == 400 && refused.reason == "ChannelNotRegistered", "\(method) \(path)")
            }
            #expect(try await ask(stranger, "GET", all, "").json["channels"]?.items == [])
            #expect(try await ask(creator, "GET", all, "").json["channels"]?.items == [.string(channel)])
            #expect(try await ask(creator, "POST", broadcasts, channel).status == 200)

            try await suite.register(owner, topics: [.string(PushSuite.app)], port: suite.push)
            #expect(try await ask(owner, "GET", all, "").json["channels"]?.items == [.string(channel)])
            let late = try await ask(creator, "GET", channels, channel)
            #expect(late.status == 403 && late.reason == "TopicMismatch", "the app belongs to another team")
            #expect(try await ask(owner, "DELETE", channels, channel).status == 204)
        }
    }

    /// A provider of another team.
    private func signer(_ name: String) -> ProviderSigner {
        var signer = ProviderSigner()
        (signer.keyID, signer.teamID) = ("KEY\(name)01", "TEAM\(name)1")
        return signer
    }

    @Test func `the audit trail has the creation and the removal of a channel`() async throws {
        try await PushSuite.run { suite in
            let channel = try await suite.makeChannel(stores: true)
            let path = "/1/apps/\(PushSuite.app)/channels"
            // The second request removes nothing, so it leaves no row.
            for status in [204, 400] {
                let answer = try await suite.channels("DELETE", path, nil, ["apns-channel-id": channel])
                #expect(answer.status == status)
            }
            let select = Statement(
                """
                SELECT concat_ws('|', action, actor_kind, actor, address, subject, details ->> 'app',
                    details ->> 'environment') FROM bus.audit WHERE action LIKE 'channel.%' ORDER BY at, action
                """)
            let rows = try await suite.withDatabase { try await $0.execute(Query(select)).decode(String.self) }
            let expected = ["created", "removed"].map {
                "channel.\($0)|provider|team:TEAMTEAM01|127.0.0.1|channel:\(channel)|\(PushSuite.app)|sandbox"
            }
            #expect(rows == expected)
        }
    }

    @Test func `an app has at most 10,000 channels`() async throws {
        try await PushSuite.run { suite in
            let channel = try await suite.makeChannel(stores: true)
            try await suite.withDatabase { pool in
                _ = try await pool.execute(Query(Statement("UPDATE push.channel_counts SET channels = 9998")))
            }
            // Two of eight concurrent requests fit below the limit.
            let statuses = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let answer = try await suite.channels(
                            "POST", "/1/apps/\(PushSuite.app)/channels",
                            ["message-storage-policy": 1, "push-type": "LiveActivity"])
                        return "\(answer.status) \(answer.reason ?? "")"
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
            }
            #expect(statuses == ["201 ": 2, "400 CannotCreateChannelConfig": 6])
            let path = "/1/apps/\(PushSuite.app)/channels"
            #expect(try await suite.channels("DELETE", path, nil, ["apns-channel-id": channel]).status == 204)
            _ = try await suite.makeChannel(stores: true)
        }
    }

    @Test func `at most 1,000 broadcasts of a channel wait`() async throws {
        try await PushSuite.run { suite in
            let (full, other) = (try await suite.makeChannel(stores: true), try await suite.makeChannel(stores: true))
            try await suite.withDatabase { pool in
                // No process can claim them.
                let insert = """
                    INSERT INTO push.broadcast_relays (partition, broadcast, channel, leased_until)
                    SELECT 1, -n, '\(full)', 'infinity' FROM generate_series(1, 1000) AS n
                    """
                _ = try await pool.execute(Query(Statement(insert)))
            }
            let refused = try await suite.broadcast(full, "one more")
            #expect(refused.status == 429 && refused.reason == "TooManyRequests")
            #expect(try await suite.broadcast(other, "one").status == 200)
            try await suite.withDatabase { pool in
                _ = try await pool.execute(Query(Statement("DELETE FROM push.broadcast_relays WHERE broadcast = -1")))
            }
            #expect(try await suite.broadcast(full, "one more").status == 200)
        }
    }

    @Test func `a broadcast reaches every subscriber, online or offline`() async throws {
        try await PushSuite.run { suite in
            let storing = try await suite.makeChannel(stores: true)
            let fleeting = try await suite.makeChannel(stores: false)
            for device in ["online", "offline", "stranger"] { _ = try await suite.makeDevice(device) }
            for device in ["online", "offline"] {
                #expect(try await suite.subscribe(device, to: [storing, fleeting]).status == 200)
            }
            var stream = try await DeviceStream(suite, "online")
            for (channel, text) in [(storing, "s1"), (fleeting, "f1"), (storing, "s2")] {
                let sent = try await suite.broadcast(channel, text)
                #expect(sent.status == 200 && sent.headers["apns-request-id"]?.count == 36)
                let got = try #require(try await stream.next())
                #expect(got["payload"]?["text"]?.string == text)
                #expect(got["channel"]?.string == channel && got["pushType"]?.string == "liveactivity")
                #expect(got["apnsID"]?.string == sent.headers["apns-request-id"])
                let id = try #require(got["id"]?.string)
                let timeline = try await suite.send("GET", "/v1/notifications/\(id)").json
                #expect(timeline["channel"]?.string == channel)
                let words = timeline["statuses"]?.items?.compactMap { $0["status"]?.string }
                #expect(words == ["Received", "Delivered"])
            }
            let senders = try await Database(suite).pool.execute(
                Statement("SELECT DISTINCT actor FROM bus.events WHERE type = 'push.notification.received'"))
            #expect(try senders.decode(String?.self) == ["team:\(suite.signer.teamID)"])
            // All subscribers share the request id: each device finds its own notification.
            try await suite.relayed()
            let shared = try await suite.broadcast(storing, "s3")
            let request = try #require(shared.headers["apns-request-id"])
            let received = try #require(try await stream.next())["id"]?.string
            try await suite.relayed()
            let store = PushStore(pool: try Database(suite).pool, partitions: 4)
            #expect(try await store.timeline(request, of: .device("online"))?.document.id == received)
            #expect(try await store.timeline(request, of: .device("offline"))?.key == .device("offline"))
            #expect(try await store.timeline(request, of: .device("stranger")) == nil)
            #expect(try await store.timeline(request) != nil)
            try await suite.relayed()
            // An ordinary notification has its own slot.
            let tokens = try await suite.send("GET", "/v1/devices/offline/apps/\(PushSuite.app)/tokens").json
            let token = try #require(tokens["items"]?[0]?["token"]?.string)
            #expect(try await suite.notify(token, ["text": "alert", "aps": ["alert": "x"]]).status == 200)
            let polled = try await suite.send("GET", "/v1/devices/offline/notifications?wait=0").json["items"]?.items
            #expect(polled?.compactMap { $0["payload"]?["text"]?.string } == ["s3", "alert"])
            #expect(try await suite.received()["device:stranger"] == nil)
        }
    }

    @Test func `broadcasts wait for a device that can't take them, and reach it in order`() async throws {
        try await PushSuite.run { suite in
            let channel = try await suite.makeChannel(stores: true)
            for device in ["sick", "well"] {
                _ = try await suite.makeDevice(device)
                #expect(try await suite.subscribe(device, to: [channel]).status == 200)
            }
            let forgetsCache = Query(Statement("UPDATE bus.cursors SET last_batch = gen_random_uuid()"))
            let texts = ["one", "two", "three"]
            try await suite.withDatabase { pool in
                let sick = Statement("SELECT state FROM push.states WHERE key = 'device:sick'")
                let state = try await pool.execute(Query(sick))[0].decode([UInt8].self, at: 0)
                let write = Statement("UPDATE push.states SET state = $1 WHERE key = 'device:sick'")
                _ = try await pool.execute([Query(write, [.bytes([0])]), forgetsCache])
                for text in texts { #expect(try await suite.broadcast(channel, text).status == 200) }
                try await suite.relayed()
                #expect(try await suite.received() == ["device:well": texts])
                _ = try await pool.execute([Query(write, [.bytes(state)]), forgetsCache])
                try await eventually(within: 60, describe: "the device has the broadcasts") {
                    // Skips the minute until the retry.
                    _ = try await pool.execute(
                        Query(Statement("UPDATE push.undelivered_broadcasts SET retry_at = '-infinity'")))
                    return try await suite.received()["device:sick"] == texts
                }
                try await eventually(within: 60, describe: "the broadcasts are deleted") {
                    try await pool.execute(Query(Statement("SELECT FROM push.broadcasts"))).isEmpty
                }
            }
        }
    }

    @Test func `a device that is not subscribed gets no broadcast`() async throws {
        try await PushSuite.run { suite in
            let channel = try await suite.makeChannel(stores: true)
            let other = try await suite.makeChannel(stores: true)
            for device in ["changed", "left", "gone", "stays"] {
                _ = try await suite.makeDevice(device)
                #expect(try await suite.subscribe(device, to: [channel]).status == 200)
            }
            #expect(try await suite.subscribe("changed", to: [other]).status == 200)
            let app = "apps/\(PushSuite.app)"
            try await suite.unregister("left")
            let removed = try await suite.send("DELETE", "/v1/devices/gone/\(app)", port: suite.lifecycle)
            let read = try await suite.send("GET", "/v1/devices/gone/\(app)/explain", after: removed)
            #expect(read.code == "app_not_installed")
            #expect(try await suite.broadcast(channel, "one").status == 200)
            try await suite.relayed()
            #expect(try await suite.received() == ["device:stays": ["one"]])

            // Unknown channels are refused and change nothing.
            let unknown = try await suite.subscribe("stays", to: [Data(count: 16).base64EncodedString()])
            #expect(unknown.status == 422 && unknown.code == "unknown_channel")
            #expect(try await suite.subscribe("stays", to: ["no channel"]).code == "invalid_document")
            let many = Array(repeating: channel, count: 101)
            #expect(try await suite.subscribe("stays", to: many).code == "invalid_document")
            #expect(try await suite.broadcast(channel, "two").status == 200)
            let path = "/1/apps/\(PushSuite.app)/channels"
            // Broadcasts accepted before the deletion of the channel still arrive.
            #expect(try await suite.channels("DELETE", path, nil, ["apns-channel-id": channel]).status == 204)
            #expect(try await suite.broadcast(channel, "three").reason == "ChannelNotRegistered")
            try await suite.relayed()
            #expect(try await suite.received() == ["device:stays": ["one", "two"]])
        }
    }

    /// The relays are committed before the answer, so another process can continue them.
    @Test func `a killed process neither loses nor repeats a broadcast`() async throws {
        try await PushSuite.run { suite in
            let channel = try await suite.makeChannel(stores: true)
            let devices = (0..<240).map { "d\($0)" }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for share in 0..<12 {
                    group.addTask {
                        for device in devices[(share * 20)..<(share * 20 + 20)] {
                            _ = try await suite.makeDevice(device)
                            #expect(try await suite.subscribe(device, to: [channel]).status == 200)
                        }
                    }
                }
                try await group.waitForAll()
            }
            let first = try await suite.another()
            // The suite's own process must not continue the relays of the killed one.
            suite.pause()
            // A transaction that the stop interrupts blocks the other process until the database ends it.
            try await Backends.rest(in: suite.url)
            try await suite.withDatabase { pool in
                // The last device of each partition is locked, so its batch hangs after some devices are done.
                try await pool.transaction { connection in
                    _ = try await connection.execute(
                        Query(Statement("SET LOCAL idle_in_transaction_session_timeout = 0")))
                    let locked = Statement(
                        """
                        SELECT FROM push.states WHERE (partition, key) IN (
                            SELECT partition, max(key) FROM push.states GROUP BY partition) FOR UPDATE
                        """)
                    _ = try await connection.execute(Query(locked))
                    let answer = try await suite.broadcast(channel, "goal", port: first.port)
                    #expect(answer.status == 200, "\(answer)")
                    try await eventually(within: 60, describe: "some devices have the broadcast") {
                        try await suite.received().count > 20
                    }
                    first.process.signal(SIGKILL)
                    _ = try await first.process.exit()
                    #expect(try await suite.received().count < 240)
                }
            }
            suite.resume()
            try await suite.relayed()
            let received = try await suite.received()
            #expect(received.count == 240)
            #expect(received.values.allSatisfy { $0 == ["goal"] })
        }
    }

    @Test func `the broadcast capability is set for each app`() async throws {
        try await PushSuite.run(["APNS_BROADCAST": "com.example.other"]) { suite in
            let path = "/1/apps/\(PushSuite.app)/all-channels"
            let refused = try await suite.channels("GET", path)
            #expect(refused.status == 400 && refused.reason == "FeatureNotEnabled")
            _ = try await suite.makeChannel(stores: true, app: "com.example.other")
        }
    }
}
