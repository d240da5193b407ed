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
        let common = ["--partitions", "\(partitions)"]
        try await ChildProcess.migrate("fetch", url, common)
        let (service, port) = try await ChildProcess.serve("fetch", url, common + ["--insecure-dev"] + settings)
        let pool = ConnectionPool(
            try ConnectionOptions(url: url), size: 2, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await withTimeout(seconds: 180, "the test") { try await body(FetchFixture(port: port, pool: pool)) }
        await pool.close()
        try await service.shutDown()
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
        let position = try await pool.append(ForeignEvent(data, to: device), partitions: Self.partitions)
        return "\(position.partition):\(position.offset)"
    }

    /// Registers a device with an app whose code runs, and returns the position.
    func device(_ device: String, modes: [BackgroundMode] = [.fetch], _ profile: ProfileName = .ios15) async throws
        -> String
    {
        try await tell(LifecycleEvent.DeviceRegistered(registration: Registration(profile: profile)), of: device)
        try await tell(LifecycleEvent.AppInstalled(app: "a", manifest: Manifest(backgroundModes: modes)), of: device)
        return try await run("a", on: device)
    }

    /// Wakes an app, so that its code runs, and returns the position.
    func run(_ app: String, on device: String) async throws -> String {
        try await tell(
            LifecycleEvent.AppWoken(
                app: app, callbacks: [], deadline: .epoch, from: .notRunning, limit: .zero, reason: .location,
                wake: "w-0"), of: device)
    }
}
