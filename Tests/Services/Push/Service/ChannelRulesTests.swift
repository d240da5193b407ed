import Records
import Testing

@testable import PushService

@Suite struct ChannelRulesTests {
    private func request(
        _ method: String, _ path: String, _ headers: [String: String] = [:], _ body: String = ""
    ) -> ProviderRequest {
        ProviderRequest(
            method: method, path: path, headers: headers.map { (name: $0.key, value: $0.value) },
            body: Array(body.utf8))
    }

    @Test func `paths and methods are those of Apple's API`() throws {
        let app = "com.example.app"
        let asked: [(String, String, ChannelRequest.Action)] = [
            ("POST", "/1/apps/\(app)/channels", .create), ("GET", "/1/apps/\(app)/channels", .read),
            ("DELETE", "/1/apps/\(app)/channels", .delete), ("GET", "/1/apps/\(app)/all-channels", .list),
            ("POST", "/4/broadcasts/apps/\(app)", .broadcast),
        ]
        for (method, path, action) in asked {
            let read = try ChannelRequest(request(method, path))
            #expect(read.action == action && read.app == app)
        }
        for (method, path) in [
            ("PUT", "/1/apps/a/channels"), ("POST", "/1/apps/a/all-channels"), ("GET", "/4/broadcasts/apps/a"),
        ] {
            #expect(throws: APNsReason.methodNotAllowed) { try ChannelRequest(request(method, path)) }
        }
        for path in [
            "/1/apps/a", "/1/apps//channels", "/1/apps/a/channels/x", "/1/app/a/channels", "/4/apps/a",
            "/4/broadcasts/apps/",
            "/4/broadcasts/apps/a/b", "/1/apps/a b/channels",
        ] {
            #expect(throws: APNsReason.badPath) { try ChannelRequest(request("POST", path)) }
        }
    }

    @Test func `an app must belong to the key and have no type suffix`() throws {
        func check(_ app: String, topics: [String] = [], _ feature: BroadcastFeature = .all) throws {
            try ChannelRequest(request("POST", "/4/broadcasts/apps/\(app)")).requireApp(
                of: ProviderGrant(topics: topics), feature)
        }
        try check("a")
        try check("a", topics: ["b", "a"])
        try check("a", topics: ["a.push-type.liveactivity"])
        #expect(throws: APNsReason.topicMismatch) { try check("a", topics: ["b"]) }
        #expect(throws: APNsReason.topicDisallowed) { try check("a.push-type.liveactivity") }
        #expect(throws: APNsReason.topicDisallowed) { try check("a.voip", topics: ["b"]) }
        var key = try ProviderSigner().registered()
        (key.teamID, key.topics) = ("A", ["a"])
        let owners = TopicOwners([key])
        func check(_ app: String, by team: String) throws {
            try ChannelRequest(request("GET", "/1/apps/\(app)/all-channels")).requireApp(
                of: ProviderGrant(team: team, owners: owners), .all)
        }
        try check("a", by: "A")
        try check("c", by: "B")
        #expect(throws: APNsReason.topicMismatch) { try check("a", by: "B") }
        let some = try #require(BroadcastFeature("a,b"))
        try check("a", some)
        #expect(throws: APNsReason.featureNotEnabled) { try check("c", some) }
        #expect(throws: APNsReason.featureNotEnabled) { try check("a", try #require(BroadcastFeature("none"))) }
        #expect(BroadcastFeature("all") == .all)
        #expect(BroadcastFeature("a,,b") == nil && BroadcastFeature("a b") == nil)
    }

    @Test func `the body for a new channel has exactly two members`() throws {
        func read(_ text: String) throws -> Bool { try ChannelConfiguration(Array(text.utf8)).stores }
        #expect(try read(#"{"message-storage-policy":1,"push-type":"LiveActivity"}"#))
        #expect(try !read(#"{"push-type":"LiveActivity","message-storage-policy":0}"#))
        let refused: [(APNsReason, String)] = [
            (.badRequestPayload, ""), (.badRequestPayload, "[]"), (.badRequestPayload, "{"), (.badRequestParams, "{}"),
            (.badRequestParams, #"{"message-storage-policy":2,"push-type":"LiveActivity"}"#),
            (.badRequestParams, #"{"message-storage-policy":"1","push-type":"LiveActivity"}"#),
            (.badRequestParams, #"{"message-storage-policy":1,"push-type":"LiveActivity","x":1}"#),
            (.missingPushType, #"{"message-storage-policy":1}"#),
            (.invalidPushType, #"{"message-storage-policy":1,"push-type":"alert"}"#),
        ]
        for (reason, body) in refused { #expect(throws: reason, "\(body)") { try read(body) } }
        #expect(throws: APNsReason.payloadTooLarge) { try ChannelConfiguration(nil) }
    }

    @Test func `a broadcast that violates a rule is refused with its reason`() throws {
        let channel = ChannelID().description
        func draft(_ headers: [String: String] = [:], _ body: String = #"{"aps":{}}"#) throws -> BroadcastDraft {
            let all = ["apns-channel-id": channel, "apns-push-type": "liveactivity"].merging(headers) { $1 }
            return try BroadcastDraft(
                request("POST", "/4/broadcasts/apps/a", all.filter { $0.value != "none" }, body))
        }
        let plain = try draft()
        #expect(plain.priority == 10 && plain.expiration == nil && plain.channel.description == channel)
        #expect(try draft(["apns-push-type": "LiveActivity", "apns-priority": "5"]).priority == 5)
        let refused: [(APNsReason, [String: String])] = [
            (.missingChannelID, ["apns-channel-id": "none"]), (.badChannelID, ["apns-channel-id": "***"]),
            (.badChannelID, ["apns-channel-id": channel + "AAAA"]), (.badExpirationDate, ["apns-expiration": "soon"]),
            (.badChannelID, ["apns-channel-id": String(repeating: "A", count: 24)]),
            (.badPriority, ["apns-priority": "3"]), (.missingPushType, ["apns-push-type": "none"]),
            (.invalidPushType, ["apns-push-type": "alert"]),
        ]
        for (reason, headers) in refused { #expect(throws: reason, "\(headers)") { try draft(headers) } }
        #expect(throws: APNsReason.payloadEmpty) { try draft([:], "") }
        #expect(throws: APNsReason.payloadEmpty) { try draft([:], "[1]") }
        #expect(throws: APNsReason.payloadEmpty) { try draft([:], #"{"aps":{"content-state":{"a":"\u0000"}}}"#) }
        let frame = #"{"x":""}"#
        func sized(_ size: Int) -> String {
            #"{"x":""# + String(repeating: "x", count: size - frame.utf8.count) + #""}"#
        }
        #expect(throws: Never.self) { try draft([:], sized(5120)) }
        #expect(throws: APNsReason.payloadTooLarge) { try draft([:], sized(5121)) }
        // A channel that stores nothing accepts only expiration 0.
        for (expiration, isTaken) in [("none", true), ("0", true), ("1900000000", false)] {
            let draft = try draft(["apns-expiration": expiration])
            #expect(throws: Never.self) { try draft.requireExpiration(of: ChannelConfiguration(stores: true)) }
            let nothing = Result { () throws(APNsReason) in
                try draft.requireExpiration(of: ChannelConfiguration(stores: false))
            }
            #expect((try? nothing.get()) != nil || !isTaken)
            if !isTaken { #expect(throws: APNsReason.badExpirationDate) { try nothing.get() } }
        }
    }
}
