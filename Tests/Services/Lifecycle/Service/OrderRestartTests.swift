import AsyncHTTPClient
import Contracts
import EventLog
import Foundation
import Glibc
import HTTPKit
import Logging
import NIOCore
import NIOHTTP1
import Postgres
import Records
import Synchronization
import TestSupport
import Testing

@testable import LifecycleService

/// The real `lifecycle` as a process, killed and restarted during its streams.
@Suite("Orders across a restart", .tags(.database, .processes), .timeLimit(.minutes(3))) struct OrderRestartTests {
    @Test func `a reader that resumes gets every order once and in order`() async throws {
        let fixture = try await RestartFixture.make()
        try await fixture.start()
        let blues = (0..<5).map { "blue\($0)" }
        for device in blues { try await fixture.register(device, fleet: "blue") }
        try await fixture.register("red", fleet: "red")
        let start = try await fixture.heads()
        let heard = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let place = EncodedPosition([
                    fixture.partition(of: blues[0]): Int64(start[fixture.partition(of: blues[0])] ?? 0)
                ])
                let ids = try await fixture.follow("/v1/devices/\(blues[0])/orders", after: place, until: 1, heard)
                #expect(try await ids == fixture.orders([blues[0]], after: start).flatMap(\.value))
            }
            group.addTask {
                let place = EncodedPosition(start.mapValues { Int64($0) })
                let ids = try await fixture.follow("/v1/fleets/blue/orders", after: place, until: blues.count, heard)
                let told = Dictionary(grouping: ids) { Int($0.prefix { $0 != ":" }) ?? -1 }
                #expect(try await told == fixture.orders(blues, after: start))
            }
            for device in blues + ["red"] {
                group.addTask {
                    try await fixture.command(device, "launch")
                    // Long enough for two kills of the service.
                    while fixture.starts < 3 {
                        for event in ["home", "open"] { try await fixture.command(device, event) }
                    }
                    for event in ["home", "open"] { try await fixture.command(device, event) }
                    // The last order of each device.
                    try await fixture.command(device, "crash")
                }
            }
            for _ in 0..<2 {
                try await heard.reaches(heard.count + 60)
                try await fixture.restart()
            }
            try await group.waitForAll()
        }
        try await fixture.stop()
    }
}

/// A database and a `lifecycle` process that can be restarted.
private final class RestartFixture: Sendable {
    private struct Life {
        var process: ChildProcess?
        /// The number of starts.
        var starts = 0
        /// Fires when the service is ready again.
        var isUp = Signal<Void>()
    }

    private let url: String
    private let port: Int
    private let pool: ConnectionPool
    private let life = Mutex(Life())
    static let partitions = 16

    private init(url: String, port: Int, pool: ConnectionPool) { (self.url, self.port, self.pool) = (url, port, pool) }

    static func make() async throws -> RestartFixture {
        let url = try await PrivateCluster.shared().makeDatabase()
        try await ChildProcess.migrate("lifecycle", url)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let pool = ConnectionPool(try ConnectionOptions(url: url), size: 2, logger: logger)
        return RestartFixture(url: url, port: try freePort(), pool: pool)
    }

    var starts: Int { life.withLock { $0.starts } }

    func start() async throws {
        let (process, _) = try await ChildProcess.serve(
            "lifecycle", url, port: port, ["--insecure-dev", "--host", "127.0.0.1"])
        let isUp = life.withLock { life in
            life.process = process
            life.starts += 1
            return life.isUp
        }
        isUp.fire()
    }

    /// Kills the service and starts it again.
    func restart() async throws {
        let process = life.withLock { life in
            life.isUp = Signal()
            return life.process
        }
        process?.signal(SIGKILL)
        try await process?.exit()
        try await start()
    }

    func stop() async throws {
        let process = try #require(life.withLock { $0.process })
        process.signal(SIGTERM)
        #expect(try await process.exit(within: 60) == .exited(0), "\(process.errors.tail())")
        await pool.close()
    }

    /// Reads a stream across disconnections, until it has delivered orders of `crashes` crashes.
    ///
    /// - Returns: the positions of the orders, as received.
    func follow(_ path: String, after place: EncodedPosition, until crashes: Int, _ heard: Tally) async throws
        -> [String]
    {
        var after = place.description
        var ids: [String] = []
        var rest = crashes
        while rest > 0 {
            // A lost connection ends here.
            do {
                var stream = try await OrderStream(request("GET", path), after: after)
                while rest > 0, let next = try await stream.next() {
                    after = next.id
                    ids.append(try #require(next.order["order"]?.string))
                    if next.order["type"] == "terminate" { rest -= 1 }
                    heard.add()
                }
            } catch let error as StreamRefused where error.status != 0 && error.status != 503 { throw error } catch {}
            try Task.checkCancellation()
            try await life.withLock { $0.isUp }.value()
        }
        return ids
    }

    /// Repeats a transition until it gets a response. If a response is lost, the repeat may be illegal.
    func command(_ device: String, _ event: String) async throws {
        while true {
            try await life.withLock { $0.isUp }.value()
            try Task.checkCancellation()
            let path = "/v1/devices/\(device)/apps/a/transitions"
            let status = try? await send("POST", path, #"{"event":"\#(event)"}"#)
            if let status, [200, 409].contains(status) { return }
        }
    }

    func register(_ device: String, fleet: String) async throws {
        let registered = try await send("PUT", "/v1/devices/\(device)", #"{"profile":"ios15","fleet":"\#(fleet)"}"#)
        let installed = try await send("PUT", "/v1/devices/\(device)/apps/a", "{}")
        #expect(registered == 201 && installed == 201)
    }

    private func request(_ method: String, _ path: String) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
        request.method = .init(rawValue: method)
        return request
    }

    private func send(_ method: String, _ path: String, _ body: String) async throws -> Int {
        var request = request(method, path)
        request.body = .bytes(ByteBuffer(string: body))
        request.headers.add(name: "Content-Type", value: "application/json")
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        _ = try await response.body.collect(upTo: 1 << 20)
        return Int(response.status.code)
    }

    // MARK: The log

    func partition(of device: String) -> Int { AggregateKey.device(device).partition(of: Self.partitions) }

    func heads() async throws -> [Int: Int] {
        let rows = try await pool.execute(Query(LogReader.heads))
        return try LogReader.heads(rows)
    }

    /// Returns the positions of the orders of some devices in the log, by partition.
    func orders(_ devices: [String], after places: [Int: Int]) async throws -> [Int: [String]] {
        var orders: [Int: [String]] = [:]
        for partition in Set(devices.map { partition(of: $0) }) {
            let place: [Parameter] = [.int4(Int32(partition)), .int(places[partition, default: 0]), .int(1_000_000)]
            let told = try await pool.execute(Query(LogReader.all, place))
                .map { try LogReader.event($0) }.compactMap { Order($0) }
            orders[partition] = told.filter { devices.contains($0.device) }.map(\.order)
        }
        return orders
    }
}
