import NIOHTTP1
import Records
import TestSupport
import Testing
import Timeline

/// A device with a user and an app, in frozen virtual time that the story advances.
struct Story {
    static let app = Provider.app
    private static let device = "/v1/devices/phone"
    static let path = device + "/apps/" + app

    let suite: RunningSuite
    /// The device token, valid at all services.
    let token: String
    /// The order stream of the device.
    let orders: EventReader
    /// The live stream of the operator.
    let tail: EventReader

    /// Freezes time, and registers the device.
    init(_ suite: RunningSuite) async throws {
        self.suite = suite
        let clock = try await suite.call(.PUT, .ops, "/v1/clock", ["frozen": true]).json
        #expect(clock["frozen"]?.bool == true && clock["virtual"]?.bool == true)
        tail = try await suite.stream(.ops, "/v1/events/stream?device=phone")
        let registered = try await suite.call(
            .PUT, .lifecycle, Self.device, ["profile": "ios15", "fleet": "demo", "timeZone": "Europe/Paris"])
        #expect(registered.status == 201)
        token = try #require(registered.json["token"]?.string)
        orders = try await suite.stream(.lifecycle, Self.device + "/orders", as: token)
    }

    // MARK: Actions

    /// Sends a request of the device with its token.
    @discardableResult
    func device(
        _ method: HTTPMethod, _ service: SuiteService, _ path: String, _ document: JSON? = nil,
        after position: String? = nil
    ) async throws -> Answer {
        try await suite.call(method, service, path, document, as: token, after: position)
    }

    /// Sends a request of the device about its app.
    @discardableResult
    func app(
        _ method: HTTPMethod, _ service: SuiteService, _ path: String, _ document: JSON? = nil,
        after position: String? = nil
    ) async throws -> Answer {
        try await device(method, service, Self.path + path, document, after: position)
    }

    /// - Returns: the callbacks of the app.
    func transition(_ event: String, to state: String) async throws -> [String] {
        let answer = try await app(.POST, .lifecycle, "/transitions", ["event": .string(event)]).json
        #expect(answer["state"]?.string == state)
        return answer["callbacks"]?.items?.compactMap(\.string) ?? []
    }

    @discardableResult
    func conditions(_ report: JSON) async throws -> Answer {
        try await device(.PATCH, .lifecycle, Self.device + "/conditions", report)
    }

    /// Completes a wake.
    func complete(_ wake: Wake, _ result: String?) async throws {
        let document: JSON = result.map { ["result": .string($0)] } ?? [:]
        try await app(.POST, .lifecycle, "/wakes/\(wake.id)/completion", document)
    }

    // MARK: Time

    /// Advances time through all deadlines until all services settle.
    func advance(_ seconds: Double) async throws {
        let answer = try await suite.call(
            .POST, .ops, "/v1/clock/advance", ["seconds": .double(seconds), "timeout": 60, "waitForDevices": 0]
        ).json
        #expect(answer["settled"]?.bool == true)
    }

    func now() async throws -> Instant {
        try moment(try await suite.call(.GET, .ops, "/v1/clock").json["now"])
    }

    func moment(_ text: JSON?) throws -> Instant { try #require(text?.string.flatMap { Instant($0) }) }

    // MARK: Observations

    var state: String? {
        get async throws { try await app(.GET, .lifecycle, "").json["state"]?.string }
    }

    /// Returns the events of the device of a type, oldest first, as an operator.
    func events(_ type: String = "") async throws -> [JSON] {
        let filter = type.isEmpty ? "" : "&type=\(type)"
        var items: [JSON] = []
        var cursor = ""
        repeat {
            let page = try await suite.call(
                .GET, .ops, "/v1/events?device=phone&order=oldest&limit=500\(filter)\(cursor)"
            ).json
            items += page["items"]?.items ?? []
            cursor = page["next"]?.string.map { "&cursor=\($0)" } ?? ""
        } while !cursor.isEmpty
        return items
    }

    /// Waits for an event that no response and no order reports.
    func eventually(_ type: String, count: Int = 1) async throws -> JSON {
        let found = Signal<JSON>()
        try await TestSupport.eventually(within: 90, describe: "\(count) of \(type)") { [self] in
            let events = try await events(type)
            guard events.count >= count else { return false }
            return found.fire(events[count - 1])
        }
        return try await found.value()
    }

    /// Expects this order next. Any number of `transferProgress` orders may come before.
    @discardableResult
    func order(_ type: String, _ name: String, _ callbacks: [String]? = nil) async throws -> JSON {
        var order = JSON.null
        repeat {
            order = try await orders.take("the order \(type) \(name)")
        } while type != "transferProgress" && order["type"]?.string == "transferProgress"
        #expect(order["type"]?.string == type && order["name"]?.string == name, "\(order)")
        #expect(order["app"]?.string == Self.app)
        if let callbacks { #expect(order["data"]?["callbacks"]?.items?.compactMap(\.string) == callbacks) }
        return order
    }

    /// Expects a wake as the next order.
    func wake(_ reason: String, _ callbacks: [String]) async throws -> Wake {
        let order = try await order("wake", callbacks.last ?? "", callbacks)
        #expect(order["data"]?["reason"]?.string == reason)
        #expect(order["data"]?["limitSeconds"]?.double == 30)
        let issued = try moment(order["issuedAt"])
        let deadline = try moment(order["deadline"])
        #expect(deadline == issued + .seconds(30 as Int64))
        return Wake(
            id: try #require(order["data"]?["wake"]?.string), request: try #require(order["data"]?["request"]?.string),
            issuedAt: issued, deadline: deadline, payload: order["data"]?["payload"] ?? .null)
    }

    struct Wake {
        let id: String
        let request: String
        let issuedAt: Instant
        let deadline: Instant
        let payload: JSON
    }
}

/// The callbacks of a launch by the system, before the callback of its reason.
let launchCallbacks = ["willFinishLaunching", "didFinishLaunching"]
