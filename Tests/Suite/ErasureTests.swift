import AsyncHTTPClient
import Foundation
import NIOHTTP1
import Records
import Synchronization
import TestSupport
import Testing

/// The erasure of the history of a device, in a whole suite.
@Suite("Erasures of devices", .tags(.database, .processes), .timeLimit(.minutes(5))) struct DeviceErasureTests {
    private static let device = "/v1/devices/phone"

    @Test func `payloads and tokens of an erased device are nowhere in the database, and the log stays sound`()
        async throws
    {
        try await erase(in: try await RunningSuite.start(partitions: 4, settings: ["UPLOAD_LIFETIME": "4"]))
    }

    @Test(.enabled("skipped: Citus is not installed") { try await PrivateCluster.hasCitus() })
    func `payloads and tokens of an erased device are nowhere on the nodes of Citus`() async throws {
        try await erase(
            in: try await RunningSuite.start(partitions: 4, workers: 2, settings: ["UPLOAD_LIFETIME": "4"]))
    }

    private func erase(in suite: RunningSuite) async throws {
        let maintain = try ChildProcess.start(
            ChildProcess.product("ops"), ["maintain"],
            environment: ["MIGRATION_DATABASE_URL": suite.cluster.url(database: suite.database), "PARTITIONS": "4"])
        _ = try await maintain.waitForLine(containing: "ops maintains the log", within: 30)
        let provider = try await Provider(suite)
        let token = try await live(in: suite, provider)
        #expect(try await Self.tables(with: [token, "whisper"], suite).contains("push.states"))
        #expect(try await suite.send(.GET, .ops, Self.device + "/erasure").status == 404)

        // The token of another device must not erase this one.
        let other = try await suite.send(.PUT, .lifecycle, "/v1/devices/other", ["profile": "ios18"])
        let refused = try await suite.send(
            .POST, .lifecycle, Self.device + "/erasure", as: other.json["token"]?.string ?? "")
        #expect(refused.status == 404, "\(refused)")
        let asked = try await suite.send(.POST, .lifecycle, Self.device + "/erasure")
        #expect(asked.status == 202 && asked.json["progress"] == .string(Self.device + "/erasure"))
        let first = try await finished(suite)
        #expect(try await Self.tables(with: [token, "whisper"], suite) == [])
        #expect(try await suite.send(.GET, .lifecycle, Self.device).status == 404)
        let gone = try await suite.send(
            .POST, .push, "/3/device/\(token)", ["aps": ["alert": "late"]],
            headers: [
                "authorization": "bearer \(provider.token)", "apns-topic": Provider.app, "apns-push-type": "alert",
            ])
        #expect(gone.status == 400 && gone.json["reason"] == "BadDeviceToken", "\(gone)")
        let audited = try await suite.send(.GET, .ops, "/v1/audit?action=device.erased").json["items"]?.items ?? []
        #expect(audited.map { $0["subject"] } == ["device:phone"] && audited.first?["actor"] == "alice")
        let pushes = try await suite.send(.GET, .ops, "/v1/pushes").json["items"]?.items ?? []
        #expect(pushes.isEmpty, "\(pushes)")
        try await eventually(within: 60, describe: "the files of uploads and apps are removed") {
            suite.files(with: "whisper").isEmpty
        }

        // A new life of the same name is whole, and can be erased too.
        let next = try await live(in: suite, provider)
        #expect(try await Self.tables(with: [next], suite).contains("push.states"))
        _ = try await LogAudit.run(suite)
        #expect(try await suite.send(.DELETE, .lifecycle, Self.device).status == 204)
        #expect(try await suite.send(.POST, .lifecycle, Self.device + "/erasure").status == 202)
        _ = try await finished(suite, after: first)
        #expect(try await Self.tables(with: [token, next, "whisper"], suite) == [])
        _ = try await LogAudit.run(suite)
        try await maintain.shutDown()
        for (service, end) in try await suite.stop() { #expect(end == .exited(0), "\(service)") }
        try await suite.cluster.destroy()
    }

    /// Registers the device with an app, uploads a file, and sends a push that names a secret.
    ///
    /// - Returns: the token of the app.
    private func live(in suite: RunningSuite, _ provider: Provider) async throws -> String {
        let registered = try await suite.send(.PUT, .lifecycle, Self.device, ["profile": "ios18", "simulate": [:]])
        let own = try #require(registered.json["token"]?.string)
        let app = Self.device + "/apps/\(Provider.app)"
        #expect(try await suite.send(.PUT, .lifecycle, app, [:]).status == 201)
        let launched = try await suite.send(.POST, .lifecycle, app + "/transitions", ["event": "launch"])
        let answer = try await suite.send(
            .PUT, .push, app + "/registration", ["environment": "sandbox"],
            headers: ["Dormouse-Position": launched.position ?? ""])
        let token = try #require(answer.json["token"]?.string, "\(answer)")
        _ = try await provider.notify(token, ["aps": ["alert": "whisper"]], silent: false)
        var upload = suite.request(
            .POST, .transfer, "/files", as: own,
            ["Tus-Resumable": "1.0.0", "Upload-Length": "7", "content-type": "application/offset+octet-stream"])
        upload.body = .bytes(Array("whisper".utf8))
        #expect(try await suite.send(upload).status == 201)
        var secret = suite.request(
            .PUT, .transfer, app + "/files/secret", as: own,
            ["content-type": "text/plain", "Dormouse-Position": launched.position ?? ""])
        secret.body = .bytes(Array("whisper".utf8))
        let stored = try await suite.send(secret)
        #expect(stored.status == 201, "\(stored)")
        try await suite.waitUntilAllIsTakenIn()
        return token
    }

    /// Waits for the end of an erasure that was requested after another one.
    ///
    /// - Returns: the time of its request.
    private func finished(_ suite: RunningSuite, after earlier: String = "") async throws -> String {
        let last = Mutex("")
        try await eventually(within: 90, describe: "the history is erased") {
            let progress = try await suite.send(.GET, .ops, Self.device + "/erasure").json
            last.withLock { $0 = progress["requestedAt"]?.string ?? "" }
            return progress["requestedAt"]?.string != earlier && progress["erasedAt"]?.string != nil
                && (progress["events"]?.int ?? 0) > 10
        }
        return last.withLock { $0 }
    }

    /// Returns the tables that have one of these words in a row, as text or as bytes.
    private static func tables(with words: [String], _ suite: RunningSuite) async throws -> [String] {
        let matches = words.flatMap { word in
            [word, word.utf8.map { String($0, radix: 16) }.joined()].map { "t::text LIKE ''%%\($0)%%''" }
        }
        let found = try await suite.cluster.sql(
            """
            SELECT n.nspname || '.' || c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
            WHERE c.relkind = 'r' AND n.nspname IN ('bus', 'lifecycle', 'fetch', 'push', 'transfer', 'ops')
                AND (xpath('/row/n/text()', query_to_xml(format(
                    'SELECT count(*) AS n FROM %I.%I AS t WHERE \(matches.joined(separator: " OR "))',
                    n.nspname, c.relname), false, true, '')))[1]::text <> '0'
            ORDER BY 1
            """, database: suite.database)
        return found.split(separator: "\n").map(String.init)
    }
}
