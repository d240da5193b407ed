import AsyncHTTPClient
import Attack
import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport

/// `lifecycle` and `push` over a private cluster, with devices whose app is registered for notifications.
final class PushRig: Sendable {
    static let app = "com.example.app"

    let url: String
    /// The address of `push`.
    let push: String
    /// The provider endpoint over TLS.
    let apns: String
    let service: ChildProcess
    /// A provider's token.
    let bearer: String
    private let provider = ProviderToken()
    private let cluster: PrivateCluster
    private let lifecycle: ChildProcess
    private let lifecycleAddress: String
    private let folder: URL
    private let http: HTTPClient

    static func start() async throws -> PushRig {
        let cluster = try await PrivateCluster.make(settings: ["shared_buffers": "256MB", "max_wal_size": "2GB"])
        let url = try await cluster.makeDatabase()
        let folder = URL.temporaryDirectory.appending(path: "dormouse-benchmark-\(UUID().uuidString)")
        let (lifecycle, port) = try await start("lifecycle", url, [])
        let (push, pushPort) = try await start(
            "push", url, ["--apns-port", "0", "--apns-certificates", folder.path])
        let said = try await push.waitForLine(containing: "accepts providers on", within: 30)
        let rig = PushRig(
            cluster, url, lifecycle, port, push, pushPort, apns: said.split(separator: ":").last.map(String.init) ?? "",
            folder)
        try await rig.registerKey()
        return rig
    }

    private init(
        _ cluster: PrivateCluster, _ url: String, _ lifecycle: ChildProcess, _ lifecyclePort: Int,
        _ service: ChildProcess, _ port: Int, apns: String, _ folder: URL
    ) {
        (self.cluster, self.url, self.lifecycle, self.service, self.folder) = (cluster, url, lifecycle, service, folder)
        lifecycleAddress = "http://127.0.0.1:\(lifecyclePort)"
        push = "http://127.0.0.1:\(port)"
        self.apns = "https://localhost:\(apns)"
        bearer = provider.text
        var configuration = HTTPClient.Configuration()
        // Each stream needs a connection.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 20_000
        http = HTTPClient(configuration: configuration)
    }

    private static func start(
        _ name: String, _ url: String, _ more: [String]
    ) async throws -> (process: ChildProcess, port: Int) {
        try await ChildProcess.migrate(name, url)
        return try await ChildProcess.serve(name, url, benchmarkSettings + ["--connections-per-address", "0"] + more)
    }

    func stop() async throws {
        try await http.shutdown()
        for process in [service, lifecycle] {
            process.signal(SIGTERM)
            _ = try await process.exit(within: 60)
        }
        try? FileManager.default.removeItem(at: folder)
        try await cluster.destroy()
    }

    private func registerKey() async throws {
        try await send(.POST, push + "/v1/provider-keys", provider.registration)
    }

    /// Registers devices, 64 at a time.
    ///
    /// - Returns: the device token of each, in order.
    func makeDevices(_ count: Int) async throws -> [String] {
        let tokens = try await withThrowingTaskGroup(of: [(Int, String)].self) { group in
            for worker in 0..<64 {
                group.addTask {
                    var made: [(Int, String)] = []
                    for number in stride(from: worker, to: count, by: 64) {
                        let path = "/v1/devices/fixture-\(number)"
                        try await self.send(.PUT, self.lifecycleAddress + path, ["profile": "ios18"])
                        let app = "\(path)/apps/\(Self.app)"
                        try await self.send(
                            .PUT, self.lifecycleAddress + app, ["notificationAuthorization": "authorized"])
                        let launched = try await self.send(
                            .POST, self.lifecycleAddress + app + "/transitions", ["event": "launch"])
                        let registered = try await self.send(
                            .PUT, self.push + app + "/registration", ["environment": "sandbox"],
                            ["Dormouse-Position": launched.position])
                        // An app that does not run gets alerts as before.
                        try await self.send(
                            .POST, self.lifecycleAddress + app + "/transitions", ["event": "exit"])
                        made.append((number, registered.json["token"]?.string ?? ""))
                    }
                    return made
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        return tokens.sorted { $0.0 < $1.0 }.map(\.1)
    }

    @discardableResult
    func send(
        _ method: HTTPMethod, _ url: String, _ document: JSON, _ headers: [String: String] = [:]
    ) async throws -> (json: JSON, position: String) {
        var request = HTTPClientRequest(url: url)
        request.method = method
        request.headers.add(name: "Content-Type", value: "application/json")
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        request.body = .bytes(document.bytes)
        let response = try await http.execute(request, timeout: .seconds(60))
        let body = try await response.body.collect(upTo: 1 << 20)
        guard (200..<300).contains(response.status.code) else {
            throw ToolFailed(description: "\(method) \(url): \(response.status) \(String(buffer: body))")
        }
        let json = (try? JSON(parsing: body.readableBytesView)) ?? .null
        return (json, response.headers.first(name: "Dormouse-Position") ?? "")
    }

    /// Reads a device's connection until it is cancelled.
    func follow(
        device number: Int, opened: Tally, _ arrived: @Sendable (_ notification: JSON) -> Void
    ) async throws {
        let request = HTTPClientRequest(url: "\(push)/v1/devices/fixture-\(number)/notifications")
        let response = try await http.execute(request, timeout: .minutes(20))
        guard response.status == .ok else { throw ToolFailed(description: "device \(number): \(response.status)") }
        var lines = ByteBuffer()
        var isOpen = false
        for try await part in response.body {
            lines.writeImmutableBuffer(part)
            while let end = lines.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
                let line = lines.readString(length: end - lines.readerIndex) ?? ""
                lines.moveReaderIndex(forwardBy: 1)
                if !isOpen {
                    isOpen = true
                    opened.add()
                }
                guard line.hasPrefix("data: ") else { continue }
                arrived(try JSON(parsing: Array(line.utf8.dropFirst(6))))
            }
            lines.discardReadBytes()
        }
    }
}
