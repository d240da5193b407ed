import AsyncHTTPClient
import Glibc
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// A caller needs no header, no pause and no retry between calls to different services.
@Suite("Read your writes across services", .tags(.database, .processes), .timeLimit(.minutes(6)))
struct AcknowledgedTests {
    @Test func `no service refuses a device, an app or a launch that lifecycle has just acknowledged`() async throws {
        let suite = try await RunningSuite.start(SuiteService.writers)
        var replicas: [SuiteService: [String]] = [:]
        var processes: [ChildProcess] = []
        for service in SuiteService.writers {
            let (process, address) = try await suite.launchReplica(service)
            processes.append(process)
            replicas[service] = [suite.address(service), address]
        }
        let addresses = replicas
        try await withThrowingTaskGroup(of: [String].self) { group in
            for lane in 0..<8 {
                group.addTask { try await refusals(of: (0..<125).map { lane * 125 + $0 }, suite, addresses) }
            }
            for try await refusals in group { #expect(refusals == []) }
        }
        // An unregistered device is still refused.
        let paths: [(SuiteService, HTTPMethod, String, JSON?)] = [
            (.push, .PUT, "/apps/news/registration", ["environment": "sandbox"]),
            (.fetch, .PUT, "/apps/news/minimum-interval", ["interval": 900]),
            (.transfer, .PUT, "/apps/news/sessions/films", [:]), (.push, .GET, "/apps/news/explain", nil),
        ]
        for (service, method, path, body) in paths {
            let answer = try await suite.send(method, service, "/v1/devices/nobody" + path, body)
            #expect(
                answer.status == 404 && answer.json["code"]?.string == "device_not_registered", "\(service) \(path)")
        }
        for process in processes { process.signal(SIGTERM) }
        for process in processes { #expect(try await process.exit(within: 60) == .exited(0)) }
        _ = try await suite.stop()
        try await suite.cluster.destroy()
    }

    /// Registers, installs and launches at `lifecycle`, then calls the other services at once, each at another replica.
    private func refusals(
        of numbers: [Int], _ suite: RunningSuite, _ replicas: [SuiteService: [String]]
    ) async throws -> [String] {
        var refusals: [String] = []
        for number in numbers {
            let device = "/v1/devices/d\(number)"
            let app = device + "/apps/news"
            func call(_ service: SuiteService, _ method: HTTPMethod, _ path: String, _ body: JSON?) async throws {
                var request = suite.request(method, service, path)
                let address = replicas[service]?[number % 2] ?? ""
                request.url = address + path
                if let body {
                    request.headers.add(name: "content-type", value: "application/json")
                    request.body = .bytes(body.bytes)
                }
                let answer = try await suite.send(request)
                guard (200..<300).contains(answer.status) else {
                    return refusals.append(
                        "\(service) \(method) \(path): \(answer.status) \(String(buffer: answer.body))")
                }
            }
            try await call(.lifecycle, .PUT, device, ["profile": "ios15"])
            try await call(.lifecycle, .PUT, app, ["backgroundModes": ["fetch", "remote-notification"]])
            try await call(.push, .GET, app + "/explain", nil)
            try await call(.lifecycle, .POST, app + "/transitions", ["event": "launch"])
            try await call(.push, .PUT, app + "/registration", ["environment": "sandbox"])
            try await call(.fetch, .PUT, app + "/minimum-interval", ["interval": 900])
            try await call(.transfer, .PUT, app + "/sessions/films", [:])
            try await call(.fetch, .GET, app + "/forecast", nil)
            // Every service knows the device now, but not yet this app.
            guard number.isMultiple(of: 4) else { continue }
            let later = device + "/apps/mail"
            try await call(.lifecycle, .PUT, later, ["backgroundModes": ["fetch"]])
            let reads: [(SuiteService, HTTPMethod, String, JSON?)] = [
                (.transfer, .PUT, "/files/film", ["a": 1]), (.fetch, .GET, "/forecast", nil),
                (.push, .GET, "/explain", nil), (.transfer, .GET, "/explain", nil),
            ]
            for index in reads.indices {
                let (service, method, path, body) = reads[(index + number / 4) % reads.count]
                try await call(service, method, later + path, body)
            }
        }
        return refusals
    }
}
