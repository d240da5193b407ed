import OrderedCollections
import Contracts
import LifecycleCore
import Machines
import PushCore
import Scenarios
import Timeline

// The person, the surroundings, the provider and the faults of a device.
extension DeviceSimulation {
    /// The time from the home screen to the lock of the device (our choice).
    static let timeToLock = Interval.seconds(5.0)

    /// Registers the device, installs its apps and connects to `push`.
    mutating func begin(_ context: inout PartitionContext) throws {
        let scenario = context.plan.scenario
        let group = scenario.people[device.group]
        var registration = Registration(profile: device.profile)
        registration.timeZone = device.timeZone.name
        try submit(.register(registration), &context)
        try settle(&context)
        for app in scenario.apps { try submit(.install(app: app.id, app.manifest), &context) }
        try settle(&context)
        if group.notifications.allowed == .off {
            for app in scenario.apps {
                try submit(.changeSettings(app: app.id, AppSettings(notifications: .off)), &context)
            }
        }
        if group.backgroundRefresh == .off {
            try submit(.changeDeviceSettings(DeviceSettings(backgroundRefresh: .off)), &context)
        }
        let initial = context.plan.timeline(of: device.index).initial
        var report = ConditionsReport()
        report.battery = BatteryReport(charging: initial.isCharging, level: initial.level.fraction)
        if profile.has(.lowPowerMode) { report.lowPowerMode = initial.isLowPowerMode }
        report.network = networkReport
        report.locked = true
        try submit(.updateConditions(report), &context)
        for (number, fault) in faults.enumerated() { schedule(.beginFault(number), after: fault.at - now) }
    }

    /// Performs an action of the person, or a change of the surroundings.
    mutating func perform(_ action: DeviceAction, _ context: inout PartitionContext) throws {
        let names = context.plan.scenario.apps
        switch action {
        case .open(let app): try open(names[app].id, &context)
        case .home:
            guard let app = lifecycle.state.foreground else { return }
            try submit(.transition(app: app, .home), &context)
            schedule(.lock, after: Self.timeToLock)
        case .forceQuit(let app):
            let name = names[app].id
            guard lifecycle.state.switcher.contains(name) || lifecycle.state.apps[name]?.state != .notRunning else {
                return
            }
            try submit(.transition(app: name, .swipe), &context)
        case .network(let network):
            plannedNetwork = network
            try reportNetwork(&context)
        case .battery(let level, let isCharging):
            var report = ConditionsReport()
            report.battery = BatteryReport(charging: isCharging, level: level.fraction)
            try submit(.updateConditions(report), &context)
        case .lowPowerMode(let isOn):
            guard profile.has(.lowPowerMode) else { return }
            var report = ConditionsReport()
            report.lowPowerMode = isOn
            try submit(.updateConditions(report), &context)
        case .update(let name):
            guard var registration = lifecycle.state.registration else { return }
            registration.profile = name
            profile = context.policies.lifecycle[name]
            try submit(.register(registration), &context)
            try submit(.power(.reboot), &context)
        }
    }

    /// The person opens an app, with the device unlocked. A device that is off stays off.
    private mutating func open(_ app: String, _ context: inout PartitionContext) throws {
        guard lifecycle.state.isPoweredOn, let record = lifecycle.state.apps[app] else { return }
        if lifecycle.state.conditions.locked == true {
            var report = ConditionsReport()
            report.locked = false
            try submit(.updateConditions(report), &context)
            try settle(&context)
        }
        guard record.state != .active else { return }
        try submit(.transition(app: app, record.state == .notRunning ? .launch : .open), &context)
    }

    /// Locks the device unless it is in use again.
    mutating func lock(_ context: inout PartitionContext) throws {
        guard lifecycle.state.foreground == nil, lifecycle.state.conditions.locked == false else { return }
        var report = ConditionsReport()
        report.locked = true
        try submit(.updateConditions(report), &context)
    }

    // MARK: Network

    /// The current network of the device.
    var network: NetworkText {
        let isLost = activeFaults.contains { faults[$0].kind == .lostRadio }
        return isLost ? NetworkText(.none) : plannedNetwork
    }

    private var networkReport: NetworkReport {
        let network = network
        var report = NetworkReport(kind: network.network.kind)
        report.expensive = network.isExpensive
        report.constrained = network.isConstrained && profile.has(.lowDataMode)
        report.shape = network.network.shape
        return report
    }

    private mutating func reportNetwork(_ context: inout PartitionContext) throws {
        try reportProgress(&context)
        var report = ConditionsReport()
        report.network = networkReport
        try submit(.updateConditions(report), &context)
    }

    // MARK: Pushes

    /// The provider sends a push. It has no token before the first launch of the app.
    mutating func send(_ number: Int, _ planned: PlannedPush, _ context: inout PartitionContext) throws {
        var delay = Interval.zero
        for fault in activeFaults.sorted() {
            var random = draw(.faults, context)
            switch faults[fault].kind {
            case .latePushes(let span): delay = delay + span.drawn(&random)
            case .doubledPushes(let share) where random.holds(share):
                schedule(
                    .receive(push: number, item: planned.item, isRepeated: true), after: delay + .seconds(1.0))
            default: break
            }
        }
        if delay > .zero {
            schedule(.receive(push: number, item: planned.item, isRepeated: false), after: delay)
        } else {
            try receive(number, item: planned.item, isRepeated: false, sentAt: planned.at, &context)
        }
    }

    /// The push service receives a push.
    mutating func receive(
        _ number: Int, item: Int, isRepeated: Bool, sentAt: Instant, _ context: inout PartitionContext
    ) throws {
        let send = context.plan.scenario.provider.sends[item]
        let app = send.app.flatMap { context.appIndexes[$0] } ?? 0
        let name = context.plan.scenario.apps[app].id
        guard let token = apps[app].token else {
            context.figures[app].withoutToken += 1
            return
        }
        let id = DecisionIdentifiers.derived(
            "push", context.seedText, key.description, String(number), isRepeated ? "2" : "1"
        ).lowercased
        let expiration = send.expiration?.interval
        let incoming = IncomingPush(
            token: send.send == .voip ? apps[app].voipToken ?? token : token, app: name, topic: name,
            pushType: send.pushType, environment: .production, apnsID: id, notification: id,
            priority: send.effectivePriority, collapseID: send.collapseID,
            expiration: expiration.map { sentAt + $0 }, neverStored: expiration == .zero,
            payload: context.payloads[item].document)
        awaited[id] = AwaitedPush(sentAt: sentAt, app: app, content: send.send)
        context.figures[app][send.send].sent += 1
        if let code = try submit(.receive(incoming), &context) {
            awaited[id] = nil
            context.figures[app][send.send].refused[code, default: 0] += 1
        }
    }

    // MARK: Faults

    mutating func beginFault(_ number: Int, _ context: inout PartitionContext) throws {
        let fault = faults[number]
        if fault.kind.lasts {
            activeFaults.insert(number)
            schedule(.endFault(number), after: fault.until - now)
        }
        switch fault.kind {
        case .crash(let app):
            guard lifecycle.state.apps[app]?.state.isRunning == true else { return }
            try submit(.transition(app: app, .crash), &context)
        case .memoryPressure(let pressure): try report(pressure, &context)
        case .reboot: try submit(.power(.off), &context)
        case .lostRadio: try reportNetwork(&context)
        case .clockSkew, .doubledPushes, .kill, .latePushes, .neverReturns: return
        }
    }

    mutating func endFault(_ number: Int, _ context: inout PartitionContext) throws {
        activeFaults.remove(number)
        switch faults[number].kind {
        case .memoryPressure: try report(.normal, &context)
        case .reboot: try submit(.power(.boot), &context)
        case .lostRadio: try reportNetwork(&context)
        case .clockSkew, .crash, .doubledPushes, .kill, .latePushes, .neverReturns: return
        }
    }

    private mutating func report(_ pressure: MemoryPressure, _ context: inout PartitionContext) throws {
        var report = ConditionsReport()
        report.memoryPressure = pressure
        try submit(.updateConditions(report), &context)
    }
}
