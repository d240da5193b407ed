import AsyncHTTPClient
import Foundation
import Glibc
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Services that reach the database through PgBouncer.
@Suite(.tags(.database, .processes), .timeLimit(.minutes(5)))
struct PgBouncerTests {
    private static let executable = "/usr/sbin/pgbouncer"
    private static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: executable) }

    @Test(.enabled(if: isInstalled, "skipped: PgBouncer is not installed"))
    func `services work through PgBouncer in session mode`() async throws {
        let suite = try await RunningSuite.start([])
        let services = [SuiteService.lifecycle, .fetch]
        let port = try freePort()
        let users = try suite.file(
            "users.txt",
            text: services.map { "\"dormouse_\($0.rawValue)\" \"secret-of-\($0.rawValue)\"\n" }.joined())
        let configuration = try suite.file(
            "pgbouncer.ini",
            text: """
                [databases]
                * = host=127.0.0.1 port=\(suite.cluster.port)
                [pgbouncer]
                listen_addr = 127.0.0.1
                listen_port = \(port)
                unix_socket_dir =
                auth_type = scram-sha-256
                auth_file = \(users)
                pool_mode = session
                default_pool_size = 40
                """)
        // It refuses to run as root.
        let user = getuid() == 0 ? ["-u", "postgres"] : []
        let pooler = try ChildProcess.start(Self.executable, user + [configuration])
        try await pooler.waitForLine(containing: "process up")
        var replicas: [SuiteService: (process: ChildProcess, address: String)] = [:]
        for service in services {
            let url = "postgresql://dormouse_\(service.rawValue)@127.0.0.1:\(port)/\(suite.database)"
            replicas[service] = try await suite.launchReplica(service, settings: ["DATABASE_URL": url])
        }
        func call(_ method: HTTPMethod, _ service: SuiteService, _ path: String, _ body: JSON) async throws {
            var request = suite.request(method, service, path)
            request.url = try #require(replicas[service]).address + path
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(body.bytes)
            let answer = try await suite.send(request)
            #expect((200..<300).contains(answer.status), "\(path): \(answer)")
        }
        for number in 0..<20 {
            let app = "/v1/devices/d\(number)/apps/news"
            try await call(.PUT, .lifecycle, "/v1/devices/d\(number)", ["profile": "ios15"])
            try await call(.PUT, .lifecycle, app, ["backgroundModes": ["fetch"]])
            try await call(.POST, .lifecycle, app + "/transitions", ["event": "launch"])
            try await call(.PUT, .fetch, app + "/minimum-interval", ["interval": 900])
        }
        for replica in replicas.values {
            replica.process.signal(SIGTERM)
            #expect(try await replica.process.exit(within: 60) == .exited(0))
        }
        try await suite.cluster.destroy()
    }
}
