import AsyncHTTPClient
import Contracts
import EventLog
import Foundation
import HTTPKit
import Identity
import LifecycleCore
import Logging
import NIOCore
import NIOHTTP1
import Postgres
import Records
import Runtime
import ServiceKit
import ServiceLifecycle
import Telemetry
import TestSupport
import Testing
import Timeline

@testable import LifecycleService

/// `lifecycle` on a free port with its own database, and a client.
struct LifecycleFixture: Sendable {
    static let operatorKey = "correct-horse"
    static let readerKey = "battery-staple"
    static let partitions = 4

    let port: Int
    let pool: ConnectionPool
    let runtime: DurableRuntime<LifecycleMachine>
    let tokens: TokenIssuer
    let routes: LifecycleRoutes
    /// Checks every response against the API description.
    let documentation: Documentation
    var clock: ClockControl { ClockControl(pool: pool) }

    /// Runs the service while the body runs.
    ///
    /// - Parameter virtual: whether the suite clock is frozen, for the body to advance.
    static func run(
        virtual: Bool = false, _ body: @Sendable @escaping (LifecycleFixture) async throws -> Void
    ) async throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let quiet = logger
        let options = try ConnectionOptions(url: try await database(quiet))
        let pool = ConnectionPool(options, size: 4, logger: quiet)
        if virtual {
            try await pool.withConnection { try await LogSchema.makeClockVirtual($0) }
            try await ClockControl(pool: pool).set(frozen: true)
        }
        let clock = SharedClock()
        let runtime = DurableRuntime<LifecycleMachine>(
            pool: pool, options: options, partitions: partitions, clock: clock, policy: LifecyclePolicy(),
            logger: quiet)
        let tail = LogTail(pool: pool, partitions: partitions, updates: runtime.updates, logger: quiet)
        let tokens = try await TokenIssuer.open(pool, issuer: Lifecycle.name)
        let metrics = Metrics()
        let listed = ListedStreams(
            commands: Commands(runtime), store: OrderStreamStore(pool: pool), clock: clock, logger: quiet)
        let routes = LifecycleRoutes(
            commands: Commands(runtime), tail: tail, tokens: tokens, clock: clock, policy: LifecyclePolicy(),
            terminations: EventHistory(pool: pool, partitions: partitions), metrics: metrics, listed: listed)
        var table = RouteTable()
        routes.add(to: &table)
        let documentation = Documentation(table)
        let revoked = RevokedTokens()
        let revocations = RevocationFollower(
            revoked, pool: pool, partitions: partitions, updates: runtime.updates, storesRevocations: true,
            logger: quiet)
        let host = ServiceHost(
            name: Lifecycle.name, configuration: ServiceConfiguration(SettingsReader(), port: 0),
            responder: table.responder(authenticator: try await authenticator(pool, revoked), metrics: metrics),
            services: [
                runtime, tail, ClockFollower(clock, pool: pool, updates: runtime.updates, logger: quiet), revocations,
                listed,
            ], logger: quiet)
        let ready = Signal<Int>()
        let group = host.group { ready.fire($0) }
        try await group.run {
            let fixture = LifecycleFixture(
                port: try await ready.value(), pool: pool, runtime: runtime, tokens: tokens, routes: routes,
                documentation: documentation)
            try await body(fixture)
        }
        await pool.close()
    }

    private static func database(_ logger: Logger) async throws -> String {
        let cluster = try await PrivateCluster.shared()
        let template = try await cluster.template("lifecycle") { url in
            let connection = try await Connection.open(try ConnectionOptions(url: url), logger: logger)
            try await RuntimeSchema.migrate(
                service: Lifecycle.name, connection, partitions: partitions, rolePassword: nil, logger: logger)
            await connection.close()
        }
        return try await cluster.makeDatabase(template: template)
    }

    private static func authenticator(_ pool: ConnectionPool, _ revoked: RevokedTokens) async throws -> Authenticator {
        let verifier = DeviceTokenVerifier()
        try await verifier.trust(try await TokenKeys.trusted("lifecycle", pool))
        let lines = [
            OperatorKeys.line(name: "alice", scopes: [.read, .operate], key: operatorKey),
            OperatorKeys.line(name: "bob", scopes: [.read], key: readerKey),
        ]
        return Authenticator(
            operators: OperatorKeyring(try OperatorKeys(file: lines.joined(separator: "\n"))), tokens: verifier,
            revoked: revoked)
    }

    // MARK: Requests

    struct Answer: DescribedAnswer {
        let status: Int
        let headers: HTTPHeaders
        let body: String
        var json: JSON { (try? JSON(parsing: Array(body.utf8))) ?? .null }
        var code: String? { json["code"]?.string }
        var contentType: String? { headers.first(name: "Content-Type") }
        var isEmpty: Bool { body.isEmpty }
        subscript(_ name: String) -> JSON? { json[name] }
    }

    func request(
        _ method: String, _ path: String, _ headers: [String: String] = [:], key: String?
    ) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
        request.method = .init(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let key { request.headers.add(name: "Authorization", value: "Bearer \(key)") }
        return request
    }

    @discardableResult
    func send(
        _ method: String, _ path: String, _ body: String? = nil, _ headers: [String: String] = [:],
        key: String? = operatorKey, type: String = "application/json"
    ) async throws -> Answer {
        var request = request(method, path, headers, key: key)
        if let body {
            request.body = .bytes(ByteBuffer(string: body))
            request.headers.add(name: "Content-Type", value: type)
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(50))
        let bytes = try await response.body.collect(upTo: 8 << 20)
        let answer = Answer(
            status: Int(response.status.code), headers: response.headers, body: String(buffer: bytes))
        if let fault = documentation.fault(of: answer, to: method, path) {
            Issue.record("\(method) \(path): \(fault)\n\(answer.body)")
        }
        return answer
    }

    /// Registers a device with an app `a`, and returns its token.
    func phone(_ device: String, fleet: String? = nil, manifest: String = "{}") async throws -> String {
        let member = fleet.map { #","fleet":"\#($0)""# } ?? ""
        let answer = try await send("PUT", "/v1/devices/\(device)", #"{"profile":"ios15"\#(member)}"#)
        try await send("PUT", "/v1/devices/\(device)/apps/a", manifest)
        return answer["token"]?.string ?? ""
    }

    /// Waits until a token of `d1` is revoked.
    func untilVoid(_ token: String) async throws {
        try await eventually(describe: "the token is refused") {
            try await send("GET", "/v1/devices/d1", key: token).code == "invalid_credential"
        }
    }

    @discardableResult
    func transition(_ device: String, _ event: String) async throws -> Answer {
        try await send("POST", "/v1/devices/\(device)/apps/a/transitions", #"{"event":"\#(event)"}"#)
    }

    // MARK: The log

    /// Returns all events of a device.
    func log(of device: String) async throws -> [Event] {
        let key = AggregateKey.device(device)
        let place = Parameter.int4(Int32(key.partition(of: Self.partitions)))
        let rows = try await pool.execute(
            Query(LogReader.ofKey, [place, .text(key.description), .int(0), .int(100_000)]))
        return try rows.map { try LogReader.event($0) }
    }

    /// Appends an event as another service would, and sends the wake-up.
    func append<D: EventData>(_ data: D, to device: String, at moment: Instant = RealClock().now) async throws {
        try await pool.append(ForeignEvent(data, to: device, at: moment), partitions: Self.partitions)
    }
}
