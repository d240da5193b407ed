import AsyncHTTPClient
import Contracts
import Foundation
import NIOCore
import NIOHTTP1
import Records
import Synchronization
import TestSupport
import Testing
import Timeline

/// `push` and `lifecycle` as processes with their own database, and a client for them.
final class PushSuite: Sendable {
    struct Answer: DescribedAnswer {
        let status: Int
        let headers: [String: String]
        let json: JSON
        var isEmpty = false

        var contentType: String? { headers["content-type"] }
    }

    let push: Int
    let lifecycle: Int
    /// The provider endpoint over TLS.
    let apns: Int
    /// The folder of the endpoint's development authority.
    let certificates: URL
    let signer = ProviderSigner()
    /// Validates every answer of `push`.
    let description: APIDescription
    private let processes: [ChildProcess]
    private let isKilled = Atomic(false)
    /// The URL of the database.
    let url: String
    private let settings: [String: String]

    private init(
        ports: (push: Int, lifecycle: Int, apns: Int), certificates: URL, processes: [ChildProcess],
        description: APIDescription, settings: [String: String]
    ) {
        self.description = description
        push = ports.push
        lifecycle = ports.lifecycle
        apns = ports.apns
        self.certificates = certificates
        self.processes = processes
        self.settings = settings
        url = settings["DATABASE_URL"] ?? ""
    }

    /// Runs both services while the body runs.
    ///
    /// - Parameters:
    ///   - database: the URL of a database; nil creates one.
    ///   - more: further settings.
    static func run(
        database: String? = nil, _ more: [String: String] = [:],
        _ body: @Sendable @escaping (PushSuite) async throws -> Void
    ) async throws {
        var url = database ?? ""
        if database == nil { url = try await PrivateCluster.shared().makeDatabase() }
        let folder = URL.temporaryDirectory.appending(path: "dormouse-apns-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let standard = [
            "DATABASE_URL": url, "MIGRATION_DATABASE_URL": url, "PARTITIONS": "4", "PORT": "0", "INSECURE_DEV": "true",
            "LOG_LEVEL": "warning", "APNS_PORT": "0", "APNS_CERTIFICATES": folder.path,
        ]
        let settings = standard.merging(more) { $1 }
        var ports: [Int] = []
        var processes: [ChildProcess] = []
        defer { for process in processes { process.signal(SIGTERM) } }
        for name in ["lifecycle", "push"] {
            try await ChildProcess.migrate(name, settings: settings)
            let (process, port) = try await ChildProcess.serve(name, settings: settings)
            processes.append(process)
            ports.append(port)
        }
        let apns = try await apnsPort(of: processes[1])
        let described = try await HTTPClient.shared.execute(
            HTTPClientRequest(url: "http://127.0.0.1:\(ports[1])/openapi.json"), timeout: .seconds(60))
        let document = try await described.body.collect(upTo: 1 << 20)
        let suite = PushSuite(
            ports: (push: ports[1], lifecycle: ports[0], apns: apns), certificates: folder, processes: processes,
            description: APIDescription(try JSON(parsing: document.readableBytesView)), settings: settings)
        try await suite.registerKey()
        try await withTimeout(seconds: 200, "the story") { try await body(suite) }
        for process in processes { process.signal(SIGTERM) }
        let killed = suite.isKilled.load(ordering: .relaxed)
        for (index, process) in processes.enumerated() where index == 0 || !killed {
            #expect(try await process.exit() == .exited(0))
        }
    }

    /// Runs another process of `push` while the body runs, and then kills it.
    func withReplica(_ body: (_ port: Int) async throws -> Void) async throws {
        let (process, port) = try await another()
        defer { process.signal(SIGKILL) }
        try await body(port)
    }

    var pushProcess: pid_t { processes[1].pid }

    /// Returns the port of the provider endpoint over TLS of a process.
    static func apnsPort(of process: ChildProcess) async throws -> Int {
        let line = try await process.waitForLine(containing: "accepts providers on", within: 60)
        return try #require(line.split(separator: ":").last.flatMap { Int($0) })
    }

    /// Starts another process of `push` on the same database. It is killed when it is released.
    func another() async throws -> (process: ChildProcess, port: Int) {
        try await ChildProcess.serve("push", settings: settings)
    }

    /// Kills the suite's process of `push`.
    func killPush() {
        isKilled.store(true, ordering: .relaxed)
        processes[1].signal(SIGKILL)
    }

    /// The lines of the suite's process of `push`.
    var pushLines: [String] { processes[1].output.lines + processes[1].errors.lines }

    /// Waits for a line of the suite's process of `push`.
    func pushSays(_ words: String) async throws {
        try await processes[1].waitForLine(containing: words, within: 90)
    }

    /// Pauses the suite's process of `push`.
    func pause() { processes[1].signal(SIGSTOP) }
    func resume() { processes[1].signal(SIGCONT) }

    private func registerKey() async throws {
        let key: JSON = [
            "keyID": .string(signer.keyID), "teamID": .string(signer.teamID), "publicKey": .string(signer.publicKey),
            "environment": "sandbox",
        ]
        #expect(try await send("POST", "/v1/provider-keys", key).status == 201)
    }

    func request(_ method: String, _ path: String, port: Int? = nil, _ headers: [String: String] = [:])
        -> HTTPClientRequest
    {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port ?? push)\(path)")
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        return request
    }

    func send(
        _ method: String, _ path: String, _ body: JSON? = nil, port: Int? = nil, _ headers: [String: String] = [:]
    ) async throws -> Answer {
        try await send(method, path, bytes: body?.bytes, port: port, headers)
    }

    func send(
        _ method: String, _ path: String, bytes: [UInt8]?, type: String = "application/json", port: Int? = nil,
        _ headers: [String: String] = [:]
    ) async throws -> Answer {
        var request = request(method, path, port: port, headers)
        if let bytes {
            request.body = .bytes(bytes)
            request.headers.add(name: "Content-Type", value: type)
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(70))
        let body = try await response.body.collect(upTo: 1 << 20)
        let pairs = response.headers.map { ($0.name.lowercased(), $0.value) }
        let answer = Answer(
            status: Int(response.status.code), headers: Dictionary(pairs) { $1 },
            json: (try? JSON(parsing: body.readableBytesView)) ?? .null, isEmpty: body.readableBytes == 0)
        if port != lifecycle, let fault = description.fault(of: answer, to: method, path) {
            Issue.record("\(method) \(path): \(fault)\n\(String(buffer: body))")
        }
        return answer
    }

    /// Sends a request with the position of an answer of `lifecycle`, until `push` has reached it.
    @discardableResult
    func send(_ method: String, _ path: String, _ body: JSON? = nil, after told: Answer) async throws -> Answer {
        let position = try #require(told.headers["dormouse-position"])
        return try await onceCaughtUp(code: \.code) { [self] in
            try await send(method, path, body, ["Dormouse-Position": position])
        }
    }

    func text(_ path: String, port: Int? = nil) async throws -> String {
        let response = try await HTTPClient.shared.execute(request("GET", path, port: port), timeout: .seconds(60))
        return String(buffer: try await response.body.collect(upTo: 1 << 20))
    }

    /// Sends a request of a provider, over any connection of the client.
    func notify(
        _ token: String, _ payload: JSON?, _ headers: [String: String] = [:], method: String = "POST",
        path: String? = nil
    ) async throws -> Answer {
        var all = ["apns-topic": "com.example.app", "authorization": "bearer \(try await bearer())"]
        all.merge(headers) { $1 }
        return try await send(method, path ?? "/3/device/\(token)", payload, all.filter { $0.value != "none" })
    }

    /// One token for all requests: a connection accepts a new one only every 20 minutes.
    func bearer() async throws -> String { try await tokens.value(signer) }
    private let tokens = Tokens()

    private actor Tokens {
        private var text: String?

        func value(_ signer: ProviderSigner) async throws -> String {
            if let text { return text }
            // Signatures are random: of two concurrent calls the first to finish counts.
            let fresh = try await signer.token(issuedAt: RealClock().now)
            if let text { return text }
            text = fresh
            return fresh
        }
    }
}

/// A device's stream, read event by event.
struct DeviceStream {
    private var parts: HTTPClientResponse.Body.AsyncIterator
    private var text = ""
    /// The id of the latest event; empty before the first one.
    private(set) var id = ""

    /// Opens the stream, and returns when the device is connected.
    init(_ suite: PushSuite, _ device: String, port: Int? = nil) async throws {
        try await self.init(suite, path: "/v1/devices/\(device)/notifications", port: port)
    }

    /// Opens a stream, and returns when its devices are connected.
    init(
        _ suite: PushSuite, path: String, port: Int? = nil, _ headers: [String: String] = [:]
    ) async throws {
        let request = suite.request("GET", path, port: port, headers)
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(70))
        #expect(response.status == .ok)
        let pairs = response.headers.map { ($0.name.lowercased(), $0.value) }
        let head = PushSuite.Answer(
            status: Int(response.status.code), headers: Dictionary(pairs) { $1 }, json: .null)
        #expect(suite.description.fault(of: head, to: "GET", path) == nil)
        parts = response.body.makeAsyncIterator()
        #expect(try await block() == ": open")
    }

    /// Returns the next notification; nil at the end of the stream.
    mutating func next() async throws -> JSON? {
        while let block = try await block() {
            let lines = block.split(separator: "\n")
            if let line = lines.first(where: { $0.hasPrefix("id: ") }) { id = String(line.dropFirst(4)) }
            guard let line = lines.first(where: { $0.hasPrefix("data: ") }) else { continue }
            return try JSON(parsing: Array(line.dropFirst(6).utf8))
        }
        return nil
    }

    private mutating func block() async throws -> String? {
        while true {
            if let end = text.range(of: "\n\n") {
                defer { text = String(text[end.upperBound...]) }
                return String(text[..<end.lowerBound])
            }
            guard let part = try await parts.next() else { return nil }
            text += String(buffer: part)
        }
    }
}
