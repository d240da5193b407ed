import AsyncHTTPClient
import Contracts
import EventLog
import Foundation
import Glibc
import Logging
import NIOCore
import NIOHTTP1
import Postgres
import Records
import TestSupport
import Timeline

/// A process of `fetch` with its own database. The test appends the events of `lifecycle`.
struct FetchFixture: Sendable {
    static let partitions = 4

    let port: Int
    let pool: ConnectionPool

    struct Answer {
        let status: Int
        let position: String?
        let etag: String?
        let json: JSON
        var code: String? { json["code"]?.string }
    }

    /// Migrates, serves while the body runs, and ends the process with SIGTERM.
    ///
    /// - Parameter settings: Arguments of `serve`.
    static func run(
        _ settings: [String] = [], _ body: @Sendable @escaping (FetchFixture) async throws -> Void
    ) async throws {
        let url = try await PrivateCluster.shared().makeDatabase()
        let executable = ChildProcess.product("fetch")
        let migration = try ChildProcess.start(
            executable, ["migrate", "--migration-database-url", url, "--partitions", "\(partitions)"])
        guard try await migration.exit() == .exited(0) else { throw TraceFailed(place: "migrate", reasons: ["failed"]) }
        let service = try ChildProcess.start(
            executable,
            ["serve", "--database-url", url, "--partitions", "\(partitions)", "--port", "0", "--insecure-dev"]
                + settings)
        let line = try await service.waitForLine(containing: "is ready on", within: 60)
        let port = line.split(separator: ":").last.flatMap { Int($0) } ?? 0
        let pool = ConnectionPool(
            try ConnectionOptions(url: url), size: 2, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await withTimeout(seconds: 180, "the test") { try await body(FetchFixture(port: port, pool: pool)) }
        await pool.close()
        service.signal(SIGTERM)
        guard try await service.exit() == .exited(0) else {
            throw TraceFailed(place: "serve", reasons: ["ended with a failure"])
        }
    }

    /// Calls the service. With a position, the service reads the log up to it before it responds.
    func send(
        _ method: String = "GET", _ path: String, _ body: String? = nil, after position: String? = nil,
        unless tag: String? = nil
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/v1/devices/\(path)")
        request.method = HTTPMethod(rawValue: method)
        if let position { request.headers.add(name: "Dormouse-Position", value: position) }
        if let tag { request.headers.add(name: "If-None-Match", value: tag) }
        if let body {
            request.body = .bytes(ByteBuffer(string: body))
            request.headers.add(name: "Content-Type", value: "application/json")
        }
        return try await onceCaughtUp(code: \.code) { [request] in
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
            let bytes = try await response.body.collect(upTo: 1 << 20)
            return Answer(
                status: Int(response.status.code), position: response.headers["Dormouse-Position"].first,
                etag: response.headers["ETag"].first,
                json: (try? JSON(parsing: Array(bytes.readableBytesView))) ?? .null)
        }
    }

    /// Appends an event of `lifecycle` and notifies readers. Returns its position, as in `Dormouse-Position`.
    @discardableResult
    func tell(_ data: some EventData, of device: String) async throws -> String {
        let key = AggregateKey.device(device)
        let partition = key.partition(of: Self.partitions)
        let insert = Statement(
            """
            WITH moved AS (UPDATE bus.partitions SET head = head + 1, day = current_date WHERE partition = $1 RETURNING head)
            INSERT INTO bus.events
                (partition, log_offset, day, id, source, type, version, key, app, time, correlationid, data)
            SELECT $1, head, current_date, $2, 'lifecycle', $3, 1, $4, $5, $6, $2, $7 FROM moved RETURNING log_offset
            """)
        let parameters: [Parameter] = [
            .int4(Int32(partition)), .uuid(UUID()), .text(type(of: data).type), .text(key.description), .text(data.app),
            .int(Int(RealClock().now.milliseconds)), .json(data.jsonBytes),
        ]
        let rows = try await pool.execute(Query(insert, parameters, rowsExpected: 1))
        _ = try await pool.execute(
            Query(Statement("SELECT pg_notify('dormouse', $1)"), [.text("lifecycle:\(partition)")]))
        return "\(partition):\(try rows[0].decode(Int.self, at: 0))"
    }

    /// Registers a device with an app and returns the position.
    func device(_ device: String, modes: [BackgroundMode] = [.fetch], _ profile: ProfileName = .ios15) async throws
        -> String
    {
        try await tell(LifecycleEvent.DeviceRegistered(registration: Registration(profile: profile)), of: device)
        return try await tell(
            LifecycleEvent.AppInstalled(app: "a", manifest: Manifest(backgroundModes: modes)), of: device)
    }
}
