public import Contracts
import LifecycleCore
import PushCore
import Records
import Reports
public import Scenarios
public import Timeline

/// The report of a scenario in a running suite, from the events of its log: the same figures as those of a simulation.
public struct LogReport {
    private let plan: ScenarioPlan
    private var context: PartitionContext
    private var devices: [DeviceSimulation]
    private let indexes: [String: Int]
    private var events = 0

    /// - Parameter names: the identifiers of the devices in the suite, by index.
    public init(_ plan: ScenarioPlan, names: [String]) {
        self.plan = plan
        let shared = SharedPlan(plan, .standard)
        context = shared.context(of: 0)
        devices = names.indices.map { DeviceSimulation($0, plan, shared.policies, checks: false) }
        indexes = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, $0) })
    }

    // MARK: The provider

    /// Adds a push that the push service has accepted. Call it before ``add(_:)`` gets the events of the push.
    ///
    /// - Parameters:
    ///   - item: the index in ``Provider/sends``.
    ///   - isCopy: whether a fault added it. It is not counted as sent.
    public mutating func addAccepted(
        _ notification: String, to device: Int, item: Int, at sentAt: Instant, isCopy: Bool
    ) {
        let send = plan.scenario.provider.sends[item]
        let app = app(of: send)
        guard !isCopy else {
            context.figures[app][send.send].doubled += 1
            return
        }
        context.figures[app][send.send].sent += 1
        var push = AwaitedPush(sentAt: sentAt, app: app, content: send.send)
        push.isReceived = true
        devices[device].awaited[notification] = push
        devices[device].trails.begin(notification)
    }

    /// Adds a push that the push service has refused.
    public mutating func addRefused(_ reason: String, item: Int, isCopy: Bool) {
        let send = plan.scenario.provider.sends[item]
        guard !isCopy else { return }
        context.figures[app(of: send)][send.send].sent += 1
        context.figures[app(of: send)][send.send].refused[reason, default: 0] += 1
    }

    /// Adds a push that the provider could not send without a device token.
    public mutating func addWithoutToken(item: Int) {
        let send = plan.scenario.provider.sends[item]
        context.figures[app(of: send)][send.send].withoutToken += 1
    }

    private func app(of send: Send) -> Int { send.app.flatMap { context.appIndexes[$0] } ?? 0 }

    // MARK: The devices

    /// Adds bytes that handlers loaded.
    public mutating func addBytes(_ bytes: Int, in network: NetworkText) {
        context.figures.addBytes(bytes, in: network.network)
    }

    /// Adds calls of devices that a service refused, by code.
    public mutating func addRefusedCalls(_ calls: [String: Int]) {
        context.figures.refusedCalls.merge(calls, uniquingKeysWith: +)
    }

    /// Adds an event of the log. The events of each device come in the order of the log.
    ///
    /// - Throws: an error if the event has another form than this version knows.
    public mutating func add(_ event: Event) throws {
        guard let index = event.key.device.flatMap({ indexes[$0] }), event.time < plan.end else { return }
        events += 1
        try devices[index].replay(event, &context)
    }

    /// Returns the report of the time until an instant.
    ///
    /// - Parameter endReason: why the run ended early, as a sentence.
    public func report(until end: Instant, endReason: String? = nil) -> SimulationReport {
        var (context, devices) = (context, devices)
        let end = max(end, plan.begin)
        for index in devices.indices { devices[index].finish(at: end, &context) }
        var report = SimulationReport(
            plan, until: end, endReason: endReason, events: events, digest: "", context.figures, violations: [],
            .standard)
        report.origin = .run
        // `fleet` kills services in a suite.
        report.ignoredFaults.removeAll { $0 == "kill" }
        return report
    }
}

extension DeviceSimulation {
    /// Applies a logged event to the state of its machine, and counts it.
    mutating func replay(_ event: Event, _ context: inout PartitionContext) throws {
        now = max(now, event.time)
        let own: MachineEvent
        switch event.source {
        case "lifecycle": own = try lifecycle.replay(event)
        case "fetch": own = try fetch.replay(event)
        case "push": own = try push.replay(event)
        case "transfer": own = try transfer.replay(event)
        default: return
        }
        if context.plan.scenario.provider == .external, case .push(let push) = own {
            countExternal(push.family, at: event.time, &context)
        }
        trails.note(event, own)
        observe(own, event.app.flatMap { context.appIndexes[$0] }, at: event.time, &context)
    }

    /// Counts a push that another system sent, when the push service accepts or refuses it.
    private mutating func countExternal(_ event: PushEvent, at time: Instant, _ context: inout PartitionContext) {
        switch event {
        case .notificationReceived(let received):
            guard let app = received.app.flatMap({ context.appIndexes[$0] }),
                let content = Send.Content(received.pushType, isSilent: received.silent, payload: received.payload)
            else { return }
            context.figures[app][content].sent += 1
            var push = AwaitedPush(sentAt: time, app: app, content: content)
            push.isReceived = true
            awaited[received.notification] = push
            trails.begin(received.notification)
        case .notificationRefused(let refused):
            guard let app = refused.app.flatMap({ context.appIndexes[$0] }),
                let content = Send.Content(refused.pushType, isSilent: refused.silent, payload: [:])
            else { return }
            context.figures[app][content].sent += 1
            context.figures[app][content].refused[refused.status.rawValue, default: 0] += 1
        default: return
        }
    }
}
