import AsyncHTTPClient
import Contracts
import Foundation
import Glibc
import Identity
import NIOCore
import NIOHTTP1
import Postgres
import Records
import TestSupport
import Testing

@testable import LifecycleService

@Suite("Tokens of devices and fleets", .tags(.database, .processes), .timeLimit(.minutes(5))) struct LifecycleTokenTests
{
    @Test func `only the first registration returns the token`() async throws {
        try await LifecycleFixture.run { fixture in
            let first = try await fixture.send("PUT", "/v1/devices/d1", #"{"profile":"ios15"}"#)
            #expect(first.status == 201)
            let token = try #require(first["token"]?.string)
            #expect(first.headers.first(name: "Dormouse-Position") != nil)
            for profile in ["ios15", "ios18"] {
                let again = try await fixture.send("PUT", "/v1/devices/d1", #"{"profile":"\#(profile)"}"#)
                #expect(again.status == 200)
                #expect(again["token"] == nil)
                #expect(again["registration"]?["profile"]?.string == profile)
            }
            #expect(try await fixture.send("GET", "/v1/devices/d1", key: token).status == 200)
        }
    }

    @Test func `TOKEN_DAYS limits the life of new tokens`() async throws {
        let cluster = try await PrivateCluster.shared()
        let url = cluster.url(database: try await cluster.makeNamedDatabase())
        try await ChildProcess.migrate("lifecycle", url)
        let (process, port) = try await ChildProcess.serve(
            "lifecycle", url, ["--insecure-dev", "--log-level", "warning", "--token-days", "2"])
        defer { process.signal(SIGTERM) }
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/v1/devices/d1")
        request.method = .PUT
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(string: #"{"profile":"ios18"}"#))
        let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let document = try JSON(parsing: try await answer.body.collect(upTo: 1 << 20).readableBytesView)
        let parts = try #require(document["token"]?.string).split(separator: ".")
        // RFC 7515 section 2: base64url without padding.
        let text = String(parts[1]).replacing("-", with: "+").replacing("_", with: "/")
        let padded = text + String(repeating: "=", count: (4 - text.count % 4) % 4)
        let claims = try JSON(parsing: try #require(Data(base64Encoded: padded)))
        let (from, until) = (try #require(claims["iat"]?.int), try #require(claims["exp"]?.int))
        #expect(until - from == 2 * 86_400)
    }

    @Test func `the database contains no token`() async throws {
        try await LifecycleFixture.run { fixture in
            let headers = ["Idempotency-Key": "k1"]
            let first = try await fixture.send("PUT", "/v1/devices/d1", #"{"profile":"ios15"}"#, headers)
            let token = try #require(first["token"]?.string)
            let second = try await fixture.send("POST", "/v1/devices/d1/token", nil, headers.mapValues { $0 + "b" })
            let replaced = try #require(second["token"]?.string)
            let repeated = try await fixture.send("PUT", "/v1/devices/d1", #"{"profile":"ios15"}"#, headers)
            #expect(repeated.status == 200 && repeated["token"] == nil)
            // The search itself works: it finds the name of the device.
            let fleets = try await fixture.send("POST", "/v1/fleets/blue/token", nil, headers.mapValues { $0 + "c" })
            let fleet = try #require(fleets["token"]?.string)
            for (text, isThere) in [(token, false), (replaced, false), (fleet, false), ("d1", true)] {
                let rows = try await fixture.pool.execute(
                    Query(
                        Statement(
                            """
                            SELECT (SELECT count(*) FROM bus.events AS e WHERE position($1 IN e::text) > 0),
                                (SELECT count(*) FROM bus.idempotency AS i
                                 WHERE position($1::bytea IN i.answer) > 0)
                            """), [.text(text)]))
                let (first, second) = try rows[0].decode((Int, Int).self)
                #expect((first > 0) == isThere && (second > 0) == isThere)
            }
        }
    }

    @Test func `the tokens of a fleet are revoked, and later ones are valid`() async throws {
        try await LifecycleFixture.run { fixture in
            func token(_ fleet: String) async throws -> String {
                try #require(try await fixture.send("POST", "/v1/fleets/\(fleet)/token")["token"]?.string)
            }
            _ = try await fixture.send("PUT", "/v1/devices/d1", #"{"profile":"ios15","fleet":"blue"}"#)
            let (old, other) = (try await token("blue"), try await token("red"))
            #expect(try await fixture.send("GET", "/v1/devices/d1", key: old).status == 200)
            #expect(try await fixture.send("DELETE", "/v1/fleets/blue/token", key: old).status == 403)
            #expect(try await fixture.send("DELETE", "/v1/fleets/blue/token").status == 204)
            try await eventually(describe: "the old token is refused") {
                try await fixture.send("GET", "/v1/devices/d1", key: old).status == 401
            }
            #expect(try await fixture.send("GET", "/v1/devices/d1", key: token("blue")).status == 200)
            #expect(try await fixture.send("GET", "/v1/devices/d1", key: other).status == 404)
        }
    }

    @Test func `of tokens issued at the same time only the last is valid`() async throws {
        try await LifecycleFixture.run { fixture in
            let first = try await fixture.phone("d1")
            let tokens = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<8 {
                    group.addTask { try await fixture.send("POST", "/v1/devices/d1/token")["token"]?.string }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let issued = try tokens.map { try #require($0) } + [first]
            try await eventually(describe: "one token is valid") {
                var good = 0
                for token in issued where try await fixture.send("GET", "/v1/devices/d1", key: token).status == 200 {
                    good += 1
                }
                return good == 1
            }
        }
    }

    @Test func `a repeated request for a token returns none`() async throws {
        try await LifecycleFixture.run { fixture in
            _ = try await fixture.phone("d1")
            let headers = ["Idempotency-Key": "k1"]
            let first = try await fixture.send("POST", "/v1/devices/d1/token", nil, headers)
            let token = try #require(first["token"]?.string)
            let again = try await fixture.send("POST", "/v1/devices/d1/token", nil, headers)
            #expect(again.status == 409 && again.code == "token_shown_once")
            #expect(try await fixture.send("GET", "/v1/devices/d1", key: token).status == 200)
        }
    }

    @Test func `a repeated request for a fleet token returns none`() async throws {
        try await LifecycleFixture.run { fixture in
            let headers = ["Idempotency-Key": "k1"]
            let first = try await fixture.send("POST", "/v1/fleets/blue/token", nil, headers)
            #expect(first.status == 201 && first["token"] != nil)
            let again = try await fixture.send("POST", "/v1/fleets/blue/token", nil, headers)
            #expect(again.status == 409 && again.code == "token_shown_once" && again["token"] == nil)
            // Two fleets of the same partition have separate idempotency keys.
            let home = AggregateKey("fleet:blue").partition(of: LifecycleFixture.partitions)
            let other = try #require(
                (0..<100).map { "f\($0)" }.first {
                    AggregateKey("fleet:" + $0).partition(of: LifecycleFixture.partitions) == home
                })
            let conflict = try await fixture.send("POST", "/v1/fleets/\(other)/token", nil, headers)
            #expect(conflict.status == 422 && conflict.code == "idempotency_conflict")
            let wrong = try await fixture.send("POST", "/v1/fleets/blue/token", nil, ["Idempotency-Key": "not a key"])
            #expect(wrong.code == "invalid_header")
            #expect(
                try await fixture.send("POST", "/v1/fleets/blue/token", nil, ["Idempotency-Key": "k2"]).status == 201)
            #expect(try await fixture.send("POST", "/v1/fleets/blue/token").status == 201)
        }
    }

    @Test func `a new token revokes the old ones`() async throws {
        try await LifecycleFixture.run { fixture in
            let old = try await fixture.phone("d1")
            var orders = try await OrderStream(fixture, "/v1/devices/d1/orders", key: old)
            let answer = try await fixture.send("POST", "/v1/devices/d1/token", key: old)
            #expect(answer.status == 201)
            let token = try #require(answer["token"]?.string)
            #expect(token != old)
            #expect(try await fixture.send("GET", "/v1/devices/d1", key: token).status == 200)
            #expect(try await fixture.log(of: "d1").last?.type == LifecycleEvent.DeviceRevoked.type)
            #expect(try await orders.next() == nil, "the stream with the old token has ended")
            #expect(try await fixture.send("GET", "/v1/devices/d1", key: old).code == "invalid_credential")
            // Each new token revokes the one before.
            let third = try #require(
                try await fixture.send("POST", "/v1/devices/d1/token", key: token)["token"]?.string)
            try await fixture.untilVoid(token)
            #expect(try await fixture.send("GET", "/v1/devices/d1", key: third).status == 200)
        }
    }

    @Test func `tokens can be revoked without a new one, and deregistration revokes them`() async throws {
        try await LifecycleFixture.run { fixture in
            let first = try await fixture.phone("d1")
            #expect(try await fixture.send("DELETE", "/v1/devices/d1/token", key: first).status == 204)
            try await fixture.untilVoid(first)
            let answer = try await fixture.send("POST", "/v1/devices/d1/token")
            let second = try #require(answer["token"]?.string)
            #expect(try await fixture.send("DELETE", "/v1/devices/d1", key: second).status == 204)
            // A new registration of the name is another device.
            let third = try await fixture.phone("d1")
            try await fixture.untilVoid(second)
            #expect(try await fixture.send("GET", "/v1/devices/d1", key: third).status == 200)
        }
    }

    @Test func `a fleet token registers and accesses only devices of its fleet`() async throws {
        try await LifecycleFixture.run { fixture in
            let issued = try await fixture.send("POST", "/v1/fleets/blue/token")
            #expect(issued.status == 201 && issued["fleet"] == "blue")
            let blue = try #require(issued["token"]?.string)
            let red = try await fixture.tokens.fleet("red")
            let made = try await fixture.send("PUT", "/v1/devices/d1", #"{"profile":"ios15"}"#, key: blue)
            #expect(made.status == 201)
            #expect(made["registration"]?["fleet"] == "blue")
            #expect(try await fixture.send("GET", "/v1/devices/d1", key: blue).status == 200)
            #expect(try await fixture.send("GET", "/v1/devices/d1", key: red).status == 404)
            #expect(try await fixture.send("PUT", "/v1/devices/d1", #"{"profile":"ios18"}"#, key: red).status == 404)
            let astray = try await fixture.send(
                "PUT", "/v1/devices/d2", #"{"profile":"ios18","fleet":"red"}"#, key: blue)
            #expect(astray.status == 403)
            // A device cannot leave its fleet with its own token.
            let own = try #require(made["token"]?.string)
            let moved = try await fixture.send("PUT", "/v1/devices/d1", #"{"profile":"ios18","fleet":"red"}"#, key: own)
            #expect(moved.status == 403)
            let kept = try await fixture.send("PUT", "/v1/devices/d1", #"{"profile":"ios18"}"#, key: own)
            #expect(kept.status == 200 && kept["registration"]?["fleet"] == "blue")
            // Only operators issue fleet tokens.
            #expect(try await fixture.send("POST", "/v1/fleets/blue/token", key: blue).status == 403)
            #expect(try await fixture.send("POST", "/v1/fleets/blue/token", key: own).status == 403)
            #expect(
                try await fixture.send("POST", "/v1/fleets/blue/token", key: LifecycleFixture.readerKey).status == 403)
        }
    }

    @Test func `the public keys need no credential`() async throws {
        try await LifecycleFixture.run { fixture in
            let answer = try await fixture.send("GET", "/.well-known/jwks.json", key: nil)
            #expect(answer.status == 200)
            let key = answer["keys"]?[0]
            #expect(key?["kty"] == "EC" && key?["crv"] == "P-256" && key?["kid"] == "lifecycle-1")
            #expect(key?["d"] == nil)
        }
    }
}
