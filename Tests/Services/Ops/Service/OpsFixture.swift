import AsyncHTTPClient
import Contracts
import EventLog
import Foundation
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import Logging
import Machines
import NIOCore
import NIOHTTP1
import Postgres
import Records
import Runtime
import ServiceKit
import ServiceLifecycle
import Synchronization
import Telemetry
import TestSupport
import Testing
import Timeline

@testable import OpsService

struct Answer {
    let status: Int
    let headers: [String: String]
    let body: String
    var json: JSON { (try? JSON(parsing: Array(body.utf8))) ?? .null }
    var code: String? { json["code"]?.string }
    /// The pointers of the faults.
    var faults: [String] { json["errors"]?.items?.compactMap { $0["pointer"]?.string } ?? [] }
    var items: [JSON] { json["items"]?.items ?? [] }
}

/// The result of the database's health check.
final class PretendDatabase: Sendable {
    private let found = Mutex<String?>(nil)
    var fault: String? {
        get { found.withLock { $0 } }
        set { found.withLock { $0 = newValue } }
    }
}

/// The service over HTTP with its production role, a new log and one consumer.
struct OpsFixture: Sendable {
    static let partitions = 3
    static let readKey = "reader"
    static let operateKey = "operator"
    static let otherKey = "other"

    let port: Int
    let owner: ConnectionPool
    /// Connections with the role of the service.
    let pool: ConnectionPool
    let updates: WakeUpReceiver
    /// The database URL up to the name of the role.
    let url: String
    let options: ConnectionOptions
    let tail: LogTail
    let logger: Logger
    let group: ServiceGroup
    let database: PretendDatabase
    let readiness: Readiness

    static func run(
        virtual: Bool = false, parked: ParkedRoutes = ParkedRoutes(addresses: [:], client: .shared),
        markInterval: Duration = .seconds(10), search: SearchLimits = SearchLimits(),
        incarnation: LogIncarnation = .first, _ body: @Sendable @escaping (OpsFixture) async throws -> Void
    ) async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let cluster = try await PrivateCluster.shared()
        let database = try await cluster.makeNamedDatabase()
        let options = try ConnectionOptions(url: cluster.url(database: database))
        let connection = try await Connection.open(options, logger: logger)
        try await RuntimeSchema.migrate(
            service: Counter.name, connection, partitions: partitions, rolePassword: nil, logger: logger)
        try await LogSchema.grantOperators(password: nil, connection)
        try await OpsSchema.migrate(connection, dashboardsPassword: nil, logger: logger)
        if virtual { try await LogSchema.makeClockVirtual(connection) }
        // The role has the same rights as in production.
        let url = "postgresql:///\(database)?host=\(cluster.socketDirectory)&port=\(cluster.port)&user="
        let role = url + LogRoles.standard.operators
        await connection.close()
        let ops = ConnectionPool(try ConnectionOptions(url: role), size: 4, logger: logger)
        let owner = ConnectionPool(options, size: 4, logger: logger)

        let sender = WakeUpSender(pool: ops, sender: UUID(), logger: logger)
        let updates = WakeUpReceiver(try ConnectionOptions(url: role), sender: sender, logger: logger)
        let tail = LogTail(
            pool: ops, partitions: partitions, updates: updates, markInterval: markInterval, logger: logger)
        let metrics = Metrics()
        var table = RouteTable()
        Ops.addRoutes(to: &table, pool: ops, tail: tail, metrics: metrics, parked: parked, search: search)
        let pretended = PretendDatabase()
        let readiness = Readiness(
            [HealthCheck("database", .notReadyAtStart) { pretended.fault }], metrics: metrics, logger: logger)
        await readiness.judge()
        table.addHealth(readiness, metrics: metrics)
        table.addOpenAPI(title: "ops", version: "1")
        let keys = [
            OperatorKeys.line(name: "r", scopes: [.read], key: readKey),
            OperatorKeys.line(name: "o", scopes: [.read, .operate], key: operateKey),
            OperatorKeys.line(name: "p", scopes: [.operate], key: otherKey),
        ]
        let authenticator = Authenticator(
            operators: OperatorKeyring(try OperatorKeys(file: keys.joined(separator: "\n"))),
            tokens: DeviceTokenVerifier())
        let host = ServiceHost(
            name: "ops", configuration: ServiceConfiguration(SettingsReader(), port: 0),
            responder: table.responder(
                authenticator: authenticator, metrics: metrics, incarnation: incarnation),
            services: [updates, tail, readiness],
            logger: logger)
        let ready = Signal<Int>()
        let group = host.group { ready.fire($0) }
        try await group.run {
            try await body(
                OpsFixture(
                    port: try await ready.value(), owner: owner, pool: ops, updates: updates, url: url,
                    options: options, tail: tail, logger: logger, group: group, database: pretended,
                    readiness: readiness))
        }
        await ops.close()
        await owner.close()
    }

    /// The first incarnation of a log, and another one.
    static let incarnations = [.first, LogIncarnation(id: "ba9876543210", isFirst: false)]

    /// The `next` of a page names the incarnation, unless it is the first. A place of another one is refused.
    func expectPlaces(of incarnation: LogIncarnation, in list: String) async throws {
        let next = try #require(try await get(list + "?limit=1").json["next"]?.string)
        #expect(next.hasPrefix("ba9876543210.") == !incarnation.isFirst, "\(next)")
        #expect(try await get(list + "?limit=1&cursor=\(next)").status == 200)
        let plain = LogIncarnation.plain(next)
        for other in ["0123456789ab." + plain] + (incarnation.isFirst ? [] : [plain]) {
            let gone = try await get(list + "?limit=1&cursor=\(other)")
            #expect(gone.status == 410 && gone.code == "earlier_incarnation", "\(other): \(gone)")
        }
    }

    func request(
        _ path: String, _ method: String = "GET", key: String? = readKey, _ headers: [String: String] = [:]
    ) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
        request.method = .init(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let key { request.headers.add(name: "Authorization", value: "Bearer \(key)") }
        return request
    }

    func get(_ path: String, key: String? = readKey, _ headers: [String: String] = [:]) async throws -> Answer {
        try await answer(to: request(path, key: key, headers))
    }

    func send(
        _ method: String, _ path: String, _ body: String, _ headers: [String: String] = [:], key: String = operateKey
    ) async throws -> Answer {
        var request = request(path, method, key: key, headers.merging(["Content-Type": "application/json"]) { $1 })
        request.body = .bytes(ByteBuffer(string: body))
        return try await answer(to: request)
    }

    private func answer(to request: HTTPClientRequest) async throws -> Answer {
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let bytes = try await response.body.collect(upTo: 1 << 22)
        let pairs = response.headers.map { ($0.name.lowercased(), $0.value) }
        return Answer(
            status: Int(response.status.code), headers: Dictionary(pairs) { $1 }, body: String(buffer: bytes))
    }

    /// Appends an event and sends its wake-up.
    @discardableResult
    func append(
        _ type: String = "other.thing.pinged", to device: String, correlation: UUID? = nil, causation: UUID? = nil,
        app: String? = nil, data: String = "{}"
    ) async throws -> UUID {
        var event = ForeignEvent(type, to: device, app: app, data: data)
        (event.correlation, event.causation) = (correlation, causation)
        try await owner.append(event, partitions: Self.partitions)
        return event.id
    }

    /// Counts all events of the log.
    func count() async throws {
        try await Counting(store: OpsStore(pool: pool), updates: updates, metrics: Metrics(), logger: logger).catchUp()
    }

    func sql(_ text: String) async throws { _ = try await owner.execute(Query(Statement(text))) }
}
