import AsyncHTTPClient
import Contracts
import Foundation
import NIOCore
import NIOHTTP1
import Records
import Synchronization
import TestSupport
import Testing

/// A complete response.
struct HTTPAnswer: DescribedAnswer {
    let status: Int
    let headers: HTTPHeaders
    let body: ByteBuffer
    var json: JSON { (try? JSON(parsing: body.readableBytesView)) ?? .null }
    var contentType: String? { headers.first(name: "Content-Type") }
    var isEmpty: Bool { body.readableBytes == 0 }
}

extension APIDescription {
    /// Checks a response against the OpenAPI document.
    func hold(_ answer: HTTPAnswer, to method: HTTPMethod, _ path: String) {
        // OpenAPI paths have no wildcards of several segments, so one operation describes all content paths.
        let path = path.hasPrefix("/content/") ? "/content/{path}" : path
        guard let fault = fault(of: answer, to: method.rawValue, path) else { return }
        Issue.record("\(method.rawValue) \(path): \(fault)\n\(String(buffer: answer.body).prefix(1000))")
    }
}

struct Unexpected: Error, CustomStringConvertible { var description: String }

/// Processes of `lifecycle` and `transfer` with their own database, and a proxy through which `transfer` fetches from
/// itself.
final class TransferSuite: Sendable {
    let lifecyclePort: Int
    let transferPort: Int
    let proxy: TCPProxy
    let cluster: PrivateCluster
    let database: String
    let directory: URL
    private let lifecycle: ChildProcess
    private let command: [String]
    /// The OpenAPI documents by port, against which all responses are checked.
    private let descriptions = Mutex<[Int: APIDescription]>([:])

    /// - Parameters:
    ///   - cluster: The database server; nil for the shared one.
    ///   - origins: The allowed origins besides the proxy; nil to leave out the setting.
    ///   - ports: Further allowed ports on 127.0.0.1.
    ///   - logLevel: The log level of `transfer`.
    ///   - settings: Further arguments of `transfer`.
    ///   - wrapper: Returns a command to which `transfer` and its arguments are appended. It gets the directory.
    static func start(
        on cluster: PrivateCluster? = nil, origins: [String]? = [], allowing ports: [Int] = [],
        logLevel: String = "warning", settings: [String] = [],
        through wrapper: (_ directory: URL) -> [String] = { _ in [] }
    ) async throws -> (TransferSuite, transfer: ChildProcess) {
        let cluster = if let cluster { cluster } else { try await PrivateCluster.shared() }
        let database = try await cluster.makeNamedDatabase()
        let url = cluster.url(database: database)
        for name in ["lifecycle", "transfer"] {
            try await ChildProcess.migrate(name, url)
        }
        let transferPort = try freePort()
        let proxy = try await TCPProxy.start(port: transferPort)
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let common = ["serve", "--database-url", url, "--insecure-dev", "--log-level"]
        let (lifecycle, lifecyclePort) = try await ChildProcess.serve(
            "lifecycle", url, ["--insecure-dev", "--log-level", "warning"])
        let allowed = origins.map { origins in
            let own = ([proxy.port] + ports).map { "http://127.0.0.1:\($0)" }
            return ["--allowed-origins", (own + origins).joined(separator: ",")]
        }
        let suite = TransferSuite(
            lifecyclePort: lifecyclePort, transferPort: transferPort, proxy: proxy, cluster: cluster,
            database: database, directory: directory, lifecycle: lifecycle,
            command: wrapper(directory) + [ChildProcess.product("transfer")] + common + [logLevel] + [
                "--data-directory", directory.path,
            ] + (allowed ?? []) + settings)
        return (suite, try await suite.startTransfer())
    }

    private init(
        lifecyclePort: Int, transferPort: Int, proxy: TCPProxy, cluster: PrivateCluster, database: String,
        directory: URL, lifecycle: ChildProcess, command: [String]
    ) {
        self.lifecyclePort = lifecyclePort
        self.transferPort = transferPort
        self.proxy = proxy
        self.cluster = cluster
        self.database = database
        self.directory = directory
        self.lifecycle = lifecycle
        self.command = command
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Starts a process, by default on ``transferPort``.
    func startTransfer(port: Int? = nil) async throws -> ChildProcess {
        let transfer = try ChildProcess.start(
            command[0], command.dropFirst() + ["--port", "\(port ?? transferPort)"])
        try await transfer.waitForLine(containing: "is ready", within: 60)
        let description = try await APIDescription(send(.GET, port ?? transferPort, "/openapi.json").json)
        descriptions.withLock { $0[port ?? transferPort] = description }
        return transfer
    }

    /// The OpenAPI document of the first process.
    var description: APIDescription { descriptions.withLock { $0[transferPort] } ?? APIDescription(.null) }

    func send(
        _ method: HTTPMethod, _ port: Int, _ path: String, headers: [String: String] = [:], _ body: ByteBuffer? = nil
    ) async throws -> HTTPAnswer {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
        request.method = method
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        request.body = body.map { .bytes($0) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(300))
        let answer = HTTPAnswer(
            status: Int(response.status.code), headers: response.headers,
            body: try await response.body.collect(upTo: 1 << 26))
        descriptions.withLock { $0[port] }?.hold(answer, to: method, path)
        return answer
    }

    /// Sends a call that `transfer` must refuse.
    func send(_ call: GivenRefusals.Call) async throws -> HTTPAnswer {
        var headers = call.headers
        if call.body != nil { headers["Content-Type"] = call.type }
        return try await send(
            HTTPMethod(rawValue: call.method), transferPort, call.path, headers: headers,
            call.body.map { ByteBuffer(bytes: $0) })
    }

    /// Sends a call that must succeed. The service must reach `position` first.
    @discardableResult
    func call(
        _ method: HTTPMethod, _ port: Int, _ path: String, _ document: String? = nil, position: String? = nil
    ) async throws -> HTTPAnswer {
        var headers = ["Content-Type": "application/json"]
        headers["Dormouse-Position"] = position
        let answer = try await onceCaughtUp(code: \.code) { [self, headers] in
            try await send(method, port, path, headers: headers, document.map { ByteBuffer(string: $0) })
        }
        guard (200..<300).contains(answer.status) else {
            throw Unexpected(description: "\(method) \(path): \(answer.status) \(String(buffer: answer.body))")
        }
        return answer
    }

    /// Creates a device with an app in the foreground that has a session.
    func prepare(_ device: String, _ configuration: String = "{}", profile: String = "ios18") async throws {
        let path = "/v1/devices/\(device)"
        try await call(.PUT, lifecyclePort, path, #"{"profile":"\#(profile)"}"#)
        try await call(.PUT, lifecyclePort, "\(path)/apps/app", "{}")
        let launched = try await call(.POST, lifecyclePort, "\(path)/apps/app/transitions", #"{"event":"launch"}"#)
        let session = "\(path)/apps/app/sessions/s"
        try await call(
            .PUT, transferPort, session, configuration, position: launched.headers.first(name: "Dormouse-Position"))
    }

    /// The URL of the database.
    var url: String { cluster.url(database: database) }

    /// The number of bytes of attempts on disk.
    var bytesOnDisk: Int {
        let folder = directory.appendingPathComponent("segments")
        let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return (files ?? []).reduce(0) { sum, file in
            let size = try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
            return sum + (size ?? 0)
        }
    }

    /// Passes bytes through the paused proxy in small portions until `count` are on disk. The proxy stays paused.
    func trickle(until count: Int) async throws {
        try await proxy.trickle(until: "\(count) bytes are on disk") { [self] in bytesOnDisk >= count }
    }

    /// Returns the types of the device's events in order.
    func events(_ device: String) async throws -> [String] {
        try await cluster.sql(
            "SELECT type FROM bus.events WHERE key = 'device:\(device)' ORDER BY log_offset", database: database
        ).split(separator: "\n").map(String.init)
    }
}

extension TCPProxy {
    /// Passes bytes through the paused proxy in small portions until the condition holds. The proxy stays paused.
    func trickle(until what: String, _ condition: @escaping @Sendable () async throws -> Bool) async throws {
        try await eventually(within: 60, describe: what) { [self] in
            try await letSomeThrough(bytes: 64 << 10)
            return try await condition()
        }
    }
}
