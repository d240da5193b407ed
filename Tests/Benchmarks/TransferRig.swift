import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport

/// `lifecycle` and `transfer` over a private cluster, and nginx, which serves and receives the same bytes on the same disk.
final class TransferRig: Sendable {
    static let app = "com.example.app"

    /// The address of `transfer`.
    let transfer: String
    let nginx: String
    let service: ChildProcess
    let folder: URL
    private let cluster: PrivateCluster
    private let lifecycle: ChildProcess
    private let lifecycleAddress: String
    private let server: ChildProcess
    private let http: HTTPClient

    /// - Parameter mebibytes: the size of the large file; the small one has 1 MiB.
    static func start(mebibytes: Int) async throws -> TransferRig {
        let folder = URL.temporaryDirectory.appending(path: "dormouse-benchmark-\(UUID().uuidString)")
        for name in ["www", "logs", "temp", "out"] {
            try FileManager.default.createDirectory(
                at: folder.appending(path: name), withIntermediateDirectories: true)
        }
        for (name, count) in [("large", mebibytes), ("small", 1)] {
            _ = try tool("dd", ["if=/dev/urandom", "of=\(folder.path)/www/\(name)", "bs=1M", "count=\(count)"])
        }
        let (server, nginxPort) = try await startNginx(folder)
        let cluster = try await PrivateCluster.make(settings: ["shared_buffers": "256MB", "max_wal_size": "2GB"])
        let url = try await cluster.makeDatabase()
        let (lifecycle, lifecyclePort) = try await start("lifecycle", url, [])
        let (service, port) = try await start(
            "transfer", url,
            [
                "--data-directory", folder.appending(path: "data").path, "--allowed-origins",
                "http://127.0.0.1:\(nginxPort)",
            ])
        return TransferRig(cluster, folder, server, nginxPort, lifecycle, lifecyclePort, service, port)
    }

    private init(
        _ cluster: PrivateCluster, _ folder: URL, _ server: ChildProcess, _ nginxPort: Int, _ lifecycle: ChildProcess,
        _ lifecyclePort: Int, _ service: ChildProcess, _ port: Int
    ) {
        (self.cluster, self.folder, self.server, self.lifecycle, self.service) =
            (cluster, folder, server, lifecycle, service)
        nginx = "http://127.0.0.1:\(nginxPort)"
        lifecycleAddress = "http://127.0.0.1:\(lifecyclePort)"
        transfer = "http://127.0.0.1:\(port)"
        http = HTTPClient()
    }

    /// Starts Debian's nginx as a file server that accepts `PUT`, in its own folder.
    private static func startNginx(_ folder: URL) async throws -> (ChildProcess, Int) {
        let port = try freePort()
        let user = geteuid() == 0 ? "user root;" : ""
        let configuration = """
            daemon off; \(user) worker_processes auto; pid \(folder.path)/nginx.pid; error_log stderr error;
            events { worker_connections 8192; }
            http {
                access_log off; sendfile on; client_max_body_size 0;
                client_body_temp_path \(folder.path)/temp; proxy_temp_path \(folder.path)/temp;
                fastcgi_temp_path \(folder.path)/temp; uwsgi_temp_path \(folder.path)/temp;
                scgi_temp_path \(folder.path)/temp;
                server { listen 127.0.0.1:\(port) backlog=4096; root \(folder.path)/www; dav_methods PUT; }
            }
            """
        let file = folder.appending(path: "nginx.conf")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
        guard FileManager.default.isExecutableFile(atPath: "/usr/sbin/nginx") else {
            throw ToolFailed(description: "nginx is not installed: apt-get install nginx-light")
        }
        let process = try ChildProcess.start("/usr/sbin/nginx", ["-p", folder.path, "-c", file.path])
        try await eventually(within: 10, describe: "nginx answers") {
            (try? tool("curl", ["-sf", "-o", "/dev/null", "http://127.0.0.1:\(port)/small"])) != nil
        }
        return (process, port)
    }

    private static func start(
        _ name: String, _ url: String, _ more: [String]
    ) async throws -> (process: ChildProcess, port: Int) {
        try await ChildProcess.migrate(name, url)
        return try await ChildProcess.serve(name, url, benchmarkSettings + ["--connections-per-address", "0"] + more)
    }

    func stop() async throws {
        try await http.shutdown()
        for process in [service, lifecycle, server] {
            process.signal(SIGTERM)
            _ = try await process.exit(within: 60)
        }
        try? FileManager.default.removeItem(at: folder)
        try await cluster.destroy()
    }

    /// A device with an app on screen, a session, and the file `large` or `small` to send.
    func makeDevice(_ device: String, file: String) async throws {
        let root = "/v1/devices/\(device)"
        try await send(.PUT, lifecycleAddress + root, ["profile": "ios18"])
        try await send(.PUT, lifecycleAddress + "\(root)/apps/\(Self.app)", [:])
        let position = try await send(
            .POST, lifecycleAddress + "\(root)/apps/\(Self.app)/transitions", ["event": "launch"]
        ).position
        let session: JSON = ["httpMaximumConnectionsPerHost": 64]
        try await send(.PUT, transfer + "\(root)/apps/\(Self.app)/sessions/s", session, position: position)
        _ = try tool(
            "curl",
            [
                "-sf", "-o", "/dev/null", "-T", "\(folder.path)/www/\(file)",
                transfer + "\(root)/apps/\(Self.app)/files/\(file)",
            ])
    }

    /// Creates tasks.
    func create(_ kind: String, of device: String, _ document: JSON) async throws {
        try await send(.POST, transfer + "/v1/devices/\(device)/apps/\(Self.app)/sessions/s/\(kind)", document)
    }

    /// The number of uncompleted tasks of a device. A failed task is an error.
    func unfinished(_ device: String) async throws -> Int {
        let session = try await send(.GET, transfer + "/v1/devices/\(device)/apps/\(Self.app)/sessions/s").json
        let tasks = session["tasks"]?.items ?? []
        if let failed = tasks.first(where: { ($0["error"] ?? .null) != .null }) {
            throw ToolFailed(description: "a task failed: \(failed)")
        }
        return tasks.count { $0["state"]?.string != "completed" }
    }

    @discardableResult
    private func send(
        _ method: HTTPMethod, _ url: String, _ document: JSON? = nil, position: String? = nil
    ) async throws -> (json: JSON, position: String?) {
        var request = HTTPClientRequest(url: url)
        request.method = method
        request.headers.add(name: "Content-Type", value: "application/json")
        if let position { request.headers.add(name: "Dormouse-Position", value: position) }
        request.body = document.map { .bytes(ByteBuffer(bytes: $0.jsonBytes)) }
        let response = try await http.execute(request, timeout: .seconds(60))
        let body = try await response.body.collect(upTo: 1 << 22)
        guard (200..<300).contains(response.status.code) else {
            throw ToolFailed(description: "\(method) \(url): \(response.status.code) \(String(buffer: body))")
        }
        return (
            (try? JSON(parsing: body.readableBytesView)) ?? .null, response.headers.first(name: "Dormouse-Position")
        )
    }

    /// The memory of the service in MiB: now, or the maximum since its start.
    func memory(peak: Bool) throws -> Double {
        let status = try String(contentsOfFile: "/proc/\(service.pid)/status", encoding: .utf8)
        return (status.number(after: peak ? "VmHWM:\t" : "VmRSS:\t") ?? .nan) / 1024
    }
}
