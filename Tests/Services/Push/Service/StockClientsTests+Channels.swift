import Contracts
import Foundation
import Postgres
import Records
import TestSupport
import Testing

@testable import PushService

/// Requests about channels and broadcasts.
extension StockClientsTests {
    @Test(arguments: Transport.allCases)
    func `every reason of channels is provoked by a request`(_ transport: Transport) async throws {
        let cluster = try await PrivateCluster.make(fsync: false)
        let settings = ["APNS_BROADCAST": "com.example.app,com.example.full"]
        try await PushSuite.run(database: try await cluster.makeDatabase(), settings) { suite in
            let plan = try await suite.stockPlan(transport)
            let stores = try await suite.makeChannel(stores: true)
            let fleeting = try await suite.makeChannel(stores: false)
            _ = try await suite.makeChannel(stores: true, app: "com.example.full")
            try await suite.withDatabase { pool in
                let fill = Statement("UPDATE push.channel_counts SET channels = 10000 WHERE app = 'com.example.full'")
                _ = try await pool.execute(Query(fill, [], rowsExpected: 1))
            }
            let path = "/1/apps/\(PushSuite.app)/channels"
            let configuration = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
            func ask(
                _ reason: APNsReason, _ method: String, _ path: String, _ headers: [(String, String)] = [],
                _ body: String? = nil, token: StockPlan.Token? = .init()
            ) -> Case {
                let name = "\(reason.rawValue) \(method) \(path)"
                return (
                    reason,
                    .init(name: name, method: method, path: path, headers: headers, body: body, token: token)
                )
            }
            func broadcast(
                _ reason: APNsReason, _ channel: String?, type: String? = "liveactivity",
                headers: [(String, String)] = [], body: String? = Self.alert
            ) -> Case {
                let own = [("apns-channel-id", channel), ("apns-push-type", type)].compactMap { name, value in
                    value.map { (name, $0) }
                }
                return ask(reason, "POST", "/4/broadcasts/apps/\(PushSuite.app)", own + headers, body)
            }
            let unknown = Data(count: 16).base64EncodedString()
            let large = #"{"x":""# + String(repeating: "x", count: ProviderRequest.bodyLimit) + #""}"#
            let cases: [Case] = [
                ask(.featureNotEnabled, "GET", "/1/apps/com.example.not/all-channels"),
                ask(.topicDisallowed, "GET", "/1/apps/\(PushSuite.app).push-type.liveactivity/all-channels"),
                ask(.topicMismatch, "GET", "/1/apps/\(PushSuite.app)/all-channels", token: .init(keyID: "KEYTOPIC01")),
                ask(.missingProviderToken, "GET", "/1/apps/\(PushSuite.app)/all-channels", token: nil),
                ask(.expiredProviderToken, "GET", path, token: .init(age: 3700)),
                ask(.invalidProviderToken, "GET", path, token: .init(signer: "KEYSTRANGE")),
                ask(.missingChannelID, "GET", path),
                ask(.missingChannelID, "DELETE", path),
                ask(.badChannelID, "GET", path, [("apns-channel-id", "%%%")]),
                ask(.badChannelID, "DELETE", path, [("apns-channel-id", "%%%")]),
                ask(.channelNotRegistered, "GET", path, [("apns-channel-id", unknown)]),
                ask(.channelNotRegistered, "DELETE", path, [("apns-channel-id", unknown)]),
                ask(
                    .payloadTooLarge, "POST", path, [],
                    configuration + String(repeating: " ", count: ProviderRequest.bodyLimit)),
                ask(.badMessageID, "GET", path, [("apns-request-id", "1")]),
                ask(.badRequestPayload, "POST", path, [], "{"),
                ask(.badRequestParams, "POST", path, [], #"{"message-storage-policy":7,"push-type":"LiveActivity"}"#),
                ask(.missingPushType, "POST", path, [], #"{"message-storage-policy":1}"#),
                ask(.invalidPushType, "POST", path, [], #"{"message-storage-policy":1,"push-type":"alert"}"#),
                ask(.cannotCreateChannelConfig, "POST", "/1/apps/com.example.full/channels", [], configuration),
                ask(.methodNotAllowed, "PUT", path, [], configuration),
                ask(.badPath, "GET", "/1/apps/\(PushSuite.app)/channel"),
                ask(.badPath, "POST", "/4/broadcasts/\(PushSuite.app)"),
                broadcast(.missingChannelID, nil), broadcast(.badChannelID, "&"),
                broadcast(.channelNotRegistered, unknown), broadcast(.missingPushType, stores, type: nil),
                broadcast(.invalidPushType, stores, type: "alert"),
                broadcast(.badExpirationDate, fleeting, headers: [("apns-expiration", "1900000000")]),
                broadcast(.badPriority, stores, headers: [("apns-priority", "2")]),
                broadcast(.payloadEmpty, stores, body: nil),
                broadcast(.payloadTooLarge, stores, body: large),
            ]
            let calls = Self.channelCalls(stores, configuration)
            let common = try calls.flatMap { call in
                try Self.everyCall(call, refusedOn: transport, suite).map { reason, change in
                    var request = call
                    request.name = "\(reason.rawValue) of any \(call.method) \(call.path)"
                    change(&request)
                    return (reason, request)
                }
            }
            let named = (cases + common).map { reason, request -> Case in
                var request = request
                request.name += " \(request.headers.count) \(request.body?.count ?? 0)"
                if reason != .badMessageID { request.headers.append(("apns-request-id", UUID.random().lowercased)) }
                return (reason, request)
            }
            #expect(Set(cases.map(\.reason)).isSuperset(of: Self.ofChannels))
            for (answer, (reason, request)) in zip(try await plan.send(named.map(\.request)), named) {
                #expect(answer.status == reason.status && answer.reason == reason.rawValue, "\(request.name)")
                #expect(answer.headers["apns-id"] == nil && answer.json["timestamp"] == nil)
                let echoed = answer.headers["apns-request-id"]
                let sent = request.headers.first { $0.0 == "apns-request-id" }?.1
                #expect(reason == .badMessageID ? echoed?.count == 36 : echoed == sent, "\(request.name)")
            }
            let well = try await plan.send([
                broadcast(.shutdown, stores).request, ask(.shutdown, "POST", path, [], configuration).request,
            ])
            #expect(well.map(\.status) == [200, 201])
            // The connection has used another token before.
            let pairs = Self.laterTokens.flatMap { reason, token in
                calls.map { call -> [StockPlan.Request] in
                    var (before, later) = (calls[3], call)
                    before.connection = "\(call.name) \(reason)"
                    later.connection = before.connection
                    later.token = token
                    later.name = reason.rawValue
                    return [before, later]
                }
            }
            for answer in try await plan.send(pairs.flatMap(\.self)) {
                #expect(answer.name == "list" ? answer.status == 200 : answer.reason == answer.name, "\(answer)")
            }
            try await cluster.stop()
            let away = try await plan.send(Self.channelCalls(stores, configuration))
            #expect(away.allSatisfy { $0.status == 503 && $0.reason == "ServiceUnavailable" })
            try await cluster.start()
            // All described reasons are provoked, except those that no request provokes.
            for call in calls {
                let operation = try #require(suite.description.operation(call.method, call.path))
                var given = Set(
                    named.filter { operation.isMeant(by: $0.request.method, $0.request.path) }.map(\.reason))
                given.formUnion(Self.laterTokens.map(\.0) + [.serviceUnavailable, .internalServerError])
                given.formUnion(Self.ofSlowClients)
                if transport == .http1 { given.formUnion(Self.ofCertificates) }
                // Needs 1,000 waiting broadcasts: see `ChannelTests`.
                if call.name == "broadcast" { given.insert(.tooManyRequests) }
                given.subtract([.badPath, .methodNotAllowed])
                #expect(operation.errors == Set(given.map(\.rawValue)), "\(operation.name)")
            }
        }
        try await cluster.destroy()
    }

    private static let laterTokens: [(APNsReason, StockPlan.Token)] = [
        (.unrelatedKeyIDInToken, .init(keyID: "KEYOTHER01", teamID: "TEAMOTHER1")),
        (.tooManyProviderTokenUpdates, .init(age: 60)),
    ]

    /// An accepted request for every call about channels.
    private static func channelCalls(_ channel: String, _ configuration: String) -> [StockPlan.Request] {
        let app = "/1/apps/\(PushSuite.app)"
        let named = [("apns-channel-id", channel)]
        return [
            .init(name: "create", method: "POST", path: app + "/channels", body: configuration),
            .init(name: "read", method: "GET", path: app + "/channels", headers: named),
            .init(name: "delete", method: "DELETE", path: app + "/channels", headers: named),
            .init(name: "list", method: "GET", path: app + "/all-channels"),
            .init(
                name: "broadcast", method: "POST", path: "/4/broadcasts/apps/\(PushSuite.app)",
                headers: named + [("apns-push-type", "liveactivity")], body: alert),
        ]
    }

    /// The reasons that any call may get, and the changes that provoke them.
    private static func everyCall(
        _ call: StockPlan.Request, refusedOn transport: Transport, _ suite: PushSuite
    ) throws -> [(APNsReason, (inout StockPlan.Request) -> Void)] {
        func of(_ app: String) -> String { call.path.replacing(PushSuite.app, with: app) }
        var changes: [(APNsReason, (inout StockPlan.Request) -> Void)] = [
            (.missingProviderToken, { $0.token = nil }), (.expiredProviderToken, { $0.token = .init(age: 3700) }),
            (.invalidProviderToken, { $0.token = .init(signer: "KEYSTRANGE") }),
            (.badEnvironmentKeyIDInToken, { $0.token = .init(keyID: "KEYPRODUCT") }),
            (.topicMismatch, { $0.token = .init(keyID: "KEYTOPIC01") }),
            (.topicDisallowed, { $0.path = of(PushSuite.app + ".push-type.liveactivity") }),
            (.featureNotEnabled, { $0.path = of("com.example.not") }),
            (.badMessageID, { $0.headers.append(("apns-request-id", "1")) }),
            (.duplicateHeaders, { $0.headers += [("apns-priority", "10"), ("apns-priority", "10")] }),
        ]
        guard transport == .http2 else { return changes }
        let (old, other) = (
            try suite.clientCertificate(PushSuite.app, days: 0),
            try suite.clientCertificate(PushSuite.app, ["production"])
        )
        for (reason, file) in [(APNsReason.badCertificate, old), (.badCertificateEnvironment, other)] {
            changes.append(
                (
                    reason,
                    {
                        $0.token = nil
                        $0.certificate = file
                    }
                ))
        }
        return changes
    }
}
