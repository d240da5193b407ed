import Contracts
import Crypto
import Foundation
import JWTKit
import Records
import Testing
import Timeline

@testable import PushService

/// A valid request of a provider, and changes to it.
private struct Sent: Sendable {
    var method = "POST"
    var path = "/3/device/00"
    var headers = ["apns-topic": "com.example.app", "apns-push-type": "alert"]
    var repeated: [String] = []
    var body: [UInt8]? = Array(#"{"aps":{"alert":"hello"}}"#.utf8)
    var topics: [String] = []

    var request: ProviderRequest {
        let all = headers.map { ($0.key, $0.value) } + repeated.map { ($0, headers[$0] ?? "x") }
        return ProviderRequest(method: method, path: path, headers: all.map { (name: $0.0, value: $0.1) }, body: body)
    }

    func draft() throws -> ProviderRules.Draft {
        _ = try ProviderRules.token(request)
        try ProviderRules.requireSingleHeaders(request)
        let id = try ProviderRules.apnsID(request)
        let key = ProviderKey(
            keyID: "KEYKEYKEY1", teamID: "TEAMTEAM01", environment: "sandbox", topics: topics,
            publicKey: P256.Signing.PrivateKey().publicKey)
        return try ProviderRules.draft(request, apnsID: id, grant: ProviderGrant(topics: key.topics))
    }

    static func but(_ change: (inout Sent) -> Void) -> Sent {
        var sent = Sent()
        change(&sent)
        return sent
    }

    static func header(_ name: String, _ value: String?) -> Sent { but { $0.headers[name] = value } }

    static func type(_ type: String, _ topic: String, size: Int = 100) -> Sent {
        but {
            $0.headers["apns-push-type"] = type
            $0.headers["apns-topic"] = topic
            $0.body = sized(size)
        }
    }

    /// Returns a payload with this number of levels.
    static func nested(_ levels: Int) -> [UInt8] {
        Array((String(repeating: #"{"x":"#, count: levels) + "1" + String(repeating: "}", count: levels)).utf8)
    }

    /// Returns a payload of this size in bytes.
    static func sized(_ size: Int) -> [UInt8] {
        let frame = #"{"aps":{},"x":""}"#
        return Array((frame.dropLast(2) + String(repeating: "x", count: size - frame.utf8.count) + #""}"#).utf8)
    }
}

@Suite struct ProviderRulesTests {
    private static let refusals: [(APNsReason, Sent)] = [
        (.badPath, .but { $0.path = "/3/devices/00" }),
        (.badPath, .but { $0.path = "/2/device/00" }),
        (.badPath, .but { $0.path = "/3/device/00/x" }),
        (.methodNotAllowed, .but { $0.method = "GET" }),
        (
            .methodNotAllowed,
            .but {
                $0.method = "PUT"; $0.path = "/3/device/"
            }
        ),
        (.missingDeviceToken, .but { $0.path = "/3/device/" }),
        (.missingDeviceToken, .but { $0.path = "/3/device" }),
        (.duplicateHeaders, .but { $0.repeated = ["apns-topic"] }),
        (
            .duplicateHeaders,
            .but {
                $0.headers["authorization"] = "bearer x"; $0.repeated = ["authorization"]
            }
        ),
        (.badMessageID, .header("apns-id", "1234")),
        (.badMessageID, .header("apns-id", "EC1BF194-B3B2-424A-8BE9-1DEB9F95B4CB")),
        (.badExpirationDate, .header("apns-expiration", "tomorrow")),
        (.badExpirationDate, .header("apns-expiration", "-1")),
        (.badExpirationDate, .header("apns-expiration", "99999999999999999999")),
        (.badPriority, .header("apns-priority", "7")),
        (.badPriority, .header("apns-priority", "05")),
        (
            .badPriority,
            .but {
                $0.headers["apns-push-type"] = "background"; $0.headers["apns-priority"] = "10"
            }
        ),
        (.badCollapseID, .header("apns-collapse-id", String(repeating: "x", count: 65))),
        (.badCollapseID, .header("apns-collapse-id", String(repeating: "é", count: 33))),
        (.badCollapseID, .header("apns-collapse-id", "a\u{0}b")),
        (.badCollapseID, .header("apns-collapse-id", "a\u{1B}b")),
        (.invalidPushType, .header("apns-push-type", "shout")),
        (.forbidden, .header("apns-push-type", "mdm")),
        (.missingTopic, .header("apns-topic", nil)),
        (.missingTopic, .header("apns-topic", "")),
        (.badTopic, .header("apns-topic", "no spaces")),
        (.badTopic, .type("voip", "com.example.app")),
        (.badTopic, .type("voip", ".voip")),
        (.topicDisallowed, .but { $0.topics = ["com.example.other"] }),
        (.payloadEmpty, .but { $0.body = [] }),
        (.payloadEmpty, .but { $0.body = Array("hello".utf8) }),
        (.payloadEmpty, .but { $0.body = Array("[1]".utf8) }),
        (.payloadEmpty, .but { $0.body = Array(#"{"aps":{"alert":"a\u0000"}}"#.utf8) }),
        (.payloadEmpty, .but { $0.body = Array(#"{"aps":{},"\u0000":1}"#.utf8) }),
        (.payloadEmpty, .but { $0.body = Sent.nested(25) }),
        (.payloadTooLarge, .but { $0.body = Sent.sized(4097) }),
        (.payloadTooLarge, .but { $0.body = nil }),
        (.payloadTooLarge, .type("voip", "com.example.app.voip", size: 5121)),
        // The first of several faults counts.
        (.badMessageID, .but { $0.headers = ["apns-id": "x", "apns-priority": "x", "apns-topic": ""] }),
        (.badPriority, .but { $0.headers = ["apns-priority": "x", "apns-collapse-id": "", "apns-push-type": "x"] }),
        (
            .missingTopic,
            .but {
                $0.headers = [:]; $0.body = []
            }
        ),
    ]

    @Test func `a request that violates a rule gets its reason`() throws {
        for (reason, sent) in Self.refusals {
            #expect(throws: reason, "\(sent)") { try sent.draft() }
        }
    }

    @Test(arguments: [
        ("alert", ""), ("background", ""), ("voip", ".voip"), ("pushtotalk", ".voip-ptt"),
        ("complication", ".complication"), ("fileprovider", ".pushkit.fileprovider"),
        ("location", ".location-query"), ("liveactivity", ".push-type.liveactivity"),
        ("widgets", ".push-type.widgets"), ("controls", ".push-type.controls"),
    ])
    func `a topic must have the suffix of its type`(_ type: String, _ suffix: String) throws {
        let draft = try Sent.type(type, "com.example.app" + suffix).draft()
        #expect(draft.app == "com.example.app")
        #expect(draft.topic == "com.example.app" + suffix)
        #expect(draft.pushType.rawValue == type)
    }

    @Test func `absent headers have defaults`() throws {
        let draft = try Sent().draft()
        #expect(draft.priority == 10)
        #expect(draft.expiration == nil)
        #expect(draft.apnsID.wholeMatch(of: /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/) != nil)
        #expect(try Sent.header("apns-expiration", "0").draft().expiration == 0)
        #expect(try Sent.type("background", "com.example.app").draft().priority == 5)
    }

    @Test func `a push without a type gets the type of its payload`() throws {
        func type(_ payload: String) throws -> PushType {
            try Sent.but {
                $0.headers["apns-push-type"] = nil
                $0.body = Array(payload.utf8)
            }.draft().pushType
        }
        #expect(try type(#"{"aps":{"content-available":1}}"#) == .background)
        #expect(try type(#"{"aps":{"content-available":1,"sound":"x"}}"#) == .alert)
        #expect(try type(#"{"aps":{"alert":"x"}}"#) == .alert)
    }

    @Test(
        arguments: [
            // A named type whose payload has an alert, a sound or a badge is accepted.
            ("background", "5", #"{"content-available":1,"alert":"x"}"#, PushType.background, 5),
            ("background", nil, #"{"content-available":1,"sound":"x"}"#, .background, 5),
            ("background", "1", #"{"badge":3}"#, .background, 1),
            // A named type with priority 10 is refused.
            ("background", "10", #"{"content-available":1}"#, nil, 0),
            ("background", "10", #"{"content-available":1,"alert":"x"}"#, nil, 0),
            // The type follows from the payload.
            (nil, "5", #"{"content-available":1}"#, .background, 5),
            (nil, nil, #"{"content-available":1}"#, .background, 5),
            (nil, "10", #"{"content-available":1}"#, nil, 0),
            // A payload with an alert is a background push only if the type names it so.
            (nil, "10", #"{"content-available":1,"alert":"x"}"#, .alert, 10),
            ("alert", "10", #"{"content-available":1}"#, .alert, 10),
        ] as [(String?, String?, String, PushType?, Int)])
    func `a background push must not have priority 10`(
        _ named: String?, _ priority: String?, _ aps: String, _ type: PushType?, _ resulting: Int
    ) throws {
        let sent = Sent.but {
            $0.headers["apns-push-type"] = named
            $0.headers["apns-priority"] = priority
            $0.body = Array(#"{"aps":\#(aps)}"#.utf8)
        }
        guard let type else {
            _ = #expect(throws: APNsReason.badPriority) { try sent.draft() }
            return
        }
        let draft = try sent.draft()
        #expect(draft.pushType == type && draft.priority == resulting)
    }

    @Test func `the largest payloads are accepted`() throws {
        #expect(throws: Never.self) { try Sent.but { $0.body = Sent.sized(4096) }.draft() }
        #expect(throws: Never.self) { try Sent.type("voip", "com.example.app.voip", size: 5120).draft() }
        #expect(throws: Never.self) { try Sent.but { $0.body = Sent.nested(24) }.draft() }
    }

    @Test func `every reason has a documented status`() {
        for reason in APNsReason.allCases {
            let answer = ProviderAnswer.refused(reason, apnsID: "x", timestamp: reason.status == 410 ? 7 : nil)
            #expect([400, 403, 404, 405, 410, 413, 429, 500, 503].contains(answer.status))
            let expected = reason.status == 410 ? #","timestamp":7"# : ""
            #expect(String(decoding: answer.body, as: UTF8.self) == #"{"reason":"\#(reason.rawValue)"\#(expected)}"#)
        }
    }
}
