import Contracts
import FleetService
import Records
import Testing
import Timeline

@Suite struct OrderTests {
    @Test(arguments: ["fetch", "push", "task", "transfer", "location"])
    func `a wake is completed within its limit with the document of its reason`(reason: String) throws {
        var (suite, app) = try Self.suite(with: .wellBehaved)
        suite.give(.wake, app, data: ["wake": "w1", "reason": .string(reason), "limitSeconds": 30])
        suite.run(until: suite.now + .seconds(30))
        let results = suite.told.compactMap { entry -> JSON? in
            if case .completeWake(app, "w1", let result) = entry.action { result } else { nil }
        }
        try #require(results.count == 1)
        switch reason {
        case "fetch", "push": #expect(["newData", "noData", "failed"].contains(results[0]["result"]?.string))
        case "task": #expect(results[0]["success"]?.bool != nil)
        default: #expect(results[0] == [:])
        }
    }

    @Test func `a slow handler stays within its limit, and a handler that never completes sends nothing`() throws {
        var (slow, updates) = try Self.suite(with: .slowHandler)
        slow.give(.wake, updates, data: ["wake": "w", "reason": "fetch", "limitSeconds": 30])
        slow.run(until: slow.now + .seconds(14))
        #expect(!Self.completes(slow, "w"))
        slow.run(until: slow.now + .seconds(11))
        #expect(Self.completes(slow, "w"))

        var (never, weather) = try Self.suite(with: .neverCompletes)
        never.give(.wake, weather, data: ["wake": "w", "reason": "fetch", "limitSeconds": 30])
        never.run(until: never.now + .minutes(5))
        #expect(!Self.completes(never, "w"))
    }

    @Test func `a repeated order is handled once`() throws {
        var (suite, app) = try Self.suite(with: .wellBehaved)
        let made = (
            suite.order(.wake, app, data: ["wake": "w1", "reason": "fetch"]),
            suite.order(.callback, app, name: "willResignActive")
        )
        let (order, later) = (try #require(made.0), try #require(made.1))
        let now = suite.now
        let obeyed = [order, order, later, order].map { suite.device.handle($0, at: now) }
        #expect(obeyed == [true, false, true, false])
        suite.run(until: suite.now + .seconds(20))
        #expect(suite.told.count { if case .completeWake = $0.action { true } else { false } } == 1)
    }

    @Test func `two callbacks of one event are two orders`() throws {
        var (suite, app) = try Self.suite(with: .wellBehaved)
        for name in ["willFinishLaunching", "didFinishLaunching"] {
            let order = PretendSuite.order(.callback, app, device: suite.device.identifier, offset: 7, name: name)
            let isObeyed = suite.device.handle(try #require(order), at: suite.now)
            #expect(isObeyed)
        }
    }

    /// A wrong number of a service must not crash the run.
    @Test(arguments: [JSON.double(1e300), .double(-1e300), .int(.max), .int(.min), .int(0)])
    func `an extreme limit of a wake does not crash the device`(limit: JSON) throws {
        for behaviour in [Behaviour.wellBehaved, .slowHandler] {
            for reason in ["fetch", "transfer"] {
                var (suite, app) = try Self.suite(with: behaviour)
                suite.give(.wake, app, data: ["wake": "w", "reason": .string(reason), "limitSeconds": limit])
                suite.run(until: suite.now + .seconds(1))
            }
        }
    }

    @Test func `the largest offset is not used as a start`() throws {
        var (suite, app) = try Self.suite(with: .wellBehaved)
        suite.device.begin(after: Position("3:\(Int.max)"))
        let order = PretendSuite.order(
            .wake, app, device: suite.device.identifier, offset: 1, data: ["wake": "w", "reason": "fetch"])
        let isObeyed = suite.device.handle(try #require(order), at: suite.now)
        #expect(isObeyed)
    }

    @Test func `orders of an earlier run are ignored`() throws {
        var (suite, app) = try Self.suite(with: .wellBehaved)
        suite.device.begin(after: Position("3:41"))
        for (offset, isNew) in [(41, false), (42, true)] {
            let order = PretendSuite.order(
                .wake, app, device: suite.device.identifier, offset: offset, data: ["wake": "w", "reason": "fetch"])
            let isObeyed = suite.device.handle(try #require(order), at: suite.now)
            #expect(isObeyed == isNew)
        }
    }

    @Test func `a callback with a deadline is completed`() throws {
        var (suite, app) = try Self.suite(with: .wellBehaved)
        suite.give(.callback, app, name: "didEnterBackground", wantsAnswer: true)
        suite.give(.callback, app, name: "willResignActive")
        suite.run(until: suite.now + .seconds(5))
        let answered = suite.told.compactMap { entry -> String? in
            if case .completeCallback(app, let name, nil) = entry.action { name } else { nil }
        }
        #expect(answered == ["didEnterBackground"])
    }

    @Test func `an expiration ends the task unless the app leaks tasks`() throws {
        for (behaviour, ends) in [(Behaviour.wellBehaved, true), (.leaksTasks, false)] {
            var (suite, app) = try Self.suite(with: behaviour)
            suite.give(.wake, app, data: ["wake": "w", "reason": "fetch"])
            suite.give(.expiration, app, name: "save", data: ["task": "t1"])
            suite.run(until: suite.now + .milliseconds(1100))
            #expect(suite.told.contains { $0.action == .endTask(app: app, task: "t1") } == ends)
        }
    }

    @Test func `a suspended app stops and a wake lets it continue`() throws {
        var (suite, app) = try Self.suite(with: .wellBehaved)
        suite.give(.wake, app, data: ["wake": "w1", "reason": "fetch", "limitSeconds": 30])
        suite.give(.suspend, app)
        suite.run(until: suite.now + .seconds(20))
        #expect(!Self.completes(suite, "w1"))
        suite.give(.wake, app, data: ["wake": "w2", "reason": "push", "limitSeconds": 30])
        suite.run(until: suite.now + .seconds(20))
        #expect(Self.completes(suite, "w2"))
    }

    @Test func `a terminated app drops its work`() throws {
        var (suite, app) = try Self.suite(with: .wellBehaved)
        suite.give(.wake, app, data: ["wake": "w1", "reason": "fetch", "limitSeconds": 30])
        suite.give(.terminate, app, data: ["code": "0x8badf00d"])
        suite.give(.wake, app, data: ["wake": "w2", "reason": "fetch", "limitSeconds": 30])
        suite.run(until: suite.now + .seconds(30))
        #expect(!Self.completes(suite, "w1"))
        #expect(Self.completes(suite, "w2"))
    }

    @Test func `a task expiration completes the wake at once`() throws {
        var (suite, app) = try Self.suite(with: .slowHandler)
        suite.give(.wake, app, data: ["wake": "w1", "reason": "task", "limitSeconds": 600])
        suite.give(.taskExpiration, app, data: ["wake": "w1"])
        suite.run(until: suite.now + .seconds(2))
        #expect(Self.completes(suite, "w1"))
    }

    @Test func `a challenge is answered`() throws {
        var (suite, app) = try Self.suite(with: .downloadsMuch)
        suite.give(.wake, app, data: ["wake": "w1", "reason": "transfer"])
        suite.give(.challenge, app, data: ["challenge": "c1"])
        suite.give(.transferProgress, app, data: ["totalBytesWritten": 10])
        suite.run(until: suite.now + .seconds(2))
        #expect(suite.told.contains { $0.action == .answerChallenge(app: app, challenge: "c1") })
    }

    @Test func `the last event of a session ends its wake`() throws {
        var (suite, app) = try Self.suite(with: .downloadsMuch)
        suite.give(
            .wake, app, name: "handleEventsForBackgroundURLSession",
            data: ["wake": "w1", "reason": "transfer", "limitSeconds": 30])
        suite.run(until: suite.now + .seconds(5))
        #expect(suite.told.contains { $0.action == .openSession(app: app) })
        #expect(!Self.completes(suite, "w1"))
        suite.give(.callback, app, name: "urlSessionDidFinishEvents")
        suite.run(until: suite.now + .milliseconds(1100))
        #expect(Self.completes(suite, "w1"))
    }

    @Test func `a notification is acknowledged once`() throws {
        var (suite, app) = try Self.suite(with: .wellBehaved)
        let document: JSON = ["id": "n1", "app": .string(app), "silent": true]
        suite.device.receive(try #require(DeliveredNotification(document)), at: suite.now)
        suite.run(until: suite.now + .seconds(5))
        #expect(suite.told.count { $0.action == .acknowledge(notification: "n1") } == 1)
    }

    @Test func `most service extensions return their content`() throws {
        var (suite, app) = try Self.suite(with: .wellBehaved)
        for number in 0..<100 {
            let document: JSON = [
                "id": .string("n\(number)"), "app": .string(app), "extensionDeadline": "2026-11-24T00:00:30.000Z",
            ]
            suite.device.receive(try #require(DeliveredNotification(document)), at: suite.now)
        }
        suite.run(until: suite.now + .seconds(5))
        let returned = suite.told.count { if case .modify = $0.action { true } else { false } }
        #expect((85..<100).contains(returned))
    }

    @Test func `the code of chat sets its categories, and users answer some of its alerts`() throws {
        let device = (0..<100).lazy.map { PretendSuite.device(seed: 1, index: $0) }.first { device in
            let people = device.pace.peopleTime(at: PretendSuite.start)
            return device.has(.textInputActions) && device.person.phase(at: people) == .atHome
                && device.apps.contains { $0.model.hasActions }
        }
        var suite = PretendSuite(try #require(device), at: PretendSuite.start)
        let chat = "com.example.chat"
        let following = suite.device.learn(.done(["token": "t"], asOf: nil), of: .register(app: chat), at: suite.now)
        #expect(following == [.setCategories(app: chat)])
        _ = suite.device.learn(.done([:], asOf: nil), of: .setCategories(app: chat), at: suite.now)
        for number in 0..<200 {
            let document: JSON = [
                "id": .string("n\(number)"), "app": .string(chat), "payload": ["aps": ["category": "MESSAGE"]],
            ]
            suite.device.receive(try #require(DeliveredNotification(document)), at: suite.now)
        }
        suite.run(until: suite.now + .minutes(10))
        let replies = suite.told.count { if case .reply = $0.action { true } else { false } }
        let opened = suite.told.count { if case .open = $0.action { true } else { false } }
        #expect(replies > 20 && opened > 30, "\(replies) replies, \(opened) opened")
    }

    @Test func `a notification in a keep-alive response is acknowledged`() throws {
        var (suite, app) = try Self.suite(with: .wellBehaved)
        let item: JSON = ["id": "n7", "app": .string(app), "silent": true]
        _ = suite.device.learn(.done(["items": [item]], asOf: nil), of: .keepAlive, at: suite.now)
        suite.run(until: suite.now + .seconds(5))
        #expect(suite.told.contains { $0.action == .acknowledge(notification: "n7") })
    }

    @Test func `the bytes of a download are counted once, after it has completed`() throws {
        var (suite, app) = try Self.suite(with: .downloadsMuch)
        for (state, bytes) in [("running", 0), ("completed", 500), ("completed", 500)] {
            let task: JSON = ["task": 1, "state": .string(state), "bytesReceived": 500]
            _ = suite.device.learn(.done(["tasks": [task]], asOf: nil), of: .openSession(app: app), at: suite.now)
            #expect(suite.device.bytesReceived == bytes)
        }
    }

    @Test func `the bytes that a service claims do not overflow`() throws {
        var (suite, app) = try Self.suite(with: .downloadsMuch)
        for number in 1...3 {
            let task: JSON = ["task": .int(number), "state": "completed", "bytesReceived": .int(.max)]
            _ = suite.device.learn(.done(["tasks": [task]], asOf: nil), of: .openSession(app: app), at: suite.now)
        }
        #expect(suite.device.bytesReceived == 3 << 40)
    }

    @Test func `a response that is not newer than the orders changes nothing`() throws {
        var (suite, app) = try Self.suite(with: .wellBehaved)
        let order = PretendSuite.order(.suspend, app, device: suite.device.identifier, offset: 20)
        suite.device.handle(try #require(order), at: suite.now)
        _ = suite.device.learn(
            .done(["state": "background"], asOf: 20), of: .transition(app: app, "home"), at: suite.now)
        #expect(Self.state(of: app, suite) == .suspended)
        _ = suite.device.learn(
            .done(["state": "active"], asOf: 21), of: .transition(app: app, "open"), at: suite.now)
        #expect(Self.state(of: app, suite) == .active)
    }

    @Test(arguments: ["app_not_running", "illegal_transition"])
    func `a refusal makes the device read the state of the app`(code: String) throws {
        var (suite, app) = try Self.suite(with: .wellBehaved)
        let action = Action.transition(app: app, "home")
        let now = suite.now
        let actions = [code, "already_completed"].map { suite.device.learn(.refused($0), of: action, at: now) }
        #expect(actions == [[.look(app: app)], []])
    }

    @Test func `an invalid order is not parsed`() {
        #expect(Order(["order": "1:2", "device": "d", "type": "newest-kind", "app": "a"]) == nil)
        #expect(Order(["device": "d", "type": "wake"]) == nil)
        #expect(Position("7:12") == Position("7:12:1"))
        #expect(Position("7") == nil)
    }

    private static func state(of app: String, _ suite: PretendSuite) -> SimulatedApp.State? {
        suite.device.apps.first { $0.model.identifier == app }?.state
    }

    private static func completes(_ suite: PretendSuite, _ wake: String) -> Bool {
        suite.told.contains { if case .completeWake(_, wake, _) = $0.action { true } else { false } }
    }

    /// Returns a device with a sleeping user and an app of this behaviour without work.
    private static func suite(with behaviour: Behaviour) throws -> (PretendSuite, String) {
        for seed in 1...200 as ClosedRange<UInt64> {
            let device = PretendSuite.device(seed: seed, rate: 0.01)
            guard device.has(.silentNotifications),
                let app = device.apps.first(where: { $0.model.behaviour == behaviour })
            else { continue }
            var suite = PretendSuite(device, at: PretendSuite.start)
            suite.give(.callback, app.model.identifier, name: "didFinishLaunching")
            suite.states[app.model.identifier] = .background
            return (suite, app.model.identifier)
        }
        throw FleetError("no seed gives an app with the behaviour \(behaviour)")
    }
}
