package import Contracts
package import FetchCore
package import Machines
import OrderedCollections
import Records
package import MachineTesting
package import Timeline

/// A random life of a device, with a `lifecycle` that answers at random or not at all.
package struct FetchLife: Life {
    package static let key = AggregateKey.device("d")
    package static let apps = ["a", "b", "c"]

    package let policy = FetchPolicy.crowded
    var random: SplitMix64
    package var runtime: InMemoryRuntime<FetchMachine>
    package private(set) var now = Instant.monday
    package var device: FetchMachine { runtime.state(Self.key) }

    package init(_ random: SplitMix64) {
        self.random = random
        // One slot a minute for this device, so that wakes compete.
        runtime = InMemoryRuntime(policy: policy, seed: "life", partitions: 60)
    }

    package mutating func begin() throws {
        var registration = Registration(profile: chance(2) ? .ios26 : chance(2) ? .ios17 : .ios18)
        registration.timeZone = chance(2) ? "Test/TwoHoursEast" : nil
        try tell(LifecycleEvent.DeviceRegistered(registration: registration))
        for app in Self.apps {
            try tell(LifecycleEvent.AppInstalled(app: app, manifest: Self.manifest(permitting: tasks(of: app))))
            try tell(LifecycleEvent.AppWoken.ofLocation(app))
        }
    }

    /// The identifiers of task requests: one more than the limit.
    package static let tasks = (0...11).map { "t\($0)" }

    /// One app has refreshes, one has task requests, and one changes between them.
    private mutating func tasks(of app: String) -> [String] {
        switch app {
        case "a": []
        case "b": Self.tasks + ["b.*"]
        default: chance(4) ? [] : Self.tasks + ["c.*"]
        }
    }

    private static func manifest(permitting tasks: [String]) -> Manifest {
        var manifest = Manifest(backgroundModes: [.fetch, .processing])
        manifest.permittedTaskIdentifiers = tasks
        // A version of the app with fewer tasks also lacks launch handlers and the entitlement.
        if tasks.count <= Self.tasks.count {
            manifest.launchHandlers = Array(tasks.dropFirst(3))
        } else {
            manifest.entitlements = [.backgroundHealthResearch]
        }
        return manifest
    }

    @discardableResult
    package mutating func step() throws -> (any Error)? {
        // Running refreshes usually get their answers in time.
        let isBusy = device.apps.values.contains {
            $0.running != nil || $0.runningTask != nil || $0.dueContinuedRun != nil
        }
        let pause: Int64 = isBusy && !chance(8) ? 40_000 : chance(6) ? 7_200_000 : 400_000
        now = now + .milliseconds(Int64.random(in: 0...pause, using: &random))
        try runtime.advance(to: now)
        let before = device.binary
        do {
            if chance(3) { try runtime.obey(command(), to: Self.key, at: now) } else { try hear() }
            return nil
        } catch let refusal as FetchRefusal {
            try hold(device.binary == before, "a refusal changes nothing")
            return refusal
        }
    }

    mutating func chance(_ times: Int) -> Bool { Int.random(in: 0..<times, using: &random) == 0 }
    private mutating func anyApp() -> String { Self.apps[Int.random(in: 0..<Self.apps.count, using: &random)] }

    private mutating func command() -> FetchCommand {
        let intervals: [FetchInterval] = [
            .never, .minimum, .minimum, .atLeast(.zero), .atLeast(.seconds(Int64(1200))), .atLeast(.hours(5)),
        ]
        let onScreen = device.apps.first { $0.value.inForeground && $0.key != "a" }?.key
        if let onScreen, chance(6) { return continuedTaskCommand(onScreen) }
        if chance(2) { return taskCommand() }
        if chance(5) { return .simulateFetch(app: anyApp()) }
        return .setInterval(app: anyApp(), intervals[Int.random(in: 0..<intervals.count, using: &random)])
    }

    private mutating func taskCommand() -> FetchCommand {
        let app = chance(6) ? "a" : chance(2) ? "b" : "c"
        if let running = device.apps[app]?.runningTask, chance(4) {
            return .simulateTaskExpiration(app: app, identifier: running.submission.identifier)
        }
        let identifier = device.apps[app]?.tasks.keys.randomElement(using: &random) ?? "t0"
        switch Int.random(in: 0..<20, using: &random) {
        case 0: return .cancelTask(app: app, identifier: identifier)
        case 1 where chance(6): return .cancelAllTasks(app: app)
        case 2...8: return .simulateTaskLaunch(app: app, identifier: identifier)
        case 9: return .simulateTaskExpiration(app: app, identifier: identifier)
        default:
            // The first one is usually for a refresh.
            let number = chance(3) ? 0 : Int.random(in: 0..<Self.tasks.count, using: &random)
            let kind: TaskRequestKind =
                (number == 0) != chance(20)
                ? .refresh : number.isMultiple(of: 2) ? .healthResearch : .processing
            var request = BackgroundTaskRequest(Self.tasks[number], kind)
            request.earliestBeginDate = chance(4) ? now + .hours(Int64.random(in: 0...30, using: &random)) : nil
            if request.kind == .healthResearch, number.isMultiple(of: 4) {
                request.protectionTypeOfRequiredData = .complete
            }
            if request.kind.isProcessing {
                request.requiresExternalPower = chance(3)
                request.requiresNetworkConnectivity = chance(3)
            }
            request.expirationHandler = !chance(3)
            return .submitTask(app: app, request)
        }
    }

    /// An event of `lifecycle`, usually an answer to a running refresh.
    private mutating func hear() throws {
        if try hearOfContinuedTask() { return }
        let app = anyApp()
        if let running = device.apps[app]?.running, !chance(4) { return try answer(app, running) }
        // A stopped task ends soon.
        let isEnding = device.apps.first { $0.value.runningTask?.stopped != nil && $0.value.runningTask?.wake != nil }
        if let (app, record) = isEnding, let running = record.runningTask { return try answer(app, running) }
        if let running = device.apps[app]?.runningTask, !chance(3) { return try answer(app, running) }
        switch Int.random(in: 0..<12, using: &random) {
        case 0: try tell(LifecycleEvent.AppLaunched(app: app, callbacks: []))
        case 1: try tell(LifecycleEvent.AppActivated(app: app, callbacks: []))
        case 2, 3: try tell(LifecycleEvent.AppBackgrounded(app: app, callbacks: [], cause: .home, taskTime: .zero))
        case 4: try tell(LifecycleEvent.AppTerminated(app: app, callbacks: [], from: .suspended, reason: .forceQuit))
        case 5 where chance(2): try tell(LifecycleEvent.AppWoken.ofLocation(app))
        case 5: try tell(LifecycleEvent.DevicePowered(power: chance(8) ? .off : .boot))
        case 6:
            var settings = Settings(backgroundRefresh: chance(6) ? .off : .on)
            let isForDevice = chance(2)
            if isForDevice {
                settings.restrictions = Restrictions()
                settings.restrictions?.backgroundRefresh = chance(10)
            }
            try tell(LifecycleEvent.SettingsChanged(app: isForDevice ? nil : app, settings: settings))
        case 7 where chance(6): try tell(LifecycleEvent.AppUninstalled(app: app))
        case 7, 8:
            let permitted = chance(4) ? Array(tasks(of: app).dropLast(4)) : tasks(of: app)
            try tell(LifecycleEvent.AppInstalled(app: app, manifest: Self.manifest(permitting: permitted)))
        default: try tell(LifecycleEvent.ConditionsChanged(conditions: conditions()))
        }
    }

    private mutating func answer(_ app: String, _ running: RunningFetch) throws {
        if running.startedAt == nil {
            if chance(4) {
                try tell(
                    LifecycleEvent.WakeRefused(
                        app: app, reason: .fetch, refusal: .deviceOff, request: running.fetch))
            } else {
                try tell(
                    LifecycleEvent.AppWoken(
                        app: app, callbacks: [], deadline: now + .seconds(Int64(30)), from: .suspended,
                        limit: .seconds(Int64(30)), reason: .fetch, request: running.fetch, wake: "w"))
            }
        } else if chance(5) {
            try tell(LifecycleEvent.AppTerminated(app: app, callbacks: [], from: .background, reason: .fetchTimeout))
        } else {
            let result: WakeResult = chance(2) ? .newData : .noData
            try tell(
                LifecycleEvent.WakeCompleted(
                    app: app, reason: .fetch, request: running.fetch, result: result, wake: "w"))
        }
    }

    private mutating func answer(_ app: String, _ running: RunningTask) throws {
        let kind: WakeKind = running.submission.kind == .refresh ? .refreshTask : .processingTask
        if running.startedAt == nil {
            if chance(4) {
                return try tell(
                    LifecycleEvent.WakeRefused(
                        app: app, kind: kind, reason: .task, refusal: .memoryPressure, request: running.request))
            }
            return try tell(
                LifecycleEvent.AppWoken(
                    app: app, callbacks: [], deadline: now + .minutes(10), from: .suspended, kind: kind,
                    limit: .minutes(10), reason: .task, request: running.request, wake: "w"))
        }
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
            try tell(
                LifecycleEvent.AppTerminated(
                    app: app, callbacks: [], from: .background, reason: chance(2) ? .taskRequestTimeout : .crash))
        case 1: try tell(LifecycleEvent.WakeExpired(app: app, request: running.request, wake: "w"))
        // The user opens the app, or a condition ends, while it runs.
        case 2, 3:
            var conditions = Conditions()
            if chance(2) { conditions.locked = false } else { conditions.lowPowerMode = true }
            try tell(LifecycleEvent.ConditionsChanged(conditions: conditions))
        default:
            try tell(
                LifecycleEvent.WakeCompleted(
                    app: app, kind: kind, reason: .task, request: running.request,
                    success: running.stopped == nil ? !chance(3) : chance(4), wake: "w"))
        }
    }

    private mutating func conditions() -> Conditions {
        var conditions = Conditions()
        switch Int.random(in: 0..<5, using: &random) {
        case 0:
            var battery = Battery()
            battery.level = Double(Int.random(in: 0...100, using: &random)) / 100
            battery.charging = chance(2)
            conditions.battery = battery
        case 1: conditions.lowPowerMode = chance(6)
        case 2:
            var network = Network()
            network.kind = chance(4) ? .none : chance(2) ? .cellular : .wifi
            network.expensive = chance(3)
            conditions.network = network
        case 3: conditions.thermal = chance(4) ? .serious : .nominal
        default: conditions.locked = !chance(3)
        }
        return conditions
    }

    mutating func tell(_ data: some EventData) throws { try runtime.tell(data, of: Self.key, at: now) }

    /// The wait of an app, from the log.
    package func waits(of app: String) throws -> [PastWait] { try runtime.waits(of: app, Self.key) }
}

extension LifecycleEvent.AppWoken {
    /// A wake after which the app's code runs. For `fetch` it is neither a refresh nor an opening.
    package static func ofLocation(_ app: String) -> Self {
        Self(
            app: app, callbacks: [], deadline: .epoch, from: .notRunning, limit: .zero, reason: .location, wake: "w-0")
    }
}

extension InMemoryRuntime<FetchMachine> {
    /// Delivers an event of `lifecycle`.
    @discardableResult
    package mutating func tell(_ data: some EventData, of key: AggregateKey, at time: Instant) throws -> [Event] {
        let id = DecisionIdentifiers.derived("told", key.description, String(log.count), String(time.milliseconds))
        return try deliver(
            Event(
                id: id, source: LifecycleEvent.source, type: Swift.type(of: data).type, version: 1, key: key,
                app: data.app, time: time, correlation: id, causation: nil, traceparent: nil, data: data.jsonBytes))
    }

    /// Registers a device with apps that declare the mode `fetch` and run in the background.
    package mutating func begin(
        _ key: AggregateKey, apps: [String], timeZone: String? = nil, at time: Instant = .monday
    ) throws {
        var registration = Registration(profile: .ios15)
        registration.timeZone = timeZone
        try tell(LifecycleEvent.DeviceRegistered(registration: registration), of: key, at: time)
        for app in apps {
            let manifest = Manifest(backgroundModes: [.fetch])
            try tell(LifecycleEvent.AppInstalled(app: app, manifest: manifest), of: key, at: time)
            try tell(LifecycleEvent.AppWoken.ofLocation(app), of: key, at: time)
        }
    }

    /// The user opens an app, and leaves it after a while.
    package mutating func open(_ app: String, _ key: AggregateKey, at time: Instant, for stay: Interval) throws {
        try tell(LifecycleEvent.AppLaunched(app: app, callbacks: []), of: key, at: time)
        try tell(
            LifecycleEvent.AppBackgrounded(app: app, callbacks: [], cause: .home, taskTime: .zero), of: key,
            at: time + stay)
    }

    package func waits(of app: String, _ key: AggregateKey) throws -> [PastWait] {
        try log.filter { $0.key == key && $0.app == app && $0.type == FetchEvent.RefreshScheduled.type }.map {
            PastWait(from: $0.time, wait: try FetchEvent.RefreshScheduled(jsonBytes: $0.data).wait)
        }
    }
}

extension FetchPolicy {
    package static var forTests: FetchPolicy { FetchPolicy { zone, _ in zone == "Test/TwoHoursEast" ? 7200 : 0 } }

    /// With one wake a second for the whole suite.
    package static var crowded: FetchPolicy {
        var policy = forTests
        policy.ceiling = 1
        return policy
    }
}

extension Instant {
    /// Monday, 2025-06-16T00:00:00Z.
    package static let monday = Instant(milliseconds: 1_750_032_000_000)
}
