import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Credentials that may change nothing, at every operation of every service.
@Suite("Credentials without rights", .tags(.database, .processes), .timeLimit(.minutes(6))) struct RightsTests {
    /// Starts a suite with a device, an app and a session, whose log changes only by requests.
    private static func start() async throws -> RunningSuite {
        let suite = try await RunningSuite.start(virtualTime: true)
        // In frozen time no event has another cause than a request.
        _ = try await suite.call(.PUT, .ops, "/v1/clock", ["frozen": true])
        try await suite.call(.PUT, .lifecycle, "/v1/devices/phone", ["profile": "ios18", "fleet": "blue"])
        let app = try await suite.call(.PUT, .lifecycle, "/v1/devices/phone/apps/news", [:])
        let session = "/v1/devices/phone/apps/news/sessions/films"
        _ = try await suite.send(.PUT, .transfer, session, [:], headers: ["Dormouse-Position": app.position ?? ""])
        try await suite.waitUntilAllIsTakenIn()
        return suite
    }

    @Test func `a request without a valid credential writes no event, and few rows of the audit`() async throws {
        let suite = try await Self.start()
        let before = try await Self.stored(suite)
        var called = 0
        for service in SuiteService.allCases {
            let description = APIDescription(try await suite.call(.GET, service, "/openapi.json").json)
            for operation in description.operations where operation.needsCredential {
                for credential in ["", "garbage"] {
                    let answer = try await Self.call(operation, of: service, suite, as: credential)
                    called += 1
                    // Too many failures of an address get 429.
                    #expect([401, 429].contains(answer.status), "\(service) \(operation.name): \(answer)")
                }
            }
        }
        #expect(called > 300, "the descriptions have all operations")
        let token = String(repeating: "ab", count: 32)
        for authorization in ["", "bearer garbage", "bearer e30.e30.e30"] {
            let headers = ["authorization": authorization, "apns-topic": "news", "apns-push-type": "alert"]
            let answer = try await suite.send(
                .POST, .push, "/3/device/\(token)", ["aps": ["alert": "a"]], as: "", headers: headers)
            #expect(answer.status == 403, "\(authorization) \(answer)")
        }
        #expect(try await Self.stored(suite) == before)
        let rows = try await suite.cluster.sql("SELECT count(*) FROM bus.audit", database: suite.database)
        let audited = try #require(Int(rows.trimmingCharacters(in: .whitespacesAndNewlines)))
        // Each of five processes has an address, a few reasons, and a few minutes.
        #expect(audited < 60, "\(audited) rows of \(called) requests")
        _ = try await suite.stop()
        try await suite.cluster.destroy()
    }

    @Test func `a key with the scope read changes nothing by any operation`() async throws {
        let suite = try await Self.start()
        let before = try await Self.stored(suite)

        var called = 0
        for service in SuiteService.allCases {
            let description = APIDescription(try await suite.call(.GET, service, "/openapi.json").json)
            for operation in description.operations where operation.needsCredential {
                let answer = try await Self.call(operation, of: service, suite, as: RunningSuite.readersKey)
                called += 1
                if !["GET", "HEAD"].contains(operation.method) {
                    #expect(answer.status == 403 && answer.code == "forbidden", "\(service) \(operation.name)")
                } else {
                    #expect(answer.status < 500 && answer.status != 401, "\(service) \(operation.name)")
                }
            }
        }
        #expect(called > 150, "the descriptions have all operations")
        let after = try await Self.stored(suite)
        #expect(after == before)
        _ = try await suite.stop()
        try await suite.cluster.destroy()
    }

    /// The facts that only a change can change.
    private static func stored(_ suite: RunningSuite) async throws -> String {
        try await suite.cluster.sql(
            """
            SELECT (SELECT sum(head) FROM bus.partitions), (SELECT count(*) FROM bus.idempotency),
                (SELECT count(*) FROM push.provider_keys), (SELECT count(*) FROM push.connections),
                (SELECT count(*) FROM push.channels), (SELECT count(*) FROM transfer.uploads),
                (SELECT count(*) FROM bus.fleet_revocations), (SELECT rate FROM bus.clock),
                (SELECT count(*) FROM bus.order_streams), (SELECT count(*) FROM bus.audit),
                (SELECT count(*) FROM bus.revocations), (SELECT count(*) FROM bus.erasures),
                (SELECT count(*) FROM push.subscriptions), (SELECT count(*) FROM transfer.contents)
            """, database: suite.database)
    }

    private struct Reply {
        let status: Int
        let code: String?
    }

    /// Calls an operation with a sample of its document. It does not wait for the end of a stream.
    private static func call(
        _ operation: APIDescription.Operation, of service: SuiteService, _ suite: RunningSuite, as key: String
    ) async throws -> Reply {
        var path = operation.path([
            "device": "phone", "app": "news", "fleet": "blue", "identifier": "films", "task": "1", "service": "push",
        ])
        if operation.queries.contains("wait") { path += "?wait=0" }
        let schema = operation.requestSchema ?? operation.lineSchema
        let type = operation.lineSchema == nil ? "application/json" : "application/x-ndjson"
        var request = suite.request(
            HTTPMethod(rawValue: operation.method), service, path, as: key,
            schema == nil ? [:] : ["content-type": type])
        request.body = schema.map { .bytes(JSON(sampleOf: $0).bytes) }
        let response = try await RunningSuite.client.execute(request, timeout: .seconds(60))
        guard response.status.code >= 400 else { return Reply(status: Int(response.status.code), code: nil) }
        let body = try await response.body.collect(upTo: 1 << 20)
        let json = try? JSON(parsing: Array(body.readableBytesView))
        return Reply(status: Int(response.status.code), code: json?["code"]?.string)
    }
}
