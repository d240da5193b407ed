import FleetService
import Records
import TestSupport
import Testing
import Timeline

@Suite struct DeviceTests {
    @Test func `the same seed gives the same actions`() {
        for seed in 1...20 as ClosedRange<UInt64> {
            let lives = (0..<2).map { _ in Self.day(seed: seed) }
            #expect(lives[0] == lives[1])
            #expect(lives[0].count > 20)
        }
    }

    @Test func `other seeds and other devices give other actions`() {
        let lives = (1...10).map { Self.day(seed: $0) }
        #expect(Set(lives.map { "\($0)" }).count == 10)
        let neighbours = (0..<50).map { index in
            "\(PretendSuite.device(seed: 1, index: index).person)"
        }
        #expect(Set(neighbours).count == 50)
    }

    @Test func `a day has launches, home gestures and reports`() {
        let life = Self.day(seed: 3).joined()
        for word in ["launch", "open", "home", "report"] { #expect(life.contains(word), "\(word)") }
    }

    @Test func `notifications of a chat are opened more often than those of the news`() throws {
        var shares: [String: Int] = [:]
        for (app, index) in try ["com.example.chat", "com.example.news"].map({ ($0, try Self.owner(of: $0)) }) {
            var suite = PretendSuite(PretendSuite.device(seed: 1, index: index), at: PretendSuite.start)
            for number in 0..<400 {
                let document: JSON = ["id": .string("n\(number)"), "app": .string(app), "silent": .bool(number >= 200)]
                suite.device.receive(try #require(DeliveredNotification(document)), at: suite.now)
            }
            suite.run(until: suite.now + .minutes(10))
            let opened = suite.told.compactMap { if case .open(let id) = $0.action { id } else { nil } }
            #expect(!opened.contains("n200"), "a silent notification cannot be opened")
            shares[app] = opened.count
        }
        let (chat, updates) = (try #require(shares["com.example.chat"]), try #require(shares["com.example.news"]))
        #expect((95...145).contains(chat) && (8...35).contains(updates), "\(shares)")
    }

    /// Returns the index of a device with the app whose user is awake at the start.
    private static func owner(of app: String) throws -> Int {
        try #require(
            (0..<1000).first { index in
                let device = PretendSuite.device(seed: 1, index: index)
                let isAwake = device.person.phase(at: device.pace.peopleTime(at: PretendSuite.start)) == .atHome
                return isAwake && device.apps.contains { $0.model.identifier == app }
            })
    }

    @Test func `a sleeping user does not open apps`() {
        var suite = PretendSuite(PretendSuite.device(seed: 5, rate: 1440), at: PretendSuite.start)
        suite.run(until: PretendSuite.start + .minutes(3))
        let person = suite.device.person
        for (moment, action) in suite.told {
            guard case .transition(_, let event) = action, event == "launch" || event == "open" else { continue }
            #expect(person.phase(at: suite.device.pace.peopleTime(at: moment)) != .asleep)
        }
    }

    @Test func `users give apps the location and withdraw it`() {
        var answers: [String: Set<String>] = [:]
        var withdrawals = 0
        for seed in 1...40 {
            var suite = PretendSuite(PretendSuite.device(seed: UInt64(seed), rate: 144), at: PretendSuite.start)
            suite.run(until: PretendSuite.start + .minutes(20))
            var given: [String: String] = [:]
            for (_, action) in suite.told {
                guard case .changeLocation(let app, let authorization) = action else { continue }
                answers[app, default: []].insert(authorization)
                if given.updateValue(authorization, forKey: app) != nil {
                    #expect(authorization == "denied")
                    withdrawals += 1
                }
            }
        }
        #expect(Set(answers.keys) == ["com.example.game", "com.example.weather"])
        #expect(answers["com.example.weather"] == ["always", "whenInUse", "denied"])
        #expect(withdrawals > 0)
    }

    @Test func `each app with pushes asks once for notifications, and few users deny`() {
        var answers: [Bool] = []
        for seed in 1...60 {
            var suite = PretendSuite(PretendSuite.device(seed: UInt64(seed), rate: 144), at: PretendSuite.start)
            suite.run(until: PretendSuite.start + .minutes(10))
            var asked: Set<String> = []
            for (_, action) in suite.told {
                guard case .requestAuthorization(let app, let isAllowed) = action else { continue }
                #expect(asked.insert(app).inserted, "a repeated question of \(app)")
                answers.append(isAllowed)
            }
            let others = suite.device.apps.filter { !$0.model.takesPushes }.map(\.model.identifier)
            #expect(asked.isDisjoint(with: others))
            #expect(suite.device.apps.allSatisfy { $0.hasAsked == asked.contains($0.model.identifier) })
        }
        let denied = answers.count { !$0 }
        #expect(answers.count > 80 && denied > 0 && denied < answers.count / 5, "\(denied) of \(answers.count)")
    }

    /// Orders come at random times, even if they make no sense. Code of an app acts only while its state lets it run.
    @Test func `code of a stopped app never acts`() async throws {
        try await propertyTest(count: 300) { random in
            let seed = random.next()
            var suite = PretendSuite(PretendSuite.device(seed: seed, rate: 600), at: PretendSuite.start)
            for step in 1...60 {
                let app = suite.device.apps[Int(random.next() % UInt64(suite.device.apps.count))].model.identifier
                let number = Int(random.next() % 6)
                switch number {
                case 0, 1:
                    suite.give(
                        .wake, app, data: ["wake": .string("w\(step)"), "reason": "fetch", "limitSeconds": 30])
                case 2: suite.give(.terminate, app)
                case 3 where suite.states[app] == .background: suite.give(.suspend, app)
                case 4: suite.give(.expiration, app, data: ["task": "task-1"])
                default: break
                }
                suite.run(until: suite.now + .milliseconds(Int64(random.next() % 4000)))
                try #require(suite.actedWhileStopped.isEmpty, "\(suite.actedWhileStopped)")
            }
        }
    }

    /// Returns the actions of a user's day in ten real minutes, as text.
    private static func day(seed: UInt64) -> [String] {
        var suite = PretendSuite(PretendSuite.device(seed: seed, rate: 144), at: PretendSuite.start)
        suite.run(until: PretendSuite.start + .minutes(10))
        return suite.told.map { "\($0.at) \($0.action)" }
    }
}
