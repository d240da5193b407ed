import AsyncHTTPClient
import Foundation
import Identity
import Logging
import NIOCore
import NIOHTTP1
import Postgres
import Records
import Synchronization
import TestSupport
import Testing

/// A rolling update and its rollback as HTTP clients see it.
@Suite("Rolling updates over HTTP", .tags(.database, .processes), .timeLimit(.minutes(5))) struct ServedUpdateTests {
    @Test func `clients get their answers, or 503 with Retry-After, while replicas are replaced`() async throws {
        let counters = try await ServedCounters.make()
        var replicas: [ServedCounters.Replica] = []
        for _ in 0..<3 { replicas.append(try await counters.start(release: 1)) }
        counters.answer(on: replicas.map(\.port))
        func replace(release: Int) async throws {
            for index in replicas.indices {
                let new = try await counters.start(release: release)
                let old = replicas[index]
                replicas[index] = new
                counters.answer(on: replicas.map(\.port))
                try await counters.answers(more: 60)
                try await counters.stop(old)
            }
            try await counters.reached(form: release)
            try await counters.answers(more: 60)
        }
        // No other command comes for this device. So only the sweeper can bring it to another form.
        try await counters.add(to: "idle")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await counters.load(clients: 6, devices: 30) }
            try await counters.answers(more: 60)
            try await replace(release: 2)
            // A rollback, then an update that leaves a release out.
            try await replace(release: 1)
            try await replace(release: 3)
            counters.end()
            try await group.waitForAll()
        }
        #expect(counters.faults.isEmpty)
        let (acknowledged, stored) = (counters.acknowledged, try await counters.totals(on: replicas[0].port))
        #expect(acknowledged == stored, "each command ran once")
        #expect(acknowledged.count == 31)
        let ports = replicas.map(\.port)
        try await eventually(within: 30, describe: "the metric counts the upgraded states") {
            try await counters.upgraded(on: ports) > 0
        }
        for replica in replicas { try await replica.process.shutDown() }
        await counters.pool.close()
    }
}

/// Replicas of the counter as processes, and clients that send each command until it is answered.
private final class ServedCounters: Sendable {
    struct Replica: Sendable {
        let process: ChildProcess
        let port: Int
    }

    private struct State {
        var ports: [Int] = []
        var isOver = false
        var acknowledged: [String: Int] = [:]
        var count = 0
        /// The ports of stopped replicas.
        var retired: Set<Int> = []
        var faults: [String: Int] = [:]
    }

    private static let partitions = ["--partitions", "4"]

    let pool: ConnectionPool
    private let url: String
    private let keys: String
    private let state = Mutex(State())
    private let client = HTTPClient.shared

    static func make() async throws -> ServedCounters {
        let url = try await PrivateCluster.shared().makeDatabase()
        let keys = FileManager.default.temporaryDirectory.appendingPathComponent("keys-\(UUID().uuidString)")
        let line = OperatorKeys.line(
            name: "alice", scopes: [.read, .operate], key: CounterService.operatorKey)
        try line.write(to: keys, atomically: true, encoding: .utf8)
        try await ChildProcess.migrate("counter", url, partitions)
        return ServedCounters(
            url, keys.path, ConnectionPool(try ConnectionOptions(url: url), size: 1, logger: Logger(label: "t")))
    }

    private init(_ url: String, _ keys: String, _ pool: ConnectionPool) {
        (self.url, self.keys, self.pool) = (url, keys, pool)
    }

    /// The commands that were answered with 200, by device.
    var acknowledged: [String: Int] { state.withLock(\.acknowledged) }
    /// The answers that a client may not get, by their text.
    var faults: [String: Int] { state.withLock(\.faults) }

    /// Migrates as a release, and starts a replica of it.
    func start(release: Int) async throws -> Replica {
        let settings = ["COUNTER_RELEASE": "\(release)"]
        try await ChildProcess.migrate("counter", url, Self.partitions, settings: settings)
        let (process, port) = try await ChildProcess.serve(
            "counter", url, ["--operator-key-file", keys] + Self.partitions, settings: settings)
        return Replica(process: process, port: port)
    }

    /// Stops a replica that gets no more commands. Its last answers may be lost.
    func stop(_ replica: Replica) async throws {
        state.withLock { _ = $0.retired.insert(replica.port) }
        try await replica.process.shutDown()
    }

    /// Sends commands from several clients until ``end()``.
    func load(clients: Int, devices: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 0..<clients {
                group.addTask {
                    var number = client
                    while !self.state.withLock(\.isOver) {
                        try await self.add(to: "d\(number % devices)")
                        number += clients + 1
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    func end() { state.withLock { $0.isOver = true } }

    /// Sets the replicas that get the commands.
    func answer(on ports: [Int]) { state.withLock { $0.ports = ports } }

    /// Waits until more commands are answered.
    func answers(more count: Int) async throws {
        let before = state.withLock(\.count)
        try await eventually(within: 60, describe: "\(count) more answers") {
            self.state.withLock(\.count) >= before + count
        }
    }

    func add(to device: String) async throws {
        let key = UUID().uuidString
        while true {
            let port = state.withLock { $0.ports.randomElement() ?? 0 }
            let request = request(.POST, port, "/v1/devices/\(device)/additions", ["Idempotency-Key": key])
            try Task.checkCancellation()
            guard let answer = try? await client.execute(request, timeout: .seconds(30)),
                let body = try? await answer.body.collect(upTo: 1 << 20)
            else {
                state.withLock { state in
                    if !state.retired.contains(port) { state.faults["no answer", default: 0] += 1 }
                }
                try await Task.sleep(for: .milliseconds(20))
                continue
            }
            if answer.status == .ok {
                return state.withLock { state in
                    state.acknowledged[device, default: 0] += 1
                    state.count += 1
                }
            }
            if answer.status != .serviceUnavailable || answer.headers.first(name: "Retry-After") == nil {
                state.withLock { $0.faults["\(answer.status.code) \(String(buffer: body))", default: 0] += 1 }
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Returns the total of each device.
    func totals(on port: Int) async throws -> [String: Int] {
        var totals: [String: Int] = [:]
        for device in acknowledged.keys {
            let answer = try await client.execute(
                request(.GET, port, "/v1/devices/\(device)"), timeout: .seconds(30))
            let body = try await answer.body.collect(upTo: 1 << 20)
            totals[device] = try JSON(parsing: Array(body.readableBytesView))["total"]?.int
        }
        return totals
    }

    /// Returns the number of upgraded states that replicas count.
    func upgraded(on ports: [Int]) async throws -> Double {
        var sum = 0.0
        for port in ports {
            let answer = try await client.execute(request(.GET, port, "/metrics"), timeout: .seconds(30))
            let text = String(buffer: try await answer.body.collect(upTo: 1 << 20))
            let line = text.split(separator: "\n").last { $0.hasPrefix("dormouse_states_upgraded_total") }
            sum += try #require(line?.split(separator: " ").last.flatMap { Double($0) })
        }
        return sum
    }

    private func request(
        _ method: HTTPMethod, _ port: Int, _ path: String, _ headers: [String: String] = [:]
    ) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
        request.method = method
        request.headers.add(name: "Authorization", value: "Bearer \(CounterService.operatorKey)")
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        return request
    }

    /// Waits until all states have a form.
    func reached(form: Int) async throws {
        let others = Statement(
            """
            SELECT (SELECT count(*) FROM counter.states WHERE machine_version <> $1)
                + (SELECT count(*) FROM bus.cursors WHERE consumer = 'counter' AND (state_form <> $1 OR newest_state <> $1))
            """)
        try await eventually(within: 60, describe: "all states have form \(form)") {
            try await self.pool.execute(Query(others, [.int4(Int32(form))]))[0].decode(Int.self) == 0
        }
    }
}
