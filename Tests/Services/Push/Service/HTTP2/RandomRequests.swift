import Foundation
import NIOHPACK
import TestSupport

/// Random requests that are valid HTTP/2 but mostly invalid for APNs.
struct RandomRequests {
    struct Request { let headers: HPACKHeaders; let body: [UInt8] }

    private let token: String
    private let bearer: String
    private var random: SplitMix64

    init(token: String, bearer: String, seed: UInt64) {
        self.token = token
        self.bearer = bearer
        random = SplitMix64(seed: seed)
    }

    mutating func next() -> Request {
        var headers = HPACKHeaders([
            (":method", once(in: 8) ? pick("GET", "PUT", "DELETE", "BREW") : "POST"), (":scheme", "https"),
            (":path", path()), (":authority", "localhost"),
        ])
        if !once(in: 8) {
            headers.add(
                name: "authorization",
                value: pick(
                    "bearer \(bearer)", "bearer \(bearer)", "bearer \(bearer)", "bearer x.y.z", "basic eA==", ""))
        }
        if !once(in: 8) {
            headers.add(
                name: "apns-topic",
                value: pick("com.example.app", "com.example.app", "com.example.app.voip", "com.other", noise(40)))
        }
        if once(in: 2) {
            headers.add(
                name: "apns-push-type",
                value: pick("alert", "background", "voip", "location", "mdm", "nonsense", noise(9)))
        }
        if once(in: 3) { headers.add(name: "apns-priority", value: pick("10", "5", "1", "0", "-1", noise(3))) }
        if once(in: 3) {
            headers.add(name: "apns-expiration", value: pick("0", "1", "99999999999999999999", "1893456000", noise(4)))
        }
        if once(in: 4) { headers.add(name: "apns-collapse-id", value: noise(Int.random(in: 0...90, using: &random))) }
        if once(in: 4) { headers.add(name: "apns-id", value: pick("0d4ed9a6-7b5f-4f10-a9a2-1f2f6f0a8f11", noise(36))) }
        if once(in: 12) { headers.add(name: "apns-topic", value: "com.example.app") }
        if once(in: 6) { headers.add(name: "x-\(Int.random(in: 0...99, using: &random))", value: noise(200)) }
        return Request(headers: headers, body: body())
    }

    private mutating func path() -> String {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: "/" + noise(30)
        case 1: "/3/device/" + noise(64)
        case 2:
            pick("/3/device/", "/3/device", "/3", "/", "/4/broadcasts/apps/com.example.app", "/1/apps/x/channels", "*")
        default: "/3/device/" + token
        }
    }

    private mutating func body() -> [UInt8] {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: []
        case 1: (0..<Int.random(in: 1...300, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        case 2:
            Array(#"{"aps":{"alert":""#.utf8)
                + Array(repeating: 0x61, count: Int.random(in: 3000...9000, using: &random)) + Array(#""}}"#.utf8)
        case 3:
            Array(
                pick("[]", "1", "null", "{", #"{"aps":1}"#, #"{"aps":{"alert":{"a":[[[[]]]]}}}"#, #"{"a":1,"a":2}"#)
                    .utf8)
        case 4: Array(String(repeating: "[", count: 2000).utf8)
        case 5: Array(#"{"aps":{"content-available":1}}"#.utf8)
        default: Array(#"{"aps":{"alert":"hi"}}"#.utf8)
        }
    }

    private mutating func once(in count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
    private mutating func pick(_ words: String...) -> String { words.randomElement(using: &random) ?? "" }
    /// Visible ASCII: HTTP/2 itself rejects other bytes before the endpoint.
    private mutating func noise(_ count: Int) -> String {
        String(decoding: (0..<count).map { _ in UInt8.random(in: 0x21...0x7E, using: &random) }, as: UTF8.self)
    }
}
