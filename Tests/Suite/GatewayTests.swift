import AsyncHTTPClient
import Foundation
import Glibc
import NIOCore
import NIOHTTP1
import Records
import Synchronization
import TestSupport
import Testing

/// Replicas of a service behind HAProxy with the configuration of docker-compose.yml.
@Suite("Replicas behind the gateway", .tags(.database, .processes), .timeLimit(.minutes(4))) struct GatewayTests {
    @Test func `a replica that stops costs no request, and one that is killed costs those in progress`() async throws {
        // Two failed health checks take less time.
        let suite = try await RunningSuite.start(
            [.lifecycle], settings: ["DRAIN_SECONDS": "4", "PROXY_PROTOCOL_FROM": "127.0.0.1"])
        let stopped = try await suite.launchReplica(.lifecycle)
        let killed = try await suite.launchReplica(.lifecycle)
        try await suite.call(.PUT, .lifecycle, "/v1/devices/phone", ["profile": "ios18"])
        let gateway = try await Gateway.start([suite.address(.lifecycle), stopped.address, killed.address])
        let callers = Callers(gateway.port)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await callers.run() }
            try await callers.more(200)
            stopped.process.signal(SIGTERM)
            let end = try await stopped.process.exit(within: 60)
            #expect(end == .exited(0))
            try await callers.more(200)
            #expect(callers.faults == [], "a stopping replica first answers 503 at /readyz, and then closes its port")
            killed.process.signal(SIGKILL)
            _ = try await killed.process.exit()
            // The gateway gives a refused connection to another replica.
            try await callers.more(200)
            #expect(callers.faults.count <= Callers.count, "\(callers.faults)")
            callers.stop()
            try await group.waitForAll()
        }
        gateway.process.signal(SIGTERM)
        _ = try await gateway.process.exit()
        _ = try await suite.stop()
        try await suite.cluster.destroy()
    }
}

/// Clients that send requests one after another, each on a connection of its own.
private final class Callers: Sendable {
    static let count = 4
    private let port: Int
    private let answered = Tally()
    private let found = Mutex<[String]>([])
    private let isStopped = Mutex(false)

    init(_ port: Int) { self.port = port }

    /// The requests that got no answer, or another one than 200.
    var faults: [String] { found.withLock { $0 } }

    func stop() { isStopped.withLock { $0 = true } }

    /// Waits for further answers.
    func more(_ count: Int) async throws { try await answered.reaches(answered.count + count) }

    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.count {
                group.addTask { [self] in
                    while !isStopped.withLock({ $0 }) {
                        if let fault = await fault() { found.withLock { $0.append(fault) } }
                        answered.add()
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func fault() async -> String? {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/v1/devices/phone")
        request.headers.add(name: "Authorization", value: "Bearer \(RunningSuite.operatorKey)")
        request.headers.add(name: "Connection", value: "close")
        do {
            let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
            _ = try await answer.body.collect(upTo: 1 << 20)
            return answer.status == .ok ? nil : "\(answer.status)"
        } catch { return "\(error)" }
    }
}

/// HAProxy with the configuration of docker-compose.yml, in front of replicas of `lifecycle` on this machine.
private struct Gateway {
    let process: ChildProcess
    /// The port of `lifecycle`.
    let port: Int

    static func start(_ replicas: [String]) async throws -> Gateway {
        var text = try String(contentsOf: Repository.file("deploy/docker/haproxy.cfg"), encoding: .utf8)
        var port = 0
        for frontend in text.matches(of: #/bind :(\d+)/#) {
            let free = try freePort()
            if frontend.1 == "8081" { port = free }
            text = text.replacing(frontend.0, with: "bind 127.0.0.1:\(free)")
        }
        let servers = replicas.enumerated().map { number, address in
            "server replica-\(number) \(address.dropFirst("http://".count)) check"
        }
        text = text.replacing(#/server-template lifecycle-.*/#, with: servers.joined(separator: "\n    "))
        text = text.replacing(#/server-template (\w+)-.*/#) { "server \($0.1) 127.0.0.1:1" }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).cfg")
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = try ChildProcess.start(
            "/usr/sbin/haproxy", ["-db", "-f", file.path], environment: ["GATEWAY_CONNECTIONS_PER_ADDRESS": "100"])
        let gateway = Gateway(process: process, port: port)
        try await eventually(describe: "the gateway answers") {
            let health = HTTPClientRequest(url: "http://127.0.0.1:\(gateway.port)/healthz")
            return (try? await HTTPClient.shared.execute(health, timeout: .seconds(5)).status == .ok) ?? false
        }
        return gateway
    }
}
