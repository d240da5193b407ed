import AsyncHTTPClient
import Foundation
import NIOCore
import Records
import TestSupport
import Testing
import Timeline

@testable import PushService

/// Every process of `push` knows at once what another process has acknowledged.
@Suite(.tags(.database, .processes), .timeLimit(.minutes(4))) struct ReplicaTests {
    private static let width = 10

    @Test func `a provider key is known to every replica once its registration is answered`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            try await suite.withReplica { other in
                var refused: [String] = []
                for round in 0..<20 {
                    // Each key belongs to a team of its own. One process registers it, and the other uses it.
                    let (there, here) = round.isMultiple(of: 2) ? (suite.push, other) : (other, suite.push)
                    refused += try await withThrowingTaskGroup(of: String?.self) { group in
                        for place in 0..<Self.width {
                            group.addTask {
                                var signer = ProviderSigner()
                                signer.keyID = "KEY" + Self.digits(round * Self.width + place)
                                signer.teamID = "TEA" + Self.digits(round * Self.width + place)
                                try await suite.register(signer, port: there)
                                let answer = try await suite.push(to: token, as: signer, port: here)
                                // All use one device token, which accepts a hundred at once.
                                return [200, 429].contains(answer.status) ? nil : answer.json["reason"]?.string ?? "?"
                            }
                        }
                        return try await group.reduce(into: []) { $0 += $1.map { [$0] } ?? [] }
                    }
                }
                #expect(refused == [])
            }
        }
    }

    @Test func `a team may not send to an app that a key of another team names`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            var (owner, stranger) = (ProviderSigner(), ProviderSigner())
            (owner.keyID, owner.teamID) = ("KEYOWNER01", "TEAMOWNER1")
            (stranger.keyID, stranger.teamID) = ("KEYALIEN01", "TEAMALIEN1")
            try await suite.register(stranger, port: suite.push)
            let early = try await suite.push(to: token, as: stranger, port: suite.push)
            #expect(early.status == 200, "nobody owns the app")
            try await suite.register(owner, topics: [.string(PushSuite.app)], port: suite.push)
            #expect(try await suite.push(to: token, as: owner, port: suite.push).status == 200)
            let refused = try await suite.push(to: token, as: stranger, port: suite.push)
            #expect(refused.status == 400 && refused.json["reason"] == "TopicDisallowed")
        }
    }

    @Test func `a key that is registered again has its new point and topics at every replica`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            try await suite.withReplica { other in
                var signer = ProviderSigner()
                (signer.keyID, signer.teamID) = ("KEYRENEWED", "TEAMRENEW1")
                try await suite.register(signer, topics: ["com.example.elsewhere"], port: suite.push)
                #expect(try await suite.push(to: token, as: signer, port: other).json["reason"] == "TopicDisallowed")
                let path = "/v1/provider-keys/\(signer.teamID)/\(signer.keyID)"
                #expect(try await suite.send("DELETE", path).status == 204)
                try await suite.register(signer, port: suite.push)
                #expect(try await suite.push(to: token, as: signer, port: other).status == 200, "new topics")
                #expect(try await suite.send("DELETE", path).status == 204)
                var renewed = ProviderSigner()
                (renewed.keyID, renewed.teamID) = (signer.keyID, signer.teamID)
                try await suite.register(renewed, port: suite.push)
                #expect(try await suite.push(to: token, as: renewed, port: other).status == 200, "a new point")
            }
        }
    }

    @Test func `a device token is valid at every replica once its registration is answered`() async throws {
        try await PushSuite.run { suite in
            try await suite.withReplica { other in
                var answers: [Int: Int] = [:]
                let bearer = try await suite.bearer()
                for round in 0..<10 {
                    let (there, here) = round.isMultiple(of: 2) ? (suite.push, other) : (other, suite.push)
                    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                        for place in 0..<Self.width {
                            group.addTask {
                                let device = "phone-\(round)-\(place)"
                                let first = try await suite.makeDevice(device, at: there)
                                let path = "/v1/devices/\(device)/apps/\(PushSuite.app)/registration"
                                let status = try await suite.push(to: first, bearer: bearer, port: here).status
                                // Repeats it: from now on the other process caches the device's routing.
                                #expect(try await suite.send("DELETE", path, port: there).status == 204)
                                let again = try await suite.send(
                                    "PUT", path, ["environment": "sandbox"], port: there)
                                let second = try #require(again.json["token"]?.string)
                                let renewed = try await suite.push(to: second, bearer: bearer, port: here).status
                                return status == 200 ? renewed : status
                            }
                        }
                        return try await group.reduce(into: []) { $0.append($1) }
                    }
                    for status in statuses { answers[status, default: 0] += 1 }
                }
                #expect(answers == [200: 10 * Self.width])
            }
        }
    }

    /// Seven decimal digits, which names of keys may contain.
    private static func digits(_ number: Int) -> String { String(String(10_000_000 + number).dropFirst()) }
}

extension PushSuite {
    func register(_ signer: ProviderSigner, topics: [JSON] = [], port: Int) async throws {
        let key: JSON = [
            "keyID": .string(signer.keyID), "teamID": .string(signer.teamID), "publicKey": .string(signer.publicKey),
            "environment": "sandbox", "topics": .array(topics),
        ]
        #expect(try await send("POST", "/v1/provider-keys", key, port: port).status == 201)
    }

    fileprivate func push(to token: String, as signer: ProviderSigner, port: Int) async throws -> Answer {
        try await push(to: token, bearer: try await signer.token(issuedAt: RealClock().now), port: port)
    }

    /// Uses a connection of its own, because a connection is bound to its first team.
    fileprivate func push(to token: String, bearer: String, port: Int) async throws -> Answer {
        try await send(
            "POST", "/3/device/\(token)", ["aps": ["alert": "hi"]], port: port,
            ["apns-topic": Self.app, "authorization": "bearer \(bearer)", "connection": "close"])
    }

    /// Makes a device with an app on screen, and registers the app at a process.
    fileprivate func makeDevice(_ device: String, at port: Int) async throws -> String {
        let path = "/v1/devices/\(device)"
        _ = try await send("PUT", path, ["profile": "ios18"], port: lifecycle)
        let manifest: JSON = ["notificationAuthorization": "authorized"]
        _ = try await send("PUT", "\(path)/apps/\(Self.app)", manifest, port: lifecycle)
        let launched = try await send(
            "POST", "\(path)/apps/\(Self.app)/transitions", ["event": "launch"], port: lifecycle)
        let position = try #require(launched.headers["dormouse-position"])
        let registered = try await send(
            "PUT", "\(path)/apps/\(Self.app)/registration", ["environment": "sandbox"], port: port,
            ["Dormouse-Position": position])
        #expect(registered.status == 200)
        return try #require(registered.json["token"]?.string)
    }
}
