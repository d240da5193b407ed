import AsyncHTTPClient
import Attack
import Foundation
import Glibc
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Thousands of hostile connections of one kind: other callers get their answers, and the services stay ready.
///
/// The test judges outcomes only. `benchmarks hostile` measures rates and latencies.
@Suite("Hostile crowds", .tags(.database, .processes), .serialized, .timeLimit(.minutes(15))) struct HostileCrowdTests {
    private static let app = "com.example.app"

    @Test func `a crowd takes nothing from other callers`() async throws {
        allowManyFiles()
        let suite = try await RunningSuite.start()
        let crowded = crowded(suite)
        let targets = try await crowded.prepare(hostileDevices: 1, contentBytes: 16 << 20)
        let honest = try await devices(of: suite)
        var callers: [AttackedPort: [HonestCaller]] = [:]
        for port in AttackedPort.allCases {
            callers[port] = try await crowded.honestCallers(at: port, count: 2)
            // Beyond the limit of their address, only tokens that the service knows are accepted.
            try await work(callers[port] ?? [], beside: nil)
        }
        for kind in HostileCrowd.Kind.allCases {
            let crowd = try HostileCrowd(kind, count: Self.count(of: kind), targets)
            try await crowd.gather()
            try await work(honest, in: suite, beside: kind)
            // An honest provider notifies devices beside every crowd.
            for port in Set([kind.target, .apns]) { try await work(callers[port] ?? [], beside: kind) }
            // The crowd gets a refusal, the end of the connection, or the answer that it may have.
            let expected = Self.answers(to: kind)
            try await eventually(within: 60, describe: "the crowd of \(kind.rawValue) is answered") {
                crowd.answers.keys.contains { expected.contains($0) }
            }
            #expect(Set(crowd.answers.keys).isSubset(of: expected), "\(kind.rawValue): \(crowd.answers)")
            for service in SuiteService.allCases {
                let ready = try await answer(suite, .GET, service, "/readyz", as: RunningSuite.operatorKey)
                #expect(ready.status == 200, "\(service) beside \(kind.rawValue): \(ready)")
            }
            await crowd.leave()
            #expect(crowd.open == 0)
        }
        try await work(honest, in: suite, beside: nil)
        for caller in callers.values.joined() { await caller.leave() }
        for (service, end) in try await suite.stop() { #expect(end == .exited(0), "\(service)") }
        _ = try await LogAudit.run(suite)
        try await suite.cluster.destroy()
    }

    /// The connections of a crowd. Crowds whose requests cost more are smaller: the test must end soon.
    private static func count(of kind: HostileCrowd.Kind) -> Int {
        switch kind {
        case .forgedTokens, .drippedUploads, .forgedProviderTokens: 100
        case .garbageTokens, .drippedBodies, .longPolls, .silentTLS, .refusedHTTP2, .wantedDigests: 2000
        }
    }

    /// The statuses that a crowd may get; 0 is a closed connection.
    private static func answers(to kind: HostileCrowd.Kind) -> Set<Int> {
        switch kind {
        case .garbageTokens, .forgedTokens: [401, 429]
        case .drippedBodies, .drippedUploads: [400, 408, 429, 503, 0]
        case .longPolls: [200, 429, 503]
        case .silentTLS: [0]
        case .refusedHTTP2, .forgedProviderTokens: [403, 0]
        case .wantedDigests: [206, 429, 503]
        }
    }

    private func crowded(_ suite: RunningSuite) -> CrowdedSuite {
        let apns = Int(suite.apnsAddress.split(separator: ":").last ?? "") ?? 0
        return CrowdedSuite(
            ports: [
                .lifecycle: suite.port(.lifecycle), .fetch: suite.port(.fetch), .push: suite.port(.push),
                .transfer: suite.port(.transfer), .apns: apns,
            ], operatorKey: RunningSuite.operatorKey, authority: suite.apnsAuthority)
    }

    /// Registers honest devices with a running app.
    private func devices(of suite: RunningSuite) async throws -> [(name: String, token: String)] {
        var made: [(name: String, token: String)] = []
        for number in 1...4 {
            let device = "/v1/devices/honest-\(number)"
            let registered = try await suite.call(.PUT, .lifecycle, device, ["profile": "ios18"])
            let token = try #require(registered.json["token"]?.string)
            try await suite.call(.PUT, .lifecycle, "\(device)/apps/\(Self.app)", [:], as: token)
            made.append((device, token))
        }
        return made
    }

    /// Each device opens and leaves its app, and asks every service. Each request succeeds, at the latest when it is
    /// repeated after 429, 503 or a minute: the machine of the test may be slow.
    private func work(
        _ devices: [(name: String, token: String)], in suite: RunningSuite, beside kind: HostileCrowd.Kind?
    ) async throws {
        let crowd = kind?.rawValue ?? "nobody"
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (device, token) in devices {
                group.addTask {
                    let app = "\(device)/apps/\(Self.app)"
                    for event in ["launch", "home", "open", "home"] {
                        let answer = try await answer(
                            suite, .POST, .lifecycle, app + "/transitions", ["event": .string(event)], as: token)
                        #expect([200, 409].contains(answer.status), "\(event) beside \(crowd): \(answer)")
                    }
                    for (service, path) in [
                        (SuiteService.fetch, app + "/forecast"), (.push, app + "/explain"),
                        (.transfer, app + "/sessions"),
                    ] {
                        let answer = try await answer(suite, .GET, service, path, as: token)
                        #expect(answer.status == 200, "\(service) beside \(crowd): \(answer)")
                    }
                }
            }
            try await group.waitForAll()
        }
        let listed = try await answer(suite, .GET, .ops, "/v1/devices", as: RunningSuite.operatorKey)
        #expect(listed.status == 200, "ops beside \(crowd)")
    }

    /// Each caller sends commands to the attacked port. Each succeeds, at the latest when it is repeated like those of
    /// the devices.
    private func work(_ callers: [HonestCaller], beside kind: HostileCrowd.Kind?) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in callers {
                group.addTask {
                    for _ in 0..<4 {
                        let answer = try await answer(of: caller)
                        // 409: an attempt without an answer has opened or left the app.
                        let isAccepted =
                            (200..<300).contains(answer.status) || caller.port == .lifecycle && answer.status == 409
                        if !isAccepted {
                            Issue.record("\(caller.port) beside \(kind?.rawValue ?? "nobody"): \(answer)")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Tells whether a request took a minute, or found no connection in time.
    private func isTimeout(_ error: any Error) -> Bool {
        if case ChannelError.connectTimeout = error { return true }
        return error as? HTTPClientError == .deadlineExceeded || error as? HTTPClientError == .connectTimeout
    }

    private func answer(of caller: HonestCaller) async throws -> (status: Int, body: String) {
        var answer: (status: Int, body: String)?
        for attempt in 0..<11 {
            if attempt > 0 { try await Task.sleep(for: .seconds(1)) }
            do {
                answer = try await caller.send(within: 60)
            } catch let error where isTimeout(error) { continue }
            // A client repeats all of these. On a slow machine, its body may come late: 408, or IdleTimeout of push.
            if let answer, ![408, 429, 503].contains(answer.status), !answer.body.contains("IdleTimeout") { break }
        }
        guard let answer else { throw Unexpected("\(caller.port) did not answer") }
        return answer
    }

    private func answer(
        _ suite: RunningSuite, _ method: HTTPMethod, _ service: SuiteService, _ path: String, _ document: JSON? = nil,
        as key: String
    ) async throws -> Answer {
        let headers = ["Idempotency-Key": UUID().uuidString]
        var answer: Answer?
        for attempt in 0..<11 {
            if attempt > 0 { try await Task.sleep(for: .seconds(1)) }
            do {
                answer = try await suite.send(
                    method, service, path, document, as: key, headers: method == .GET ? [:] : headers)
            } catch let error where isTimeout(error) { continue }
            if let answer, ![429, 503].contains(answer.status) { break }
        }
        return try #require(answer, "\(service) did not answer \(path)")
    }
}
