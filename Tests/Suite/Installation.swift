import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Records
import Synchronization
import TestSupport
import Testing

/// An installation of `deploy/up` with its own folder and ports, and the executables of this test run.
struct Installation {
    /// The offset of the port of each service from the first port, as in `deploy/up`.
    static let offsets: [SuiteService: Int] = [.ops: 0, .lifecycle: 1, .fetch: 2, .push: 3, .transfer: 4]

    let folder: URL
    let base: Int
    /// All its processes inherit this variable, so the test can find them.
    private let mark = UUID().uuidString

    /// Runs a body with an installation, and removes everything afterwards.
    static func using(_ body: (Installation) async throws -> Void) async throws {
        let installation = Installation(
            folder: FileManager.default.temporaryDirectory.appendingPathComponent("up-\(UUID().uuidString.prefix(8))"),
            base: try freePorts())
        let result: Result<Void, any Error>
        do { result = .success(try await body(installation)) } catch { result = .failure(error) }
        let down = try installation.down()
        #expect(try await down.exit(within: 180) == .exited(0))
        try FileManager.default.removeItem(at: installation.folder)
        try result.get()
    }

    /// The number of the next range of ports. Installations take turns, so that two at a time never share a port.
    private static let nextRange = Mutex(Int.random(in: 0..<ranges))
    private static let ranges = 31

    /// Returns the first of the ports that three replicas need, below the ports of other tests.
    private static func freePorts() throws -> Int {
        for _ in 0..<ranges {
            let number = nextRange.withLock { next in
                next = (next + 1) % ranges
                return next
            }
            let base = 11_000 + number * 120
            if (base..<base + 120).allSatisfy(isFree) { return base }
        }
        throw NoFreePort()
    }

    var options: [String] {
        ["--data", folder.path, "--port-base", "\(base)", "--binaries", ChildProcess.product("")]
    }

    /// The environment of a terminal with colours.
    var environment: [String: String] {
        ["INSTALLATION": mark, "TERM": "xterm", "NO_COLOR": "", "DATABASE_URL": ""]
    }

    func up(_ more: [String] = [], environment others: [String: String] = [:]) throws -> ChildProcess {
        try .start(Repository.file("deploy/up").path, options + more, environment: environment.merging(others) { $1 })
    }

    /// Runs `deploy/up` in a terminal, and types Ctrl-C after the output matches a pattern.
    func upInTerminal(until pattern: String, _ more: [String] = []) throws -> ChildProcess {
        let script = try #require(Bundle.module.path(forResource: "terminal", ofType: "py", inDirectory: "Python"))
        return try .start(
            "/usr/bin/env", ["python3", script, pattern, Repository.file("deploy/up").path] + options + more,
            environment: environment)
    }

    func down() throws -> ChildProcess {
        try .start(Repository.file("deploy/down").path, ["--data", folder.path], environment: environment)
    }

    /// Runs a script of `deploy` that takes `--data` and `--binaries`.
    func run(
        _ script: String, _ arguments: [String], environment others: [String: String] = [:]
    ) async throws -> (status: TestSupport.ExitStatus, output: String) {
        let process = try ChildProcess.start(
            Repository.file("deploy/\(script)").path,
            ["--data", folder.path, "--binaries", ChildProcess.product("")] + arguments,
            environment: environment.merging(others) { $1 })
        let status = try await process.exit(within: 180)
        return (status, (process.output.lines + process.errors.lines).joined(separator: "\n"))
    }

    /// The command lines of all running processes of the installation.
    var running: [String] {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.filter { Int($0) != nil }.compactMap { pid in
            guard Self.words("/proc/\(pid)/environ").contains(mark) else { return nil }
            let command = Self.words("/proc/\(pid)/cmdline")
            // A process that has just ended has no command line. The watcher of the test ends shortly after its process.
            return command.isEmpty || command.contains("\0watcher\0") ? nil : command.replacing("\0", with: " ")
        }
    }

    private static func words(_ path: String) -> String {
        let data = try? FileHandle(forReadingAtPath: path)?.readToEnd()
        return String(decoding: (data ?? nil) ?? Data(), as: UTF8.self)
    }

    func port(_ service: SuiteService, replica: Int = 1) -> Int {
        base + (Self.offsets[service] ?? 0) + 10 * (replica - 1)
    }

    /// Sends a request with the operator key.
    func call(
        _ method: HTTPMethod, _ service: SuiteService, replica: Int = 1, _ path: String, _ document: JSON? = nil,
        headers: [String: String] = [:]
    ) async throws -> Answer {
        let key = try String(contentsOf: folder.appendingPathComponent("secrets/operator-key"), encoding: .utf8)
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port(service, replica: replica))\(path)")
        request.method = method
        request.headers.add(name: "authorization", value: "Bearer \(key)")
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let document {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(document.bytes)
        }
        let response = try await RunningSuite.client.execute(request, timeout: .seconds(60))
        return Answer(
            status: Int(response.status.code), headers: response.headers,
            body: try await response.body.collect(upTo: 1 << 26))
    }
}
