import Contracts
import Foundation
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import TransferService

/// Transfers with nginx, an independent server.
@Suite(
    .tags(.processes, .stockClient),
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/sbin/nginx"), "apt-get install nginx-light"))
struct NginxOrigins {
    private static let configuration = """
        daemon off; worker_processes 1; pid nginx.pid; error_log stderr crit;
        events { worker_connections 64; }
        http {
            access_log off; client_body_temp_path bodies; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi; scgi_temp_path scgi;
            server {
                listen 127.0.0.1:PORT; root files;
                location /open { }
                location /closed { auth_basic "closed \\"area\\""; auth_basic_user_file users; alias files/open; }
                location /small { client_max_body_size 1k; proxy_pass http://127.0.0.1:PORT/open; }
            }
        }
        """

    private func run(_ body: (_ port: Int, _ origins: AllowedOrigins) async throws -> Void) async throws {
        let folder = try Folder()
        let port = try freePort()
        func write(_ text: String, _ name: String) throws {
            try Data(text.utf8).write(to: folder.url.appendingPathComponent(name))
        }
        try FileManager.default.createDirectory(
            at: folder.url.appendingPathComponent("files"), withIntermediateDirectories: true)
        try write("in", "files/open")
        try write("J\u{E4}s\u{F8}n:{PLAIN}p \u{E4}ss\n", "users")
        try write(Self.configuration.replacing("PORT", with: "\(port)"), "nginx.conf")
        // The worker processes of nginx have another user.
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.url.path)
        let nginx = try ChildProcess.start(
            "/usr/sbin/nginx", ["-p", folder.url.path, "-c", folder.url.path + "/nginx.conf", "-e", "stderr"])
        defer { withExtendedLifetime(folder) { nginx.signal(SIGTERM) } }
        let origins = try AllowedOrigins("http://127.0.0.1:\(port)")
        try await eventually(within: 60, describe: "nginx listens") {
            try await fetching("/open", port, origins).failure() == nil
        }
        try await body(port, origins)
    }

    private func fetching(_ path: String, _ port: Int, _ origins: AllowedOrigins) throws -> Fetching {
        var fetching = try Fetching("http://127.0.0.1:\(port)\(path)")
        fetching.origins = origins
        return fetching
    }

    @Test func `a password opens a location of nginx that requires Basic`() async throws {
        try await run { port, origins in
            var fetching = try fetching("/closed", port, origins)
            fetching.decide = { _ in .use(.password(user: "J\u{E4}s\u{F8}n", password: "p \u{E4}ss")) }
            let outcome = try await fetching.run()
            #expect(outcome.body == "in", "\(outcome)")
            #expect(outcome.asked.map(\.realm) == ["closed "])
            fetching.decide = { _ in .use(.password(user: "J\u{E4}s\u{F8}n", password: "wrong")) }
            let failure = try await fetching.failure()
            #expect(failure?.challenge?.previousFailureCount == 1)
        }
    }

    @Test func `an early 413 of nginx is the response of an upload`() async throws {
        try await run { port, origins in
            var fetching = try fetching("/small", port, origins)
            fetching.request.method = .PUT
            // Transfer workers also read bodies from files.
            let folder = try Folder()
            let storage = try DirectoryStorage(folder.url.path)
            try await storage.create("film", in: .segments).write(ByteBuffer(repeating: 0, count: 8 << 20), at: 0)
            let piece = FilePiece(file: try await storage.open("film", in: .segments), range: 0..<8 << 20)
            fetching.request.body = FileBody([piece])
            #expect(try await fetching.run().status == 413)
        }
    }
}
