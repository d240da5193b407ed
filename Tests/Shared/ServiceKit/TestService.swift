import AsyncHTTPClient
import Foundation
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import Logging
import NIOCore
import NIOHTTP1
import Records
import ServiceKit
import ServiceLifecycle
import Synchronization
import Telemetry
import TestSupport
import Testing
import Timeline

struct Nap: Record {
    var name = ""
    var minutes = 0

    enum Constraints {
        static let name: Constraint<String> = .identifier
        static let minutes: Constraint<Int> = .range(1...60)
    }
}

/// The lines of a log.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func append(_ line: String) { lines.withLock { $0.append(line) } }
}

/// A gate that opens once.
struct Gate: Sendable {
    private let way = AsyncStream<Void>.makeStream()
    func open() { way.continuation.finish() }
    func wait() async { for await _ in way.stream {} }
}

struct Answer {
    let status: Int
    let headers: [String: String]
    let body: String
    var json: JSON { (try? JSON(parsing: Array(body.utf8))) ?? .null }
    var code: String? { json["code"]?.string }
}

/// A small service on a free port, and a client for it.
struct TestService: Sendable {
    static let operatorKey = "correct-horse"
    static let readersKey = "battery-staple"

    let port: Int
    let tokens: DeviceTokens
    let metrics: Metrics
    let log: LogLines
    let group: ServiceGroup

    /// Runs the service while the body runs.
    static func run(
        slots: RequestSlots = RequestSlots(), insecure: Bool = false, checks: [HealthCheck] = [],
        revoked: RevokedTokens = RevokedTokens(),
        rates: RequestRates = RequestRates(), failures: Int = 0,
        refresh: @escaping @Sendable () async -> Bool = { false }, settings: [String] = [],
        certificate: PEMCertificate? = nil, accessLog: Bool = false, tracer: Tracer? = nil,
        routes more: (inout RouteTable) -> Void = { _ in },
        _ body: @Sendable @escaping (TestService) async throws -> Void
    ) async throws {
        let metrics = Metrics()
        let log = LogLines()
        let tokens = try await DeviceTokens(pem: DeviceTokens.newKey(), keyID: "k1")
        let verifier = DeviceTokenVerifier()
        try await verifier.trust(["k1": tokens.publicKey])
        let keys = [
            OperatorKeys.line(name: "alice", scopes: [.read, .operate], key: operatorKey),
            OperatorKeys.line(name: "bob", scopes: [.read], key: readersKey),
        ]
        var table = RouteTable()
        addRoutes(&table)
        more(&table)
        let logger = Logger(label: "naps") { _ in
            LogOutput(label: "naps", level: .info, format: .json, write: log.append)
        }
        let readiness = Readiness(checks, metrics: metrics, logger: logger)
        await readiness.judge()
        table.addHealth(readiness, metrics: metrics)
        table.addOpenAPI(title: "naps", version: "1")
        let responder = table.responder(
            authenticator: Authenticator(
                operators: OperatorKeyring(try OperatorKeys(file: "# keys\n\(keys.joined(separator: "\n"))\n")),
                tokens: verifier,
                revoked: revoked, insecure: insecure,
                failures: FailedCredentials(perSecond: failures, metrics: metrics),
                refresh: refresh), metrics: metrics, rates: rates, slots: slots,
            accessLog: AccessLog(logger, at: accessLog ? .info : .debug), tracer: tracer)
        let host = ServiceHost(
            name: "naps", configuration: try ServiceConfiguration.reading(["--port", "0"] + settings),
            responder: responder,
            services: [readiness], readiness: readiness,
            certificate: try certificate.map {
                try ServerCertificate(
                    chainFile: $0.chainFile, keyFile: $0.keyFile, interval: .milliseconds(50), logger: logger)
            }, logger: logger)
        let ready = Signal<Int>()
        let group = host.group { ready.fire($0) }
        try await group.run {
            let port = try await ready.value()
            try await body(TestService(port: port, tokens: tokens, metrics: metrics, log: log, group: group))
        }
    }

    private static func addRoutes(_ table: inout RouteTable) {
        table.add(.post, "/v1/naps", "Takes a nap", body: Nap.self, .status(.created)) { nap, _ in
            Reply(nap, etag: ETag("1"))
        }
        table.add(.get, "/v1/devices/{device}", "A device") { call in
            guard try call.context.requireCaller().owns(call.identifier("device")) else { throw Problem.notFound }
            try call.request.requireMatch(ETag("7"))
            return Response(json: Array(#"{"seen":true}"#.utf8), etag: ETag("7"))
        }
        table.add(.post, "/v1/operate", "For operators", .scope(.operate)) { _ in Response(json: []) }
        table.add(.post, "/v1/films", "Repeats itself", .ignoresIdempotencyKey) { _ in Response(json: []) }
        table.add(.get, "/v1/broken", "Fails", .open) { _ -> Response in throw Oops(secret: "table bus.events") }
    }

    private struct Oops: Error { let secret: String }

    func request(
        _ path: String, _ method: String = "GET", _ headers: [String: String] = [:], key: String? = operatorKey
    )
        -> HTTPClientRequest
    {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
        request.method = .init(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let key { request.headers.add(name: "Authorization", value: "Bearer \(key)") }
        return request
    }

    func send(
        _ method: String = "GET", _ path: String, _ body: String? = nil, _ headers: [String: String] = [:],
        key: String? = operatorKey
    ) async throws -> Answer {
        var request = request(path, method, headers, key: key)
        if let body {
            request.body = .bytes(ByteBuffer(string: body))
            if headers["Content-Type"] == nil { request.headers.add(name: "Content-Type", value: "application/json") }
        }
        return try await answer(to: request)
    }

    /// Sends a JSON document in parts.
    func send(
        _ method: String, _ path: String, stream: AsyncStream<ByteBuffer>, _ headers: [String: String] = [:]
    ) async throws -> Answer {
        var request = request(path, method, headers, key: Self.operatorKey)
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .stream(stream, length: .unknown)
        return try await answer(to: request)
    }

    private func answer(to request: HTTPClientRequest) async throws -> Answer {
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let bytes = try await response.body.collect(upTo: 1 << 20)
        let pairs = response.headers.map { ($0.name.lowercased(), $0.value) }
        return Answer(
            status: Int(response.status.code), headers: Dictionary(pairs) { $1 }, body: String(buffer: bytes))
    }
}

extension Caller {
    /// Returns whether the caller may see a device of fleet `f1`.
    fileprivate func owns(_ device: String) -> Bool {
        switch self {
        case .operator: true
        case .fleet(let own): own == "f1"
        case .device(let own, _): own == device
        }
    }
}
