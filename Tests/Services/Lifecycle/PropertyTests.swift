import Contracts
import LifecycleMachine
import Machines
import OrderedCollections
import Records
import Testing
import Timeline

/// Random lives of a device. A failure names its seed.
@Suite struct LifecycleProperties {
    @Test(arguments: (1...40).map { UInt64($0) * 7919 })
    func anyLifeKeepsTheLaws(seed: UInt64) throws {
        print("lifecycle property seed \(seed)")
        var life = RandomLife(seed: seed)
        for _ in 0..<250 {
            try life.step()
            try life.checkLaws()
        }
        #expect(try life.runtime.foldCheck().isEmpty, "seed \(seed)")
    }
}

private struct RandomLife {
    static let key = AggregateKey.device("d")
    let seed: UInt64
    var random: SplitMix
    var runtime: InMemoryRuntime<LifecycleMachine>
    var now = Instant(milliseconds: 1_750_000_000_000)
    var device: LifecycleMachine { runtime.state(Self.key) }

    init(seed: UInt64) {
        self.seed = seed
        random = SplitMix(state: seed)
        runtime = InMemoryRuntime(policy: LifecyclePolicy(), seed: String(seed))
    }

    mutating func step() throws {
        now = now + .milliseconds(Int64.random(in: 0...9000, using: &random))
        if Int.random(in: 0..<12, using: &random) == 0 { try sufferOutage() }
        try runtime.advance(to: now)
        let before = device.binary
        do {
            if Int.random(in: 0..<5, using: &random) == 0 {
                try runtime.deliver(wake())
            } else {
                try runtime.submit(command(), to: Self.key, at: now)
            }
        } catch is LifecycleRefusal {
            #expect(device.binary == before, "seed \(seed): a refusal changes nothing")
        }
    }

    /// Every limit that runs at its beginning is there at its end, and has as much left as it had.
    private mutating func sufferOutage() throws {
        let from = now - .milliseconds(Int64.random(in: 0...4000, using: &random))
        let until = now + .milliseconds(Int64.random(in: 1...60_000, using: &random))
        try runtime.advance(to: max(from, .epoch))
        let before = device
        let decidedAt = runtime.aggregates[Self.key]?.now ?? .epoch
        let events = try runtime.pass(Outage(from: from, until: until))
        now = until
        let seed = Comment(rawValue: "seed \(self.seed)")
        guard before.nextDeadline != nil else {
            #expect(events.isEmpty, seed)
            return
        }
        #expect(events.map(\.type) == [LifecycleEvent.OutageNoted.type], seed)
        let length = until - max(from, decidedAt)
        for (id, app) in before.apps {
            let after = device.apps[id]
            #expect(after?.state == app.state, seed)
            #expect(after?.pendingCallbacks.map(\.deadline) == app.pendingCallbacks.map { $0.deadline + length }, seed)
            let wakes = app.wakes.values.map { wake in wake.deadline.map { $0 + length } }
            #expect(after?.wakes.values.map(\.deadline) == wakes, seed)
            #expect(after?.taskDeadline == app.taskDeadline.map { $0 + length }, seed)
            #expect(after?.backgroundTimeRemaining(at: until) == app.backgroundTimeRemaining(at: until - length), seed)
        }
    }

    func checkLaws() throws {
        let device = self.device
        let seed = Comment(rawValue: "seed \(self.seed)")
        #expect(device.apps.values.count { $0.state.isForeground } <= 1, seed)
        if let next = device.nextDeadline { #expect(next > now, seed) }
        for app in device.apps.values {
            switch app.state {
            case .notRunning, .suspended:
                #expect(app.pendingCallbacks.isEmpty && app.tasks.isEmpty && app.taskTime == nil, seed)
            case .background: #expect(app.hasWork && app.taskTime != nil, seed)
            case .inactive, .active: #expect(app.taskTime == nil, seed)
            }
            #expect((app.taskClock != nil) == (app.taskTime != nil && device.isAwake), seed)
            #expect((app.state == .notRunning) == (app.launchedAt == nil), seed)
            #expect(!(app.forceQuit && app.state != .notRunning), seed)
            #expect(app.state == .notRunning || app.prewarmedAt == nil, seed)
            if app.ending != nil { #expect(app.state == .background && app.tasks.isEmpty, seed) }
            if !app.tasks.isEmpty, let end = app.taskDeadline { #expect(end > now, seed) }
            #expect(app.pendingCallbacks.allSatisfy { $0.deadline > now }, seed)
            #expect(app.wakes.values.allSatisfy { $0.deadline.map { $0 > now } ?? true }, seed)
        }
        let isHeld =
            device.conditions.locked != true || device.awakeUntil.map { $0 > now } ?? false
            || device.apps.values.contains { app in
                app.state.isForeground || !app.pendingCallbacks.isEmpty
                    || app.wakes.values.contains { $0.deadline != nil }
                    || !app.tasks.isEmpty && device.registration?.profile == .ios6
            }
        if device.registration != nil { #expect(device.isAwake == isHeld, seed) }
        #expect(Set(device.switcher).isSubset(of: device.apps.keys), seed)
        for (id, app) in device.apps where app.state != .notRunning && app.ending != .forceQuit {
            #expect(device.switcher.contains(id), seed)
        }
        #expect(Set(device.switcher).count == device.switcher.count, seed)
        #expect(LifecycleMachine(binary: device.binary)?.binary == device.binary, seed)
    }

    private mutating func pick<T>(_ items: some Collection<T>) -> T? { items.randomElement(using: &random) }

    private mutating func anyApp() -> String { ["a", "b", "c"][Int.random(in: 0..<3, using: &random)] }

    /// Another service asks for a wake.
    private mutating func wake() -> Event {
        let request = "r\(now.milliseconds)"
        switch Int.random(in: 0..<3, using: &random) {
        case 0: return event(FetchEvent.RefreshDue(app: anyApp(), fetch: request))
        case 1: return event(PushEvent.WakeRequested(app: anyApp(), notification: request, payload: ["n": 1]))
        default: return event(TransferEvent.WakeRequested(app: anyApp(), session: request))
        }
    }

    private func event<D: EventData>(_ data: D) -> Event {
        let id = DecisionIdentifiers.derived(String(seed), D.type, String(now.milliseconds))
        return Event(
            id: id, source: String(D.type.prefix { $0 != "." }), type: D.type, version: D.version, key: Self.key,
            app: data.app, time: now, correlation: id, causation: nil, traceparent: nil, data: data.jsonBytes)
    }

    private mutating func settings(_ app: String) -> LifecycleCommand {
        guard Bool.random(using: &random) else {
            var settings = DeviceSettings()
            settings.backgroundRefresh = pick(Switch.allCases)
            settings.restrictions = Restrictions()
            settings.restrictions?.backgroundRefresh = Bool.random(using: &random)
            return .changeDeviceSettings(settings)
        }
        var settings = AppSettings()
        settings.backgroundRefresh = pick(Switch.allCases)
        settings.locationAuthorization = pick(LocationAuthorization.allCases)
        settings.notifications = pick(Switch.allCases)
        return .changeSettings(app: app, settings)
    }

    private mutating func command() -> LifecycleCommand {
        let app = anyApp()
        let record = device.apps[app]
        switch Int.random(in: 0..<24, using: &random) {
        case 0: return .register(Registration(profile: pick(ProfileName.allCases) ?? .ios7))
        case 1, 2:
            return .install(
                app: app,
                Manifest(
                    backgroundModes: [.fetch, .remoteNotification],
                    exitsOnSuspend: Int.random(in: 0..<6, using: &random) == 0,
                    handlersReturn: pick(HandlersReturn.allCases) ?? .reported))
        case 3: return Int.random(in: 0..<8, using: &random) == 0 ? .uninstall(app: app) : .power(.boot)
        case 4:
            let isRare = Int.random(in: 0..<4, using: &random) == 0
            return .power(isRare ? pick(PowerEvent.allCases) ?? .off : .boot)
        case 5 where Int.random(in: 0..<3, using: &random) == 0:
            return .interrupt(pick(InterruptionKind.allCases) ?? .call)
        case 5:
            var conditions = Conditions()
            conditions.locked = Bool.random(using: &random)
            conditions.lowPowerMode = Bool.random(using: &random)
            conditions.memoryPressure = pick(MemoryPressure.allCases)
            return .updateConditions(conditions)
        case 6: return settings(app)
        case 7, 8:
            return .completeCallback(
                app: app, record?.pendingCallbacks.first?.callback ?? .didEnterBackground, CallbackCompletion())
        case 9, 10: return .beginTask(app: app, TaskRequest(expirationHandler: Bool.random(using: &random)))
        case 11, 12: return .endTask(app: app, task: record?.tasks.keys.last ?? "none")
        case 13, 14:
            return .completeWake(
                app: app, wake: record?.wakes.keys.first ?? record?.completedWakes.last ?? "none",
                WakeCompletion(result: pick(WakeResult.allCases)))
        case 15, 16, 17: return .transition(app: app, .launch)
        case 18: return .transition(app: app, .open)
        case 19, 20: return .transition(app: app, .home)
        default: return .transition(app: app, pick(AppTransition.allCases) ?? .home)
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood): the same numbers for the same seed, everywhere.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
