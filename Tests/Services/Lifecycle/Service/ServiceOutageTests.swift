import AsyncHTTPClient
import Contracts
import EventLog
import Foundation
import Glibc
import Logging
import NIOCore
import NIOHTTP1
import Postgres
import Records
import TestSupport
import Testing
import Timeline

/// The real `lifecycle` as a process, killed while an app has a limit.
@Suite(.tags(.database, .processes), .timeLimit(.minutes(2))) struct ServiceOutageTests {
    @Test func `a wake whose limit passed during an outage can still be completed`() async throws {
        let fixture = try await OutageFixture.make()
        let first = try await fixture.start()
        try await fixture.call("PUT", "", #"{"profile":"ios15"}"#)
        try await fixture.call("PUT", "/apps/a", #"{"backgroundModes":["remote-notification"]}"#)
        try await fixture.call("POST", "/apps/a/transitions", #"{"event":"launch"}"#)
        try await fixture.call("POST", "/apps/a/transitions", #"{"event":"home"}"#)
        try await fixture.askForWake()
        let woken = try await fixture.event(LifecycleEvent.AppWoken.self)
        first.signal(SIGKILL)
        try await first.exit()
        try await Backends.leave(of: "lifecycle", in: fixture.url)
        try await fixture.step(to: woken.deadline + .seconds(5))
        try await fixture.waitUntilLeasesExpire()

        let second = try await fixture.start()
        let path = "/apps/a/wakes/\(woken.wake)/completion"
        var answer = try await fixture.send("POST", path, #"{"result":"newData"}"#)
        // The device retries after 503.
        while answer.status == 503 { answer = try await fixture.send("POST", path, #"{"result":"newData"}"#) }
        #expect(answer.status == 200 || answer.status == 204, "\(answer.body)")
        let noted = try await fixture.event(LifecycleEvent.OutageRecorded.self)
        #expect(noted.from < woken.deadline && noted.until > woken.deadline)
        let types = try await fixture.types()
        #expect(types.contains(LifecycleEvent.WakeCompleted.type))
        #expect(!types.contains(LifecycleEvent.AppTerminated.type))
        second.signal(SIGTERM)
        #expect(try await second.exit(within: 60) == .exited(0), "\(second.errors.tail())")
        await fixture.pool.close()
    }
}

/// A database with a frozen suite clock, which tests advance.
private struct OutageFixture: Sendable {
    private static let device = "phone"
    private static let partitions = 16

    let url: String
    let port: Int
    let pool: ConnectionPool
    private var key: AggregateKey { .device(Self.device) }
    private var partition: Int32 { Int32(key.partition(of: Self.partitions)) }

    static func make() async throws -> OutageFixture {
        let url = try await PrivateCluster.shared().makeDatabase()
        try await ChildProcess.migrate("lifecycle", url, ["--virtual-time"])
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let pool = ConnectionPool(try ConnectionOptions(url: url), size: 2, logger: logger)
        _ = try await pool.execute(Query(Statement("SELECT bus.set_clock(1, true)")))
        return OutageFixture(url: url, port: try freePort(), pool: pool)
    }

    func start() async throws -> ChildProcess {
        try await ChildProcess.serve("lifecycle", url, port: port, ["--insecure-dev", "--host", "127.0.0.1"]).process
    }

    func send(_ method: String, _ path: String, _ body: String) async throws -> (status: Int, body: String) {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/v1/devices/\(Self.device)\(path)")
        request.method = .init(rawValue: method)
        request.body = .bytes(ByteBuffer(string: body))
        request.headers.add(name: "Content-Type", value: "application/json")
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(50))
        return (Int(response.status.code), String(buffer: try await response.body.collect(upTo: 1 << 20)))
    }

    func call(_ method: String, _ path: String, _ body: String) async throws {
        let answer = try await send(method, path, body)
        #expect((200..<300).contains(answer.status), "\(answer.body)")
    }

    /// Appends a wake request as `push` would.
    func askForWake() async throws {
        let data = PushEvent.WakeRequested(app: "a", notification: "n-1", payload: [:])
        let insert = Statement(
            """
            WITH moved AS (UPDATE bus.partitions SET head = head + 1, day = current_date WHERE partition = $1 RETURNING head)
            INSERT INTO bus.events
                (partition, log_offset, day, id, source, type, version, key, app, time, correlationid, data)
            SELECT $1, head, current_date, $2, 'push', $3, 1, $4, 'a', bus.suite_time(bus.real_now()), $2, $5::json FROM moved
            """)
        let values: [Parameter] = [
            .int4(partition), .uuid(UUID()), .text(PushEvent.WakeRequested.type), .text(key.description),
            .text(String(decoding: data.jsonBytes, as: UTF8.self)),
        ]
        _ = try await pool.execute(Query(insert, values))
    }

    private func log() async throws -> [Event] {
        try await pool.execute(
            Query(LogReader.ofKey, [.int4(partition), .text(key.description), .int(0), .int(100_000)])
        ).map { try LogReader.event($0) }
    }

    func types() async throws -> [String] { try await log().map(\.type) }

    /// Waits for the first event of a type.
    func event<D: EventData>(_: D.Type) async throws -> D {
        while true {
            if let event = try await log().first(where: { $0.type == D.type }) { return try D(jsonBytes: event.data) }
            try Task.checkCancellation()
        }
    }

    func step(to moment: Instant) async throws {
        _ = try await pool.execute(Query(Statement("SELECT bus.step_clock($1)"), [.int(Int(moment.milliseconds))]))
    }

    func waitUntilLeasesExpire() async throws {
        let living = Statement("SELECT count(*) FROM bus.cursors WHERE lease_expires > clock_timestamp()")
        try await eventually(within: 60, describe: "the leases expire") {
            try await pool.execute(Query(living))[0].decode(Int.self, at: 0) == 0
        }
    }
}
