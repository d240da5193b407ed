import NIOHTTP1
import Records
import TestSupport
import Testing
import Timeline

/// One device, its user and its app, in virtual time that stands still unless the story moves it.
struct Story {
    static let app = "com.example.news"
    private static let device = "/v1/devices/phone"
    static let path = device + "/apps/" + app

    let suite: RunningSuite
    /// The device's token: it opens the device at all services.
    let token: String
    /// What the device is told to do.
    let orders: EventReader
    /// What an operator sees of the device, live.
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

    // MARK: Acts

    /// A call of the device, with its own token.
    @discardableResult
    func device(
        _ method: HTTPMethod, _ service: SuiteService, _ path: String, _ document: JSON? = nil,
        after position: String? = nil
    ) async throws -> Answer {
        try await suite.call(method, service, path, document, as: token, after: position)
    }

    /// A call about the app, by its device.
    @discardableResult
    func app(
        _ method: HTTPMethod, _ service: SuiteService, _ path: String, _ document: JSON? = nil,
        after position: String? = nil
    ) async throws -> Answer {
        try await device(method, service, Self.path + path, document, after: position)
    }

    /// - Returns: the callbacks that the app gets.
    func transition(_ event: String, to state: String) async throws -> [String] {
        let answer = try await app(.POST, .lifecycle, "/transitions", ["event": .string(event)]).json
        #expect(answer["state"]?.string == state)
        return answer["callbacks"]?.items?.compactMap(\.string) ?? []
    }

    @discardableResult
    func conditions(_ report: JSON) async throws -> Answer {
        try await device(.PATCH, .lifecycle, Self.device + "/conditions", report)
    }

    /// The handler of a wake returns, and with it the app's time.
    func complete(_ wake: Wake, _ result: String?) async throws {
        let document: JSON = result.map { ["result": .string($0)] } ?? [:]
        try await app(.POST, .lifecycle, "/wakes/\(wake.id)/completion", document)
    }

    // MARK: Time

    /// Moves time, through everything that is due, until all services are done with it.
    func advance(_ seconds: Double) async throws {
        let answer = try await suite.call(
            .POST, .ops, "/v1/clock/advance", ["seconds": .double(seconds), "timeout": 60]
        ).json
        #expect(answer["settled"]?.bool == true)
    }

    func now() async throws -> Instant {
        try moment(try await suite.call(.GET, .ops, "/v1/clock").json["now"])
    }

    func moment(_ text: JSON?) throws -> Instant { try #require(text?.string.flatMap { Instant($0) }) }

    // MARK: What is to be seen

    var state: String? {
        get async throws { try await app(.GET, .lifecycle, "").json["state"]?.string }
    }

    /// The device's events of a type, oldest first, as an operator reads them.
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

    /// Waits for an event that no answer and no order tells of.
    func eventually(_ type: String, count: Int = 1) async throws -> JSON {
        let found = Signal<JSON>()
        try await TestSupport.eventually(within: 90, describe: "\(count) of \(type)") { [self] in
            let events = try await events(type)
            guard events.count >= count else { return false }
            return found.fire(events[count - 1])
        }
        return try await found.value()
    }

    /// The next order of the device, which must be this one. How often a transfer's progress is told is left open.
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

    /// The next order, which must be a wake.
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

/// What an app is told that the system launches, before what it is launched for.
let launchCallbacks = ["willFinishLaunching", "didFinishLaunching"]
