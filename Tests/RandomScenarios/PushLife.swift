package import Contracts
package import Machines
import OrderedCollections
package import PushCore
import Records
package import MachineTesting
package import Timeline

package struct PushLife: Life {
    package static let key = AggregateKey.device("d")
    package static let policy = PushPolicy(partitions: 16)
    var random: SplitMix64
    package private(set) var runtime = InMemoryRuntime<PushMachine>(policy: policy, seed: "life")
    package private(set) var now = Instant(milliseconds: 1_750_000_000_000)
    var count = 0
    /// The times of charged silent wakes, by app.
    package private(set) var charged: [String: [Instant]] = [:]
    /// The alerts that the device holds for the summary.
    var summarized: Set<String> = []
    /// The alerts that the device has presented.
    var presented: Set<String> = []
    package var device: PushMachine { runtime.state(Self.key) }

    /// - Parameter builtIn: the behaviour of a built-in device.
    package init(_ random: SplitMix64, builtIn: BuiltInDevice? = nil) throws {
        self.random = random
        // On iOS 12 an alert waits for its handler.
        let profile: ProfileName = Int.random(in: 0..<4, using: &self.random) == 0 ? .ios12 : .ios18
        let registration = Registration(profile: profile, simulate: builtIn)
        try deliver(LifecycleEvent.DeviceRegistered(registration: registration))
        for app in ["a", "b", "c"] {
            try install(app)
            try deliver(LifecycleEvent.AppLaunched(app: app, callbacks: []))
        }
    }

    private mutating func install(_ app: String) throws {
        let manifest = Manifest(
            backgroundModes: app == "c" ? [] : [.remoteNotification], notificationAuthorization: .authorized,
            notificationServiceExtension: app != "b")
        try deliver(LifecycleEvent.AppInstalled(app: app, manifest: manifest))
    }

    @discardableResult
    package mutating func step() throws -> (any Error)? {
        count += 1
        // Some steps are short, because a service extension has 30 s.
        let isShort = Bool.random(using: &random) && device.messages.values.contains { $0.serviceExtension == .running }
        now = now + .milliseconds(Int64.random(in: 0...(isShort ? 20_000 : 600_000), using: &random))
        let logged = runtime.log.count
        let settings = device.apps.mapValues(\.notifications)
        let shown = Set(device.shown.map(\.id))
        try runtime.advance(to: now)
        let before = device.binary
        var refusal: PushRefusal?
        do { try act() } catch let error as PushRefusal {
            try hold(device.binary == before, "a refusal changes nothing")
            refusal = error
        }
        for event in runtime.log[logged...] where event.type == PushEvent.BudgetChanged.type {
            let change = try PushEvent.BudgetChanged(jsonBytes: event.data)
            guard let app = change.app else { continue }
            if change.charged { charged[app, default: []].append(event.time) } else { charged[app]?.removeLast() }
        }
        try checkDeliveries(since: logged, settings)
        try checkSummary(since: logged)
        try hold(
            device.shown.allSatisfy { shown.contains($0.id) || settings[$0.app]?.showsAlerts == true },
            "nothing is shown without authorization")
        return refusal
    }

    private mutating func deliver(_ data: some EventData) throws {
        let id = DecisionIdentifiers.derived("life", String(runtime.log.count), String(count))
        try runtime.deliver(
            Event(
                id: id, source: LifecycleEvent.source, type: Swift.type(of: data).type, version: 1, key: Self.key,
                app: data.app, time: now, correlation: id, causation: nil, traceparent: nil, data: data.jsonBytes))
    }

    private mutating func submit(_ command: PushCommand) throws { try runtime.obey(command, to: Self.key, at: now) }

    private mutating func act() throws {
        let app = ["a", "b", "c"].randomElement(using: &random) ?? "a"
        let message = device.messages.elements.randomElement(using: &random)
        let asking = device.messages.elements.filter { $0.value.wake != .none }.randomElement(using: &random)
        switch Int.random(in: 0..<52, using: &random) {
        case 0: try submit(.register(app: app, .sandbox))
        case 1: try submit(.register(app: app, .sandbox, channels: Bool.random(using: &random) ? ["x", "y"] : ["y"]))
        case 2: if Bool.random(using: &random) { try unregister(app) }
        case 3, 4:
            try submit(
                .connect(
                    connection: "c\(count)", holder: Bool.random(using: &random) ? "h" : nil,
                    kind: Bool.random(using: &random) ? .stream : .fleet))
        case 5:
            let cause: ConnectionEnd = Bool.random(using: &random) ? .closed : .processLost
            try submit(.disconnect(connection: device.connection?.id ?? "none", cause))
        case 6: try submit(.poll(connection: "p\(count)", wait: .seconds(30.0)))
        case 7, 8: try submit(.acknowledge(notification: message?.key ?? "none"))
        case 9: try submit(.keepAlive)
        case 10: try submit(.setThrottle(Int.random(in: 0..<4, using: &random) != 0))
        case 11, 12: try deliver(LifecycleEvent.ConditionsChanged(conditions: conditions()))
        case 13: try deliver(LifecycleEvent.AppLaunched(app: app, callbacks: []))
        case 14: try deliver(LifecycleEvent.AppBackgrounded(app: app, callbacks: [], cause: .home, taskTime: .zero))
        case 15:
            if Int.random(in: 0..<5, using: &random) == 0 {
                try deliver(LifecycleEvent.AppUninstalled(app: app))
                charged[app] = nil
            } else {
                try install(app)
            }
        case 16: try terminate(app)
        case 26: try registerAnother(app)
        case 27: try submit(.present(notification: message?.key ?? "none", options: presentation()))
        case 28: try deliver(LifecycleEvent.AppSuspended(app: app))
        case 17: try deliver(LifecycleEvent.DevicePowered(power: Bool.random(using: &random) ? .boot : .off))
        case 21, 22:
            let shown = device.shown.randomElement(using: &random)?.id
            try submit(.open(notification: (Bool.random(using: &random) ? shown : message?.key) ?? "none"))
        case 23: try changeSettings(app)
        case 24: try submit(.receiveBroadcast(broadcast(app)))
        case 25:
            let isGone = Int.random(in: 0..<4, using: &random) == 0
            try submit(isGone ? .forgetChannel(app: app, channel: "x") : .receiveBroadcast(broadcast(app)))
        case 29, 30: try startActivity(app)
        case 31: try changeActivity(app)
        case 32, 33:
            let running = device.messages.elements.filter { $0.value.serviceExtension == .running }
            let id = running.randomElement(using: &random)?.key ?? message?.key ?? "none"
            try submit(.modify(notification: id, content()))
        case 34: try submit(.setCategories(app: app, categories()))
        case 35, 36:
            let shown = device.shown.randomElement(using: &random)?.id
            try submit(.respond(notification: shown ?? message?.key ?? "none", response()))
        case 18, 19, 20: try answerWake(asking?.key ?? "none", asking?.value.app ?? app)
        default: try submit(.receive(push(app)))
        }
    }

    private mutating func startActivity(_ app: String) throws {
        let request = LiveActivityRequest(
            attributesType: "T", channel: Bool.random(using: &random) ? "x" : nil, contentState: ["score": 0],
            environment: Bool.random(using: &random) ? .sandbox : nil, frequentUpdates: Bool.random(using: &random),
            staleDate: Bool.random(using: &random) ? now + .minutes(30) : nil)
        try submit(.startActivity(app: app, activity: Bool.random(using: &random) ? "x" : "y", request))
    }

    private mutating func changeActivity(_ app: String) throws {
        let activity = Bool.random(using: &random) ? "x" : "y"
        switch Int.random(in: 0..<4, using: &random) {
        case 0: try submit(.dismissActivity(app: app, activity: activity))
        case 1: try submit(.endActivity(app: app, activity: activity, dismissalDate: now + .minutes(20)))
        default: try submit(.updateActivity(app: app, activity: activity, contentState: ["score": 1]))
        }
    }

    private mutating func registerAnother(_ app: String) throws {
        let kind = TokenKind.allCases.randomElement(using: &random) ?? .voip
        let activity = Bool.random(using: &random) ? "x" : "y"
        try submit(.register(app: app, .sandbox, kind: kind, activity: kind == .liveactivity ? activity : nil))
    }

    private mutating func unregister(_ app: String) throws {
        let token = device.apps[app]?.tokens.randomElement(using: &random)
        try submit(.unregister(app: app, kind: token?.kind ?? .apns, activity: token?.activity))
    }

    private mutating func presentation() -> [PresentationOption] {
        PresentationOption.allCases.filter { _ in Bool.random(using: &random) }
    }

    private mutating func terminate(_ app: String) throws {
        let reason = EndReason.allCases.randomElement(using: &random) ?? .crash
        try deliver(LifecycleEvent.AppTerminated(app: app, callbacks: [], from: .background, reason: reason))
        let isHeld = device.messages.values.contains { $0.app == app && $0.stage == .held }
        try hold(!isHeld || reason != .forceQuit && reason != .memoryPressure, "a kill ends what is held")
    }

    private mutating func changeSettings(_ app: String) throws {
        var notifications = NotificationSettings()
        notifications.authorization = NotificationAuthorization.allCases.randomElement(using: &random) ?? .denied
        notifications.alert = Int.random(in: 0..<4, using: &random) > 0 ? .on : .off
        notifications.criticalAlert = Bool.random(using: &random) ? .on : .off
        notifications.scheduledDelivery = Bool.random(using: &random) ? .on : .off
        notifications.timeSensitive = Bool.random(using: &random) ? .on : .off
        var settings = Settings()
        settings.notifications = notifications
        try deliver(LifecycleEvent.SettingsChanged(app: app, settings: settings))
    }

    private mutating func answerWake(_ id: String, _ app: String) throws {
        switch Int.random(in: 0..<4, using: &random) {
        case 0, 1:
            try deliver(
                LifecycleEvent.AppWoken(
                    app: app, callbacks: [], deadline: now, from: .suspended, limit: .zero, reason: .fetch, request: id,
                    wake: "w"))
        case 2:
            let answer = PushToTalkResult.allCases.randomElement(using: &random)
            try deliver(
                LifecycleEvent.WakeCompleted(
                    app: app, pushResult: answer, reason: .fetch, request: id, result: .noData, wake: "w"))
        default:
            let refusal = WakeRefusal.allCases.randomElement(using: &random) ?? .forceQuit
            try deliver(LifecycleEvent.WakeRefused(app: app, reason: .fetch, refusal: refusal, request: id))
        }
    }

    private mutating func conditions() -> Conditions {
        var conditions = Conditions()
        conditions.locked = Bool.random(using: &random)
        if Bool.random(using: &random) {
            conditions.focus = Focus(allowedApps: ["b"], state: Bool.random(using: &random) ? .on : .off)
        }
        conditions.doNotDisturb = conditions.focus.map { $0.state == .on ? .always : .whileLocked } ?? .off
        conditions.lowPowerMode = Int.random(in: 0..<4, using: &random) == 0
        var network = Network()
        network.kind = Int.random(in: 0..<4, using: &random) == 0 ? .none : .wifi
        conditions.network = network
        return conditions
    }

    private mutating func broadcast(_ app: String) -> IncomingBroadcast {
        let expiration = Int.random(in: -600...7200, using: &random)
        return IncomingBroadcast(
            app: app, channel: Bool.random(using: &random) ? "x" : "y", environment: .sandbox, requestID: "",
            priority: [10, 5, 1].randomElement(using: &random) ?? 10,
            expiration: expiration < 0 ? nil : now + .seconds(Int64(expiration)),
            neverStored: Bool.random(using: &random),
            payload: ["aps": ["event": "update"], "x": .string(String(repeating: "x", count: 100))])
    }

    private mutating func push(_ app: String) -> IncomingPush {
        var aps: [JSON.Member] = []
        if Bool.random(using: &random) { aps.append(.init("content-available", 1)) }
        if Bool.random(using: &random) { aps.append(.init("alert", "x")) }
        if Bool.random(using: &random) {
            let event = ["start", "update", "end"].randomElement(using: &random) ?? "end"
            aps += [
                .init("event", .string(event)), .init("content-state", ["score": .int(count)]),
                .init("attributes-type", "T"), .init("attributes", [:]),
                .init("input-push-channel", Bool.random(using: &random) ? "x" : .null),
                .init("timestamp", .int(Int.random(in: 0...50, using: &random) + count)),
                .init("stale-date", .int(count + 600)),
            ]
        }
        if count.isMultiple(of: 3) { aps.append(.init("interruption-level", "passive")) }
        if count % 3 == 1 {
            let level = InterruptionLevel.allCases.randomElement(using: &random) ?? .critical
            aps.append(.init("interruption-level", .string(level.rawValue)))
            aps.append(.init("relevance-score", .double(Double.random(in: 0...1, using: &random))))
            aps.append(.init("thread-id", "t"))
        }
        if Bool.random(using: &random) { aps.append(.init("mutable-content", 1)) }
        if Bool.random(using: &random) { aps.append(.init("category", "x")) }
        let expiration = Int.random(in: -600...7200, using: &random)
        let isLarge = Int.random(in: 0..<4, using: &random) == 0
        let type: PushType =
            switch Int.random(in: 0..<8, using: &random) {
            case 0..<5: .alert
            case 5: .background
            default: PushType.allCases.randomElement(using: &random) ?? .liveactivity
            }
        let tokens = device.apps[app]?.tokens ?? []
        let isWrong = Int.random(in: 0..<8, using: &random) == 0
        let token = isWrong ? tokens.randomElement(using: &random) : tokens.last { $0.kind.accepts(type) }
        return IncomingPush(
            token: token?.token ?? "", app: app, topic: app, pushType: type, environment: .sandbox, apnsID: "",
            notification: "n\(count)",
            priority: [10, 5, 1].randomElement(using: &random) ?? 10,
            collapseID: Bool.random(using: &random) ? "x" : nil,
            expiration: expiration < 0 ? nil : now + .seconds(Int64(expiration)),
            neverStored: Int.random(in: 0..<8, using: &random) == 0,
            payload: ["aps": .object(aps), "x": .string(String(repeating: "x", count: isLarge ? 4000 : 10))])
    }
}
