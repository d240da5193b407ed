import Contracts
import FetchCore
import Foundation
import LifecycleCore
import Machines
import OrderedCollections
import PushCore
import Records
import Scenarios
import Timeline

/// A wake of an app that has not ended.
struct CheckedWake: Record, Equatable {
    var app = ""
    var deadline = Instant.epoch
}

/// What the checks of a device know from its events. It is independent of the states of the machines.
struct DeviceCheck: Record, Equatable {
    /// The last answered requests for wakes.
    var answered: [String] = []
    /// The channel of each notification that has not ended; empty for those to device tokens.
    var channels: OrderedDictionary<String, String> = [:]
    /// The notifications that have ended.
    var ended: OrderedDictionary<String, Instant> = [:]
    /// The apps that the person forced to quit.
    var forceQuit: OrderedDictionary<String, Instant> = [:]
    var isConnected = false
    var isOff = false
    var last = Instant.epoch
    var refreshing: OrderedDictionary<String, String> = [:]
    /// The ends of the last refreshes.
    var refreshed: OrderedDictionary<String, Instant> = [:]
    /// The requests for wakes that have no answer.
    var requests: OrderedDictionary<String, Instant> = [:]
    var states: OrderedDictionary<String, AppState> = [:]
    /// The stored notifications of each app and channel.
    var stored: OrderedDictionary<String, String> = [:]
    /// The deadlines of transfers that have begun and not ended.
    var transferDeadlines: OrderedDictionary<String, Instant> = [:]
    var transfersEnded: OrderedDictionary<String, Instant> = [:]
    var wakes: OrderedDictionary<String, CheckedWake> = [:]

    /// The kinds of wakes that a force quit does not end. A response to a notification also comes, because the person
    /// gives it (`UIApplication.backgroundRefreshStatus`, "Handling location updates", `BGProcessingTask`: our reading).
    private static let wakesAfterForceQuit: Set<WakeKind> = [
        .monitor, .processingTask, .region, .significantChange, .visit, .voipPush,
    ]
    private static let mostAnswered = 32

    /// Notes an event.
    ///
    /// - Parameters:
    ///   - id: the identifier of the event.
    ///   - causation: the identifier of the event that caused it.
    ///   - hold: gets each rule, and whether it holds.
    mutating func note(
        _ event: MachineEvent, id: UUID, causation: UUID?, at time: Instant, _ policies: Policies,
        _ hold: (Bool, CheckedRule) -> Void
    ) {
        hold(time >= last, .timeGoesForward)
        last = max(last, time)
        switch event {
        case .lifecycle(let own): note(own.family, causation, at: time, hold)
        case .fetch(let own): note(own.family, id, at: time, policies.fetch, hold)
        case .push(let own): note(own.family, id, at: time, policies.push, hold)
        case .transfer(let own): note(own.family, id, at: time, hold)
        }
    }

    /// Checks what must be over.
    mutating func finish(at end: Instant, _ hold: (Bool, CheckedRule) -> Void) {
        hold(requests.values.allSatisfy { $0 >= end }, .oneAnswerToWake)
        hold(transferDeadlines.values.allSatisfy { $0 >= end }, .transferEnds)
        hold(wakes.values.allSatisfy { $0.deadline >= end || isOnScreen($0.app) }, .wakeEnds)
    }

    private func state(of app: String) -> AppState { states[app] ?? .notRunning }

    private func isOnScreen(_ app: String) -> Bool { state(of: app).isForeground }

    // MARK: lifecycle

    private mutating func note(
        _ event: LifecycleEvent, _ causation: UUID?, at time: Instant, _ hold: (Bool, CheckedRule) -> Void
    ) {
        switch event {
        case .appPrewarmed(let event): hold(state(of: event.app ?? "") == .notRunning, .followsFromState)
        case .appLaunched(let event): enter(event.app ?? "", event.state, from: [.notRunning], at: time, hold)
        case .appActivated(let event):
            enter(event.app ?? "", event.state, from: [.background, .inactive, .suspended], at: time, hold)
        case .appResigned(let event): enter(event.app ?? "", event.state, from: [.active], at: time, hold)
        case .appBackgrounded(let event):
            enter(event.app ?? "", event.state, from: [.active, .inactive], at: time, hold)
        case .appSuspended(let event): enter(event.app ?? "", event.state, from: [.background], at: time, hold)
        case .appTerminating(let event):
            enter(event.app ?? "", event.state, from: [.active, .background, .inactive], at: time, hold)
        case .appWoken(let event):
            let app = event.app ?? ""
            let isAllowed = event.kind.map(Self.wakesAfterForceQuit.contains) ?? false
            hold(
                forceQuit[app] == nil || isAllowed || event.reason == .notificationResponse, .wakeAfterForceQuit)
            enter(app, event.state, from: [event.from], at: time, hold)
            wakes[event.wake] = CheckedWake(app: app, deadline: event.deadline)
            answer(causation, hold)
        case .wakeRefused: answer(causation, hold)
        case .wakeExpiring(let event): wakes[event.wake]?.deadline = event.deadline
        case .wakeProgressed(let event):
            if let deadline = event.deadline { wakes[event.wake]?.deadline = deadline }
        case .wakeCompleted(let event): end(wake: event.wake, at: time, hold)
        case .wakeExpired(let event): end(wake: event.wake, at: time, hold)
        case .appTerminated(let event):
            let app = event.app ?? ""
            hold(event.from == state(of: app), .followsFromState)
            states[app] = event.state
            wakes.removeAll { $0.value.app == app }
            if event.reason == .forceQuit { forceQuit[app] = time }
        case .appUninstalled(let event):
            let app = event.app ?? ""
            (states[app], forceQuit[app]) = (nil, nil)
            wakes.removeAll { $0.value.app == app }
        case .devicePowered(let event):
            isOff = event.power == .off
            if isOff { hold(states.values.allSatisfy { $0 == .notRunning }, .runsWhileOn) } else { forceQuit = [:] }
        case .deviceDeregistered: self = DeviceCheck(after: time)
        default: return
        }
    }

    private init(after time: Instant) {
        self.init()
        last = time
    }

    private mutating func enter(
        _ app: String, _ state: AppState, from: Set<AppState>, at time: Instant, _ hold: (Bool, CheckedRule) -> Void
    ) {
        hold(from.contains(self.state(of: app)), .followsFromState)
        hold(!isOff, .runsWhileOn)
        states[app] = state
        guard state.isForeground else { return }
        forceQuit[app] = nil
        hold(states.values.count { $0.isForeground } <= 1, .oneAppOnScreen)
    }

    private mutating func end(wake: String, at time: Instant, _ hold: (Bool, CheckedRule) -> Void) {
        guard let wake = wakes.removeValue(forKey: wake) else { return }
        hold(time <= wake.deadline || isOnScreen(wake.app), .wakeEnds)
    }

    private mutating func answer(_ request: UUID?, _ hold: (Bool, CheckedRule) -> Void) {
        guard let request = request?.lowercased else { return }
        hold(!answered.contains(request), .oneAnswerToWake)
        guard requests.removeValue(forKey: request) != nil else { return }
        answered.append(request)
        if answered.count > Self.mostAnswered { answered.removeFirst() }
    }

    // MARK: fetch

    private mutating func note(
        _ event: FetchEvent, _ id: UUID, at time: Instant, _ policy: FetchPolicy, _ hold: (Bool, CheckedRule) -> Void
    ) {
        switch event {
        case .refreshDue(let event):
            let app = event.app ?? ""
            hold(refreshing.updateValue(event.fetch, forKey: app) == nil, .oneRefresh)
            requests[id.lowercased] = time
            guard !event.simulated, let last = refreshed[app] else { return }
            hold(time >= last + policy.floor, .refreshFloor)
        case .refreshRecorded(let event):
            let app = event.app ?? ""
            hold(refreshing.removeValue(forKey: app) == event.fetch, .oneRefresh)
            refreshed[app] = time
        case .appRemoved(let event): refreshed[event.app ?? ""] = nil
        default: return
        }
    }

    // MARK: push

    private mutating func note(
        _ event: PushEvent, _ id: UUID, at time: Instant, _ policy: PushPolicy, _ hold: (Bool, CheckedRule) -> Void
    ) {
        switch event {
        case .deviceConnected: isConnected = true
        case .deviceDisconnected: isConnected = false
        case .wakeRequested: requests[id.lowercased] = time
        case .notificationReceived(let event): channels[event.notification] = event.channel ?? ""
        case .notificationStored(let event):
            let place = "\(event.app ?? "") \(channels[event.notification] ?? "")"
            let former = stored.updateValue(event.notification, forKey: place)
            hold(former == nil || former == event.notification, .oneStoredPush)
            return
        case .notificationDelivered(let event):
            hold(!isOff, .deliveredWhileOn)
            hold(isConnected, .deliveredWhileConnected)
            hold(ended[event.notification] == nil, .endsOnce)
        case .notificationPresented(let event): hold(ended[event.notification] == nil, .endsOnce)
        case .notificationDiscarded(let event): end(event.notification, at: time, hold)
        case .notificationReplaced(let event): end(event.notification, at: time, hold)
        case .notificationOpened(let event):
            hold(!isOff, .openedWhileOn)
            end(event.notification, at: time, hold)
        case .budgetChanged(let event):
            hold(event.spentToday <= policy.silentDaily, .dailyBudget)
            hold(event.fullAt - time <= policy.silentRefill * policy.silentBurst, .burstBudget)
        default: break
        }
        if let status = event.status { stored.removeAll { $0.value == status.notification } }
    }

    private mutating func end(_ id: String, at time: Instant, _ hold: (Bool, CheckedRule) -> Void) {
        hold(ended.updateValue(time, forKey: id) == nil, .endsOnce)
        channels[id] = nil
    }

    // MARK: transfer

    private mutating func note(
        _ event: TransferEvent, _ id: UUID, at time: Instant, _ hold: (Bool, CheckedRule) -> Void
    ) {
        switch event {
        case .wakeRequested: requests[id.lowercased] = time
        case .taskCreated(let event): transfersEnded[Self.name(event.taskKey)] = nil
        case .taskResumed(let event): transferDeadlines[Self.name(event.taskKey)] = event.deadline
        case .taskSuspended(let event): transferDeadlines[Self.name(event.taskKey)] = nil
        case .taskCompleted(let event):
            let name = Self.name(event.taskKey)
            hold(transfersEnded.updateValue(time, forKey: name) == nil, .transferEndsOnce)
            if let deadline = transferDeadlines.removeValue(forKey: name) { hold(time <= deadline, .transferEnds) }
        case .appRemoved(let event):
            let app = event.app ?? ""
            transferDeadlines.removeAll { $0.key.hasPrefix(app + "/") }
            transfersEnded.removeAll { $0.key.hasPrefix(app + "/") }
        default: return
        }
    }

    private static func name(_ key: TaskKey) -> String { "\(key.app)/\(key.session)/\(key.task)" }
}

// Invariants, checked after every event.
extension DeviceSimulation {
    /// Adds the event to the folds, and checks the rules.
    mutating func examine(_ event: Event, _ own: MachineEvent, _ context: inout PartitionContext) throws {
        var violated: [CheckedRule] = []
        check?.note(own, id: event.id, causation: event.causation, at: event.time, context.policies) {
            if !$0 { violated.append($1) }
        }
        for rule in violated { context.violations.append(Violation(device: device.name, at: event.time, rule: rule)) }
        switch own {
        case .lifecycle: try lifecycle.fold(event)
        case .fetch: try fetch.fold(event)
        case .push: try push.fold(event)
        case .transfer: try transfer.fold(event)
        }
    }

    /// Checks the rules about the end of the simulated time.
    mutating func examineEnd(at end: Instant, _ context: inout PartitionContext) {
        guard check != nil else { return }
        var violated: [CheckedRule] = equalsFold ? [] : [.equalsFold]
        check?.finish(at: end) { if !$0 { violated.append($1) } }
        for rule in violated { context.violations.append(Violation(device: device.name, at: end, rule: rule)) }
    }

    /// Whether the state of each machine equals the fold of its events.
    private var equalsFold: Bool {
        lifecycle.equalsFold && fetch.equalsFold && push.equalsFold && transfer.equalsFold
    }
}
