import ArgumentParser
import AsyncHTTPClient
import Attack
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport

/// `benchmarks hostile`: what a crowd of hostile connections takes from other callers of the suite.
struct HostileCrowds: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hostile",
        abstract: "Measures the commands of honest devices beside thousands of hostile connections.",
        discussion:
            """
            Starts the whole suite with the settings of deploy/up on loopback. Honest devices open and leave their app, \
            each over one connection. Their rate and latency alone and beside a crowd alternate, so that both share the \
            other load of the machine. The crowd uses the same processors. The command fails if a crowd takes more than \
            its bounds allow.
            """)

    /// The lowest share of their rate that honest devices keep beside a crowd.
    private static let keptRate = 0.8
    /// The highest latency of their commands beside a crowd, in milliseconds at the 99th percentile.
    private static let latency = 100.0

    @Option(help: "The number of hostile connections of each kind.")
    var hostile = 2000

    @Option(help: "The number of honest devices.")
    var devices = 8

    @Option(help: "The commands a second of each honest device; 0 sends the next command after each answer.")
    var rate = 20

    @Option(help: "Seconds of each measurement.")
    var seconds = 10

    func validate() throws {
        guard (1...8000).contains(hostile) else { throw ValidationError("--hostile must be from 1 to 8000") }
        guard (1...500).contains(devices) else { throw ValidationError("--devices must be from 1 to 500") }
        guard (0...1000).contains(rate) else { throw ValidationError("--rate must be from 0 to 1000") }
        guard (1...600).contains(seconds) else { throw ValidationError("--seconds must be from 1 to 600") }
    }

    func run() async throws {
        allowManyFiles()
        Report.heading("Honest devices beside \(hostile) hostile connections of each kind")
        let suite = try await MeasuredSuite.start()
        do { try await measure(suite) } catch {
            try await suite.stop()
            throw error
        }
        try await suite.stop()
    }

    private func measure(_ suite: MeasuredSuite) async throws {
        let targets = try await targets(of: suite)
        var honest: [HonestCaller] = []
        for number in 1...devices { honest.append(try await HonestCaller(number, suite)) }
        _ = try await load(honest)
        var missed: [String] = []
        for kind in HostileCrowd.Kind.allCases {
            let before = try await load(honest)
            let crowd = try HostileCrowd(kind, count: hostile, targets)
            try await crowd.gather()
            let beside = try await load(honest)
            let answers = crowd.answers.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }
            await crowd.leave()
            let after = try await load(honest)
            let alone = (before.perSecond + after.perSecond) / 2
            Report.line("\(kind.rawValue): answers \(answers.joined(separator: ", "))")
            Report.figure("commands beside the crowd", beside.perSecond, "per second")
            Report.figure("p99 without it", max(before.p99, after.p99), "ms")
            Report.figure("failed commands", Double(beside.failures), "")
            if !Report.ratio("rate beside the crowd ÷ alone", beside.perSecond / alone, reach: Self.keptRate) {
                missed.append("rate beside \(kind.rawValue)")
            }
            if !Report.bound("latency beside the crowd, p99", beside.p99, "ms", limit: Self.latency) {
                missed.append("latency beside \(kind.rawValue)")
            }
        }
        guard missed.isEmpty else {
            throw ToolFailed(description: "bounds that were not kept: \(missed.joined(separator: ", "))")
        }
    }

    private struct Load {
        var perSecond = 0.0
        /// Milliseconds.
        var p99 = 0.0
        var failures = 0
    }

    private func load(_ callers: [HonestCaller]) async throws -> Load {
        let end = ContinuousClock.now + .seconds(seconds)
        let pause = rate > 0 ? Duration.seconds(1.0 / Double(rate)) : .zero
        let results = try await withThrowingTaskGroup(of: [Duration?].self) { group in
            for caller in callers { group.addTask { try await caller.work(until: end, pause: pause) } }
            return try await group.reduce(into: [Duration?]()) { $0 += $1 }
        }
        let times = results.compactMap { $0 }.sorted()
        let p99 = times.isEmpty ? .nan : times[min(times.count - 1, times.count * 99 / 100)] / .milliseconds(1)
        return Load(
            perSecond: Double(times.count) / Double(seconds), p99: p99, failures: results.count - times.count)
    }

    /// Registers the device of the crowd with its app, and a provider's key, and uploads a large file.
    private func targets(of suite: MeasuredSuite) async throws -> HostileCrowd.Targets {
        let token = try await suite.register("hostile")
        let app = "/v1/devices/hostile/apps/app"
        try await suite.send(.PUT, "lifecycle", app, [:])
        // Now `transfer` knows the app.
        try await suite.send(.GET, "transfer", "\(app)/files")
        let (team, key) = ("TEAMTEAM01", "KEYKEYKEY1")
        let document: JSON = [
            "keyID": .string(key), "teamID": .string(team), "environment": "sandbox",
            "publicKey": .string(P256.Signing.PrivateKey().publicKey.pemRepresentation),
        ]
        try await suite.send(.POST, "push", "/v1/provider-keys", document)
        var upload = HTTPClientRequest(url: suite.address("transfer") + "/content/film")
        upload.method = .PUT
        upload.headers = suite.operatorHeaders
        upload.body = .bytes(ByteBuffer(repeating: 7, count: 64 << 20))
        let answer = try await HTTPClient.shared.execute(upload, timeout: .seconds(60))
        guard (200..<300).contains(answer.status.code) else {
            throw ToolFailed(description: "the upload of the large file: \(answer.status)")
        }
        return HostileCrowd.Targets(
            lifecycle: suite.port("lifecycle"), push: suite.port("push"), apns: suite.port("apns"),
            transfer: suite.port("transfer"), device: "hostile", token: token, app: "app", content: "/content/film",
            team: team, providerKey: key)
    }
}

/// A device that opens and leaves its app.
private struct HonestCaller: Sendable {
    private let address: String
    private let headers: HTTPHeaders

    init(_ number: Int, _ suite: MeasuredSuite) async throws {
        let device = "honest-\(number)"
        let token = try await suite.register(device)
        address = suite.address("lifecycle") + "/v1/devices/\(device)/apps/app"
        headers = ["Authorization": "Bearer \(token)", "Content-Type": "application/json"]
        try await require(.PUT, "", "{}")
        try await require(.POST, "/transitions", #"{"event":"launch"}"#)
    }

    /// Returns the time of each command; nil for one that failed.
    func work(until end: ContinuousClock.Instant, pause: Duration) async throws -> [Duration?] {
        var times: [Duration?] = []
        var next = ContinuousClock.now
        while .now < end {
            let event = times.count % 2 == 0 ? "home" : "open"
            let begun = ContinuousClock.now
            let status = try? await send(.POST, "/transitions", #"{"event":"\#(event)"}"#)
            times.append(status.map { (200..<300).contains($0) } == true ? begun.duration(to: .now) : nil)
            // The rate does not depend on the answers, unless they take longer than the pause.
            next = max(next + pause, .now)
            if pause > .zero { try await Task.sleep(until: next, clock: .continuous) }
        }
        return times
    }

    private func require(_ method: HTTPMethod, _ path: String, _ body: String) async throws {
        let status = try await send(method, path, body)
        guard (200..<300).contains(status) else {
            throw ToolFailed(description: "\(method) \(address)\(path): \(status)")
        }
    }

    private func send(_ method: HTTPMethod, _ path: String, _ body: String) async throws -> Int {
        var request = HTTPClientRequest(url: address + path)
        request.method = method
        request.headers = headers
        request.body = .bytes(ByteBuffer(string: body))
        let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        _ = try await answer.body.collect(upTo: 1 << 20)
        return Int(answer.status.code)
    }
}

extension MeasuredSuite {
    /// Registers a device.
    ///
    /// - Returns: its token.
    fileprivate func register(_ device: String) async throws -> String {
        let made = try await send(.PUT, "lifecycle", "/v1/devices/\(device)", ["profile": "ios18"])
        guard let token = made["token"]?.string else {
            throw ToolFailed(description: "the registration of \(device) returned no token")
        }
        return token
    }

    /// Sends a request of an operator, which must succeed.
    ///
    /// - Returns: the answer.
    @discardableResult
    fileprivate func send(
        _ method: HTTPMethod, _ service: String, _ path: String, _ document: JSON? = nil
    ) async throws -> JSON {
        var request = HTTPClientRequest(url: address(service) + path)
        request.method = method
        request.headers = operatorHeaders
        if let document { request.body = .bytes(document.bytes) }
        let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let body = try await answer.body.collect(upTo: 1 << 20)
        guard (200..<300).contains(answer.status.code) else {
            throw ToolFailed(description: "\(method) \(path): \(answer.status) \(String(buffer: body))")
        }
        return (try? JSON(parsing: body.readableBytesView)) ?? .null
    }
}
