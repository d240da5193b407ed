import AsyncHTTPClient
import Contracts
import EventLog
import Foundation
import HTTPKit
import Hummingbird
import Logging
import Machines
import NIOCore
import NIOHTTP1
import Postgres
import Records
import Runtime
public import ServiceKit
import Telemetry
public import TestSupport
import Testing

@testable import Identity

/// A counter belongs to fleet `f1` once its total is greater than 0.
extension Counter: FleetMember {
    public var fleet: String? { total > 0 ? "f1" : nil }
}

struct Amount: Record {
    var amount = 0

    enum Constraints {
        static let amount: Constraint<Int> = .range(0...1000)
    }
}

@Suite("Commands over HTTP", .tags(.database), .timeLimit(.minutes(5))) struct CommandsTests {
    @Test func `a device token opens only its own device`() async throws {
        try await withCounters { service async throws in
            #expect(try await service.add(1, to: "d1", as: service.device("d1")).status == 200)
            #expect(try await service.add(1, to: "d2", as: service.device("d1")).code == "not_found")
            #expect(try await service.get("d2", as: service.device("d1")).status == 404)
            #expect(try await service.get("d1", as: service.device("d1")).json["total"]?.int == 1)
            #expect(try await service.add(1, to: "d1", as: "nonsense").code == "invalid_credential")
            #expect(try await service.add(1, to: "d1", as: nil).code == "unauthenticated")
        }
    }

    @Test func `a fleet token opens only devices of its fleet`() async throws {
        try await withCounters { service async throws in
            // A counter without a fleet can be registered by any fleet.
            #expect(try await service.add(0, to: "d1", as: service.fleet("f2")).status == 200)
            #expect(try await service.add(1, to: "d1", as: service.fleet("f1")).status == 200)
            #expect(try await service.add(1, to: "d1", as: service.fleet("f2")).code == "not_found")
            #expect(try await service.get("d1", as: service.fleet("f2")).code == "not_found")
            #expect(try await service.get("d1", as: service.fleet("f1")).json["total"]?.int == 1)
        }
    }

    @Test func `a command whose If-Match names another version is not run`() async throws {
        try await withCounters { service async throws in
            #expect(try await service.add(1, to: "d1", headers: ["If-Match": "\"1\""]).code == "precondition_failed")
            #expect(try await service.add(1, to: "d1").status == 200)
            #expect(try await service.get("d1").headers["etag"] == "\"1\"")
            #expect(try await service.add(1, to: "d1", headers: ["If-Match": "\"7\""]).status == 412)
            #expect(try await service.add(1, to: "d1", headers: ["If-Match": "\"1\""]).status == 200)
            #expect(try await service.get("d1").json["total"]?.int == 2)
        }
    }

    @Test func `an operator's key with the scope read can't change anything`() async throws {
        try await withCounters { service async throws in
            #expect(try await service.add(1, to: "d1", as: CounterService.readersKey).code == "forbidden")
            #expect(try await service.add(1, to: "d1").status == 200)
            #expect(try await service.get("d1", as: CounterService.readersKey).json["total"]?.int == 1)
        }
    }

    @Test func `a refusal is a problem document and changes nothing`() async throws {
        try await withCounters { service async throws in
            #expect(try await service.send("POST", "/v1/devices/d1/refuse", "{}", [:], key: nil).status == 401)
            #expect(try await service.send("POST", "/v1/devices/d1/refuse", "{}").code == "refused")
            let fault = try await service.send("POST", "/v1/devices/d1/add", #"{"amount":1001,"more":1}"#)
            #expect(fault.status == 422 && fault.body.contains("/amount") && fault.body.contains("/more"))
            #expect(try await service.get("d1").status == 404)
        }
    }

    @Test func `events have a trace context only if the caller sent one`() async throws {
        try await withCounters { service async throws in
            let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
            #expect(try await service.add(1, to: "d1").headers["traceparent"] != nil)
            let sent = ["traceparent": "00-\(trace)-00f067aa0ba902b7-01"]
            let answer = try await service.add(1, to: "d1", headers: sent)
            let statement = Statement("SELECT traceparent FROM bus.events WHERE key = 'device:d1' ORDER BY log_offset")
            let stored = try await service.pool.execute(statement).decode(String?.self)
            #expect(stored == [nil, answer.headers["traceparent"]])
            #expect(stored.last??.contains(trace) == true)
        }
    }

    @Test func `events name the sender of their command`() async throws {
        try await withCounters { service async throws in
            #expect(try await service.add(1, to: "d1").status == 200)
            let statement = Statement("SELECT actor FROM bus.events WHERE key = 'device:d1'")
            #expect(try await service.pool.execute(statement).decode(String?.self) == ["operator:alice"])
        }
    }

    @Test func `replicas that start together agree on the signing key`() async throws {
        try await withCounters { service async throws in
            let issuers = try await withThrowingTaskGroup(of: JSON.self) { group in
                for _ in 0..<4 {
                    group.addTask { try await TokenIssuer.open(service.pool, issuer: "other").keySet }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(issuers.allSatisfy { $0 == issuers[0] })
            // A token of another issuer opens no device.
            let stranger = try await TokenIssuer.open(service.pool, issuer: "other").device(
                "d1", fleet: "f1", position: 0)
            #expect(try await service.add(1, to: "d1", as: stranger).code == "invalid_credential")
        }
    }

    @Test func `a service accepts a signing key that was added after its start`() async throws {
        try await withCounters { service async throws in
            let pem = DeviceTokens.newKey()
            let late = try await DeviceTokens(pem: pem, keyID: "counter-2")
            try await TokenKeys.add(
                "counter", id: "counter-2", privateKey: pem, publicKey: late.publicKey, service.pool)
            let token = try await service.device("d1")
            #expect(try await service.add(1, to: "d1", as: token).status == 200)
            let newest = try await TokenIssuer.open(service.pool, issuer: "counter").device(
                "d1", fleet: "f1", position: 0)
            #expect(newest != token)
            #expect(try await service.add(1, to: "d1", as: newest).status == 200)
        }
    }

    @Test func `the signing key is rotated and the earlier keys are voided without a restart`() async throws {
        try await withCounters { service async throws in
            let issuer = try await TokenIssuer.open(service.pool, issuer: "counter")
            let old = try await issuer.device("d1", fleet: "f1", position: 0)
            var open = try await service.stream("d1", as: old)
            #expect(try await TokenIssuer.voidOld(service.pool, issuer: "counter") == [], "the only key stays")
            #expect(try await TokenIssuer.rotate(service.pool, issuer: "counter") == "counter-2")
            try await issuer.refresh()
            let new = try await issuer.device("d1", fleet: "f1", position: 0)
            #expect(issuer.keySet["keys"]?.items?.compactMap { $0["kid"]?.string } == ["counter-1", "counter-2"])
            for token in [old, new] { #expect(try await service.add(1, to: "d1", as: token).status == 200) }
            #expect(try await TokenIssuer.voidOld(service.pool, issuer: "counter") == ["counter-1"])
            try await eventually(describe: "the token of the voided key is refused") {
                try await service.get("d1", as: old).code == "invalid_credential"
            }
            while try await open.next() != nil {}
            #expect(try await service.add(1, to: "d1", as: new).status == 200)
            #expect(try await TokenIssuer.rotate(service.pool, issuer: "counter") == "counter-3")
        }
    }

    func withCounters(_ body: @Sendable @escaping (CounterService) async throws -> Void) async throws {
        let service = try await CounterService.prepare()
        try await service.run { try await body(service) }
        await service.pool.close()
    }
}

/// A service with a machine under test.
struct TestedMachine<Rules: Machine>: DurableService {
    static var port: Int { 8099 }

    init() {}
    init(_ reader: SettingsReader) {}

    func serve(_ configuration: ServiceConfiguration, logger: Logger) async throws {}
}

/// The counter as a service with its own database.
struct CounterService: Sendable {
    static let operatorKey = "correct-horse"
    static let readersKey = "battery-staple"
    let arguments: [String]
    let configuration: ServiceConfiguration
    let logger: Logger
    let pool: ConnectionPool
    let issuer: TokenIssuer
    let port: Int

    /// - Parameter cluster: a private cluster, or nil for the shared one.
    static func prepare(partitions: Int = 4, on cluster: PrivateCluster? = nil) async throws -> CounterService {
        var logger = Logger(label: "counter")
        logger.logLevel = .critical
        let shared = cluster == nil ? try await PrivateCluster.shared() : nil
        let url = try await (cluster ?? shared)?.makeDatabase() ?? ""
        let keys = FileManager.default.temporaryDirectory.appendingPathComponent("keys-\(UUID().uuidString)")
        let lines = [
            OperatorKeys.line(name: "alice", scopes: [.read, .operate], key: operatorKey),
            OperatorKeys.line(name: "bob", scopes: [.read], key: readersKey),
        ]
        try lines.joined(separator: "\n").write(to: keys, atomically: true, encoding: .utf8)
        let port = try freePort()
        let arguments = [
            "--database-url", url, "--migration-database-url", url, "--operator-key-file", keys.path,
            "--partitions", String(partitions),
        ]
        let configuration = try ServiceConfiguration.reading(arguments + ["--port", String(port)])
        try await TestedMachine<Counter>().migrate(configuration, logger: logger)
        let pool = ConnectionPool(try ConnectionOptions(url: url), size: 2, logger: logger)
        return CounterService(
            arguments: arguments, configuration: configuration, logger: logger, pool: pool,
            issuer: try await TokenIssuer.open(pool, issuer: "counter"), port: port)
    }

    /// Returns the same service with log lines in `log`.
    func logging(to log: LogLines) -> CounterService {
        let logger = Logger(label: "counter") { _ in
            LogOutput(label: "counter", level: .info, format: .json, write: log.append)
        }
        return CounterService(
            arguments: arguments, configuration: configuration, logger: logger, pool: pool, issuer: issuer, port: port)
    }

    /// Returns another replica on the same database.
    func replica(_ more: String...) throws -> CounterService {
        let port = try freePort()
        return CounterService(
            arguments: arguments,
            configuration: try ServiceConfiguration.reading(arguments + ["--port", String(port)] + more),
            logger: logger,
            pool: pool, issuer: issuer, port: port)
    }

    /// Serves while the body runs.
    ///
    /// - Parameter serving: runs another service instead of the counter.
    func run(
        serving: (@Sendable () async throws -> Void)? = nil, _ body: @Sendable @escaping () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { if let serving { try await serving() } else { try await serve() } }
            try await withTimeout(seconds: 180) {
                try await waitUntilReady()
                try await body()
            }
            tasks.cancelAll()
        }
    }

    func serve() async throws {
        try await TestedMachine<Counter>().serve(configuration, policy: (), tokenIssuer: "counter", logger: logger) {
            parts, table in
            table.add(
                .post, "/v1/devices/{device}/add", "Adds", body: Amount.self,
                .parameters(.number("at", 0...1, "Changes nothing"))
            ) { amount, call in
                try await parts.commands.submit(.add(amount.amount), call, registers: true) { aggregate, _ in
                    aggregate.state
                }
            }
            table.add(.post, "/v1/devices/{device}/refuse", "Refuses") { call in
                try await parts.commands.submit(.addThenRefuse, call)
            }
            table.add(.get, "/v1/devices/{device}", "Reads") { call in
                guard let found = try await parts.commands.read(call)?.aggregate else { throw Problem.notFound }
                return Reply(found.state, etag: call.etag(of: found))
            }
            table.add(.get, "/v1/devices/{device}/events", "Streams") { call in
                let events = parts.tail.events(of: try call.device, after: 0).map { ServerSentEvent(data: $0.type) }
                return Response(events: events, on: call.context)
            }
            return []
        }
    }

    func device(_ id: String, position: Int = 0) async throws -> String {
        try await issuer.device(id, fleet: "f1", position: position)
    }
    func fleet(_ id: String) async throws -> String { try await issuer.fleet(id) }

    func waitUntilReady() async throws {
        while true {
            try Task.checkCancellation()
            if let answer = try? await send("GET", "/readyz"), answer.status == 200 { return }
        }
    }

    func add(
        _ amount: Int, to device: String, as key: String? = operatorKey, headers: [String: String] = [:]
    ) async throws -> Answer {
        try await send("POST", "/v1/devices/\(device)/add", #"{"amount":\#(amount)}"#, headers, key: key)
    }

    func get(
        _ device: String, as key: String? = operatorKey, headers: [String: String] = [:]
    ) async throws -> Answer {
        try await send("GET", "/v1/devices/\(device)", nil, headers, key: key)
    }

    func send(
        _ method: String, _ path: String, _ body: String? = nil, _ headers: [String: String] = [:],
        key: String? = operatorKey
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
        request.method = .init(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let key { request.headers.add(name: "Authorization", value: "Bearer \(key)") }
        if let body {
            request.body = .bytes(ByteBuffer(string: body))
            request.headers.add(name: "Content-Type", value: "application/json")
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let bytes = try await response.body.collect(upTo: 1 << 20)
        let pairs = response.headers.map { ($0.name.lowercased(), $0.value) }
        return Answer(
            status: Int(response.status.code), headers: Dictionary(pairs) { $1 }, body: String(buffer: bytes))
    }
}
