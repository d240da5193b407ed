import Contracts
import EventLog
import Foundation
import Glibc
import JWTKit
import Postgres
import Records
import TestSupport
import Testing
import Timeline

@testable import PushService

/// The provider endpoint with stock clients: httpx with tokens of PyJWT, over real connections.
@Suite(.tags(.database, .processes, .stockClient), .timeLimit(.minutes(8))) struct StockClientsTests {
    /// The protocol of the client.
    enum Transport: String, CaseIterable, Sendable { case http1, http2 }

    /// Reasons that need TLS, which only the HTTP/2 port has.
    static let ofCertificates: Set<APNsReason> = [.badCertificate, .badCertificateEnvironment]
    /// Reasons of slow requests: see `SlowClientsTests`.
    static let ofSlowClients: Set<APNsReason> = [.idleTimeout, .shutdown]
    /// Reasons of channels: see the other test.
    static let ofChannels: Set<APNsReason> = [
        .featureNotEnabled, .missingChannelID, .badChannelID, .channelNotRegistered, .badRequestParams,
        .badRequestPayload, .missingPushType, .cannotCreateChannelConfig, .topicMismatch,
    ]

    typealias Case = (reason: APNsReason, request: StockPlan.Request)

    static let alert = #"{"aps":{"alert":"hello"}}"#

    /// A valid request with a change that provokes the reason.
    private static func push(
        _ reason: APNsReason, _ token: String, _ headers: [(String, String)] = [], drop: String = "",
        body: String? = alert, _ change: (inout StockPlan.Request) -> Void = { _ in }
    ) -> Case {
        var request = StockPlan.Request(name: reason.rawValue, path: "/3/device/\(token)", body: body)
        let topic = headers.contains { $0.0 == "apns-topic" } || drop == "apns-topic"
        request.headers = (topic ? [] : [("apns-topic", PushSuite.app)]) + headers
        change(&request)
        return (reason, request)
    }

    /// The reasons that one request provokes.
    static func plain(_ token: String, other: String, unregistered: String) -> [Case] {
        let large = #"{"aps":{},"x":""# + String(repeating: "x", count: 4096) + #""}"#
        return [
            push(.badCollapseID, token, [("apns-collapse-id", String(repeating: "x", count: 65))]),
            push(.badDeviceToken, String(repeating: "0f", count: 32)),
            push(.badExpirationDate, token, [("apns-expiration", "tomorrow")]),
            push(.badMessageID, token, [("apns-id", "not-a-uuid")]),
            push(.badPriority, token, [("apns-priority", "7")]),
            push(.badTopic, token, [("apns-topic", "no spaces")]),
            push(.deviceTokenNotForTopic, other),
            push(.duplicateHeaders, token, [("apns-priority", "10"), ("apns-priority", "10")]),
            push(.invalidPushType, token, [("apns-push-type", "shout")]),
            push(.missingDeviceToken, ""),
            push(.missingTopic, token, drop: "apns-topic"),
            push(.payloadEmpty, token, body: nil),
            push(.topicDisallowed, token) { $0.token = .init(keyID: "KEYTOPIC01") },
            push(.expiredProviderToken, token) { $0.token = .init(age: 3700) },
            push(.forbidden, token, [("apns-push-type", "mdm")]),
            push(.invalidProviderToken, token) { $0.token = .init(signer: "KEYSTRANGE") },
            push(.missingProviderToken, token) { $0.token = nil },
            push(.badEnvironmentKeyIDInToken, token) { $0.token = .init(keyID: "KEYPRODUCT") },
            push(.badPath, token) { $0.path = "/3/devices/\(token)" },
            push(.methodNotAllowed, token, body: nil) { $0.method = "GET" },
            push(.unregistered, unregistered),
            push(.payloadTooLarge, token, body: large),
            push(.tooManyRequests, token) {
                $0.until = 429
                $0.limit = 500
            },
        ]
    }

    /// The reasons that need an accepted request before, on the same connection.
    static func second(_ token: String) -> [[StockPlan.Request]] {
        let cases: [(APNsReason, StockPlan.Token)] = [
            (.unrelatedKeyIDInToken, .init(keyID: "KEYOTHER01", teamID: "TEAMOTHER1")),
            (.tooManyProviderTokenUpdates, .init(age: 60)),
        ]
        return cases.map { reason, other in
            var first = push(reason, token).request
            first.name = "before \(reason.rawValue)"
            first.connection = reason.rawValue
            var second = push(reason, token).request
            second.token = other
            return [first, second]
        }
    }

    @Test(arguments: Transport.allCases) func `every reason is provoked by a request`(_ transport: Transport)
        async throws
    {
        let cluster = try await PrivateCluster.make(fsync: false)
        let database = try await cluster.makeDatabase()
        try await PushSuite.run(database: database, ["VIRTUAL_TIME": "true"]) { suite in
            let tried = try await Self.everyReason(suite, cluster, transport)
            let others = Self.ofSlowClients.union(Self.ofChannels)
            let all = Set(APNsReason.allCases).subtracting(transport == .http1 ? Self.ofCertificates : [])
            #expect(tried == all.subtracting(others), "each reason is provoked by one request")
            // The description has exactly the reasons of this call. These three belong to other paths and methods.
            let elsewhere = Self.ofChannels.union([.badPath, .methodNotAllowed, .missingDeviceToken])
            let ofThis = all.subtracting(elsewhere)
            let described = suite.description.operation("POST", "/3/device/x")?.errors ?? []
            let certificates = transport == .http1 ? Self.ofCertificates.map(\.rawValue) : []
            #expect(described == Set(ofThis.map(\.rawValue) + certificates))
        }
        try await cluster.destroy()
    }

    private static func everyReason(
        _ suite: PushSuite, _ cluster: PrivateCluster, _ transport: Transport
    ) async throws -> Set<APNsReason> {
        let plan = try await suite.stockPlan(transport)
        var tried: Set<APNsReason> = []
        func check(_ cases: [Case], _ plan: StockPlan) async throws {
            for (answer, (reason, request)) in zip(try await plan.send(cases.map(\.request)), cases) {
                tried.insert(reason)
                let sent = request.headers.first { $0.0 == "apns-id" }?.1
                expect(answer, reason, sent, plan)
            }
        }
        let token = try await suite.makeDevice("phone")
        let other = try await suite.makeDevice("tablet", app: "com.example.other")
        let unregistered = try await suite.makeDevice("gone")
        try await suite.unregister("gone")

        // The answer repeats a valid `apns-id`, even if the request has other faults.
        let cases = plain(token, other: other, unregistered: unregistered).map { reason, request -> Case in
            var request = request
            if reason != .badMessageID { request.headers.append(("apns-id", UUID.random().lowercased)) }
            return (reason, request)
        }
        try await check(cases, plan)
        for pair in second(try await suite.makeDevice("busy")) {
            let answers = try await plan.send(pair)
            #expect(answers[0].status == 200 && answers[0].headers["apns-unique-id"]?.count == 36)
            let reason = try #require(APNsReason(rawValue: pair[1].name))
            tried.insert(reason)
            expect(answers[1], reason, nil, plan)
        }

        if transport == .http2 {
            let certificates: [(APNsReason, String)] = [
                (.badCertificate, try suite.clientCertificate(PushSuite.app, days: 0)),
                (.badCertificateEnvironment, try suite.clientCertificate(PushSuite.app, ["production"])),
            ]
            try await check(
                certificates.map { reason, file in
                    push(reason, token) {
                        $0.token = nil
                        $0.certificate = file
                    }
                }, plan)
        }

        // An inactive token is expired after 30 days.
        try await suite.withDatabase { pool in
            _ = try await ClockControl(pool: pool).advance(by: .days(31))
        }
        try await check([push(.expiredToken, unregistered)], plan)

        // A process without the device in its cache reads a malformed state.
        let broken = try await suite.makeDevice("broken")
        let fresh = try await suite.another()
        try await suite.withDatabase { pool in
            let corrupt = Statement("UPDATE push.states SET state = '\\xffff' WHERE key = 'device:broken'")
            _ = try await pool.execute(Query(corrupt, [], rowsExpected: 1))
        }
        var beside = plan
        let port = transport == .http2 ? try await PushSuite.apnsPort(of: fresh.process) : fresh.port
        beside.base = plan.base.split(separator: ":").dropLast().joined(separator: ":") + ":\(port)"
        try await check([push(.internalServerError, broken)], beside)
        fresh.process.signal(SIGTERM)
        #expect(try await fresh.process.exit() == .exited(0))

        try await cluster.stop()
        try await check([push(.serviceUnavailable, token)], plan)
        try await cluster.start()
        return tried
    }

    /// - Parameter id: the `apns-id` that was sent.
    private static func expect(_ answer: StockPlan.Answer, _ reason: APNsReason, _ id: String?, _ plan: StockPlan) {
        #expect(answer.status == reason.status, "\(reason)")
        #expect(answer.reason == reason.rawValue, "\(reason)")
        #expect(answer.version == (plan.http2 ? "HTTP/2" : "HTTP/1.1"))
        #expect(answer.headers["content-type"] == "application/json")
        let echoed = answer.headers["apns-id"]
        if let id, reason != .badMessageID { #expect(echoed == id, "\(reason)") }
        #expect(echoed.flatMap { UUID(uuidString: $0)?.lowercased } == echoed && echoed != nil, "\(reason)")
        #expect((answer.json["timestamp"] != nil) == (reason.status == 410), "\(reason)")
        if let moment = answer.json["timestamp"]?.int {
            // Milliseconds of real time: inactive since just now, or since the 31 days that the test advanced the
            // clock.
            let age = Date().timeIntervalSince1970 * 1000 - Double(moment)
            let month = 31.0 * 86_400_000
            let expected = reason == .expiredToken ? month : 0
            #expect((expected - 60_000..<expected + 300_000).contains(age), "\(reason)")
        }
    }
}

extension PushSuite {
    /// Registers the keys of the requests, and returns a plan for the service.
    func stockPlan(_ transport: StockClientsTests.Transport) async throws -> StockPlan {
        let strange = ES256PrivateKey()
        var keys = [signer.keyID: signer.key.pemRepresentation, "KEYSTRANGE": strange.pemRepresentation]
        let more: [(id: String, team: String, environment: String, topics: JSON)] = [
            ("KEYTOPIC01", signer.teamID, "sandbox", ["com.example.elsewhere"]),
            ("KEYPRODUCT", signer.teamID, "production", []),
            ("KEYOTHER01", "TEAMOTHER1", "sandbox", []),
        ]
        for (id, team, environment, topics) in more {
            let key = ES256PrivateKey()
            keys[id] = key.pemRepresentation
            let document: JSON = [
                "keyID": .string(id), "teamID": .string(team), "environment": .string(environment), "topics": topics,
                "publicKey": .string(key.publicKey.pemRepresentation),
            ]
            #expect(try await send("POST", "/v1/provider-keys", document).status == 201)
        }
        guard transport == .http2 else {
            return StockPlan(base: "http://127.0.0.1:\(push)", keys: keys, description: description)
        }
        let authority = certificates.appending(path: "ca.pem").path
        return StockPlan(
            base: "https://localhost:\(apns)", http2: true, ca: authority, keys: keys, description: description)
    }
}
