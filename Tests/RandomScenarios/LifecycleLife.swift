package import Contracts
package import LifecycleCore
package import Machines
import OrderedCollections
import Records
import MachineTesting
package import Timeline

/// A random life of `lifecycle`, with outages of the service.
package struct LifecycleLife: Life {
    package static let key = AggregateKey.device("d")
    package let seed: UInt64
    private var random: SplitMix64
    private let builtIn: BuiltInDevice?
    package private(set) var runtime: InMemoryRuntime<LifecycleMachine>
    package private(set) var now = Instant(milliseconds: 1_750_000_000_000)
    package var device: LifecycleMachine { runtime.state(Self.key) }

    /// - Parameter builtIn: the behaviour of a built-in device, which clients take over and give back.
    package init(seed: UInt64, builtIn: BuiltInDevice? = nil) {
        self.seed = seed
        self.builtIn = builtIn
        random = SplitMix64(seed: seed)
        runtime = InMemoryRuntime(policy: LifecyclePolicy(), seed: String(seed))
    }

    @discardableResult
    package mutating func step() throws -> (any Error)? {
        now = now + .milliseconds(Int64.random(in: 0...9000, using: &random))
        if Int.random(in: 0..<12, using: &random) == 0 { try sufferOutage() }
        try runtime.advance(to: now)
        let before = device.binary
        do {
            if builtIn != nil, Int.random(in: 0..<10, using: &random) == 0 {
                let client = pick(["c1", "c2"]) ?? "c1"
                let takesOver = Bool.random(using: &random)
                try runtime.submit(
                    takesOver ? .takeOver(client: client) : .giveBack(client: client), to: Self.key, at: now)
            } else if Int.random(in: 0..<5, using: &random) == 0 {
                try runtime.deliver(wake())
            } else {
                try runtime.obey(command(), to: Self.key, at: now)
            }
            return nil
        } catch let refusal as LifecycleRefusal {
            try hold(device.binary == before, "a refusal changes nothing")
            return refusal
        }
    }

    /// Passes an outage. Every limit that was running at its start must have the same rest at its end.
    private mutating func sufferOutage() throws {
        let from = now - .milliseconds(Int64.random(in: 0...4000, using: &random))
        let until = now + .milliseconds(Int64.random(in: 1...60_000, using: &random))
        try runtime.advance(to: max(from, .epoch))
        let before = device
        let decidedAt = runtime.aggregates[Self.key]?.now ?? .epoch
        let events = try runtime.pass(Outage(from: from, until: until))
        now = until
        guard before.nextDeadline != nil else {
            try hold(events.isEmpty, "an outage without running limits emits nothing")
            return
        }
        try hold(events.map(\.type) == [LifecycleEvent.OutageRecorded.type], "an outage is noted once")
        let law = "an outage extends limits by its length"
        let length = until - max(from, decidedAt)
        for (id, app) in before.apps {
            let after = device.apps[id]
            try hold(after?.state == app.state, law)
            try hold(after?.pendingCallbacks.map(\.deadline) == app.pendingCallbacks.map { $0.deadline + length }, law)
            let wakes = app.wakes.values.map { wake in wake.deadline.map { $0 + length } }
            try hold(after?.wakes.values.map(\.deadline) == wakes, law)
            try hold(after?.taskDeadline == app.taskDeadline.map { $0 + length }, law)
            try hold(after?.backgroundTimeRemaining(at: until) == app.backgroundTimeRemaining(at: until - length), law)
        }
    }

    private mutating func pick<T>(_ items: some Collection<T>) -> T? { items.randomElement(using: &random) }

    package static let apps = ["a", "b", "c"]

    private mutating func anyApp() -> String { Self.apps[Int.random(in: 0..<3, using: &random)] }

    /// Another service asks for a wake.
    private mutating func wake() -> Event {
        let request = "r\(now.milliseconds)"
        switch Int.random(in: 0..<8, using: &random) {
        case 7:
            return event(
                PushEvent.NotificationResponded(actionIdentifier: "like", app: anyApp(), notification: request))
        case 6: return event(PushEvent.NotificationOpened(app: anyApp(), notification: request))
        case 0: return event(FetchEvent.RefreshDue(app: anyApp(), fetch: request))
        case 1:
            let call: PushType? = Int.random(in: 0..<3, using: &random) == 0 ? pick([.voip, .pushtotalk]) : nil
            return event(
                PushEvent.WakeRequested(app: anyApp(), notification: request, payload: ["n": 1], pushType: call))
        case 2:
            let kind = pick(TaskRequestKind.allCases) ?? .refresh
            return event(
                FetchEvent.TaskDue(
                    app: anyApp(), expirationHandler: Bool.random(using: &random), identifier: "t", kind: kind,
                    request: request))
        case 3:
            let app = anyApp()
            let running = device.apps[app]?.wakes.values.filter { $0.kind.reason == .task } ?? []
            return event(
                FetchEvent.TaskStopped(
                    app: app, cause: .userReturned, identifier: "t", request: pick(running)?.request ?? "none"))
        default: return event(TransferEvent.WakeRequested(app: anyApp(), session: request))
        }
    }

    package func event<D: EventData>(_ data: D) -> Event {
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
            if Bool.random(using: &random) { settings.summaryTimes = ["07:30"] }
            return .changeDeviceSettings(settings)
        }
        var settings = AppSettings()
        settings.backgroundRefresh = pick(Switch.allCases)
        settings.locationAuthorization = pick(LocationAuthorization.allCases)
        settings.locationAccuracy = Bool.random(using: &random) ? .full : pick(LocationAccuracy.allCases)
        settings.notifications = NotificationSettingsChange(
            alert: pick(Switch.allCases), authorization: pick(NotificationAuthorization.allCases),
            scheduledDelivery: Bool.random(using: &random) ? pick(Switch.allCases) : nil)
        return .changeSettings(app: app, settings)
    }

    private mutating func authorizationRequest(_ app: String) -> LifecycleCommand {
        let options = AuthorizationOption.allCases.filter { _ in Bool.random(using: &random) }
        return .requestAuthorization(
            app: app, AuthorizationRequest(answer: pick(AuthorizationAnswer.allCases), options: options))
    }

    private mutating func command() -> LifecycleCommand {
        let app = anyApp()
        let record = device.apps[app]
        switch Int.random(in: 0..<36, using: &random) {
        case 0:
            var registration = Registration(profile: pick(ProfileName.allCases) ?? .ios7)
            registration.multitasking = Int.random(in: 0..<6, using: &random) > 0
            registration.gps = Int.random(in: 0..<4, using: &random) > 0
            registration.cellular = Int.random(in: 0..<4, using: &random) > 0
            registration.simulate = builtIn
            return .register(registration)
        case 1, 2:
            var manifest = Manifest(
                backgroundModes: BackgroundMode.allCases.filter { _ in Int.random(in: 0..<3, using: &random) > 0 },
                exitsOnSuspend: Int.random(in: 0..<6, using: &random) == 0,
                handlersReturn: pick(HandlersReturn.allCases) ?? .reported)
            manifest.scenes = Bool.random(using: &random)
            if Bool.random(using: &random) {
                manifest.notificationAuthorization = pick(NotificationAuthorization.allCases)
            }
            return .install(app: app, manifest)
        case 3: return Int.random(in: 0..<8, using: &random) == 0 ? .uninstall(app: app) : .power(.boot)
        case 4:
            let isRare = Int.random(in: 0..<4, using: &random) == 0
            return .power(isRare ? pick(PowerEvent.allCases) ?? .off : .boot)
        case 5 where Int.random(in: 0..<3, using: &random) == 0:
            return .interrupt(pick(InterruptionKind.allCases) ?? .call)
        case 5:
            var conditions = ConditionsReport()
            conditions.locked = Bool.random(using: &random)
            conditions.lowPowerMode = Bool.random(using: &random)
            conditions.memoryPressure = pick(MemoryPressure.allCases)
            conditions.thermal = Int.random(in: 0..<4, using: &random) == 0 ? .critical : .nominal
            return .updateConditions(conditions)
        case 6: return Bool.random(using: &random) ? settings(app) : authorizationRequest(app)
        case 7, 8:
            return .completeCallback(
                app: app, record?.pendingCallbacks.first?.callback ?? .didEnterBackground, CallbackCompletion())
        case 9, 10: return .beginTask(app: app, TaskRequest(expirationHandler: Bool.random(using: &random)))
        case 11, 12: return .endTask(app: app, task: record?.tasks.keys.last ?? "none")
        case 13, 14:
            return .completeWake(
                app: app, wake: record?.wakes.keys.first ?? record?.completedWakes.last ?? "none",
                WakeCompletion(
                    pushResult: pick(PushToTalkResult.allCases), result: pick(WakeResult.allCases),
                    success: Bool.random(using: &random)))
        case 15 where record?.wakes.isEmpty == false:
            let progress = TaskProgress(completedUnitCount: Int.random(in: 0...4, using: &random), totalUnitCount: 4)
            return .reportProgress(app: app, wake: record?.wakes.keys.last ?? "none", progress)
        case 15, 16, 17: return .transition(app: app, .launch)
        case 18: return .transition(app: app, .open)
        case 19, 20: return .transition(app: app, .home)
        case 21 where Int.random(in: 0..<4, using: &random) == 0: return bluetooth(app)
        case 22 where Int.random(in: 0..<4, using: &random) == 0: return health(app)
        case 24, 25, 26:
            let request = ActivityRequest(
                allowsBackgroundLocationUpdates: Int.random(in: 0..<4, using: &random) > 0,
                pausesLocationUpdatesAutomatically: Bool.random(using: &random))
            return .startActivity(app: app, pick(ActivityKind.allCases) ?? .audio, request)
        case 27:
            let name = record?.activities.keys.first ?? "audio"
            return .stopActivity(app: app, ActivityKind(rawValue: name) ?? .audio)
        case 28:
            let action = pick(ActionKind.allCases) ?? .work
            return .act(app: app, ActionReport(action, on: pick(ThreadKind.allCases) ?? .main))
        case 29, 30: return places(app)
        case 31, 32, 33:
            var conditions = ConditionsReport()
            conditions.location = anywhere()
            if Int.random(in: 0..<3, using: &random) == 0 {
                conditions.beacons = Bool.random(using: &random) ? [beacon] : []
            }
            if Int.random(in: 0..<4, using: &random) == 0 { conditions.bluetooth = pick(Switch.allCases) }
            if Int.random(in: 0..<4, using: &random) == 0 { conditions.tower = pick(["208-1-77", "208-1-78"]) }
            return .updateConditions(conditions)
        case 34:
            var settings = AppSettings()
            settings.locationAuthorization = .always
            return .changeSettings(app: app, settings)
        default: return .transition(app: app, pick(AppTransition.allCases) ?? .home)
        }
    }

    private mutating func bluetooth(_ app: String) -> LifecycleCommand {
        let role = pick(BluetoothRole.allCases) ?? .central
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return .stopBluetooth(app: app, role)
        case 1, 2, 3: return .bluetooth(app: app, pick(BluetoothEvent.allCases) ?? .connected)
        default:
            return .startBluetooth(app: app, role, BluetoothManager(restoreIdentifier: pick(["lock", nil]) ?? nil))
        }
    }

    private mutating func health(_ app: String) -> LifecycleCommand {
        let type = pick(["heartRate", "stepCount"]) ?? "heartRate"
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return .disableHealthDelivery(app: app, sampleType: type)
        case 1, 2, 3: return .saveHealthSample(sampleType: type)
        default:
            let delivery = HealthDelivery(frequency: pick(HealthFrequency.allCases) ?? .immediate)
            return .enableHealthDelivery(app: app, sampleType: type, delivery)
        }
    }

    private mutating func places(_ app: String) -> LifecycleCommand {
        switch Int.random(in: 0..<12, using: &random) {
        case 8, 9: return monitors(app)
        case 10, 11:
            var region = BeaconRegion(beacon: anyBeacons())
            region.notifyEntryStateOnDisplay = Bool.random(using: &random)
            return .monitorBeaconRegion(app: app, region: pick(["home", "shop"]) ?? "shop", region)
        case 6: return Bool.random(using: &random) ? .monitorVisits(app: app) : .stopMonitoringVisits(app: app)
        case 7: return .visit(pick(VisitKind.allCases) ?? .arrival)
        case 0: return .stopMonitoringRegion(app: app, region: "home")
        case 1: return .stopMonitoringSignificantChanges(app: app)
        case 2, 3: return .monitorSignificantChanges(app: app)
        default:
            var region = Region(latitude: 48, longitude: 2, radiusMeters: pick([100, 500, 2e6]) ?? 100)
            region.notifyOnExit = Bool.random(using: &random)
            return .monitorRegion(app: app, region: pick(["home", "work"]) ?? "home", region)
        }
    }

    private mutating func monitors(_ app: String) -> LifecycleCommand {
        let monitor = pick(["places", "shops"]) ?? "places"
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return .removeMonitorCondition(app: app, monitor: monitor, condition: "c")
        case 1, 2, 3:
            var condition = MonitorCondition(assuming: pick(MonitoringState.allCases) ?? .unknown)
            if Bool.random(using: &random) {
                condition.beacon = anyBeacons()
            } else {
                condition.circle = Circle(latitude: 48, longitude: 2, radiusMeters: pick([100, 500]) ?? 100)
            }
            return .addMonitorCondition(app: app, monitor: monitor, condition: pick(["c", "d"]) ?? "c", condition)
        default: return .openMonitor(app: app, monitor: monitor)
        }
    }

    private var beacon: Beacon { Beacon(major: 1, minor: 2, uuid: "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0") }

    private mutating func anyBeacons() -> BeaconIdentity {
        BeaconIdentity(major: pick([1, nil]) ?? nil, minor: pick([2, nil]) ?? nil, uuid: beacon.uuid)
    }

    /// Inside the regions, at their boundaries, or far away.
    private mutating func anywhere() -> Location {
        var location = Location()
        location.latitude = 48 + Double(Int.random(in: 0..<12, using: &random)) * 0.001
        location.longitude = 2
        location.accuracyMeters = pick([5, 400]) ?? 5
        return location
    }
}
