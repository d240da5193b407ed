public import Contracts
import Machines
import OrderedCollections
public import Records
public import Timeline

// Decides which tasks may move, and why the others wait.
extension Decision<TransferMachine> {
    /// Stops attempts that may no longer move and starts new ones, the task with the highest priority first.
    mutating func arrange(_ key: SessionKey) {
        guard let session = state[key] else { return }
        let running = session.tasks.filter { $0.state == .running }
        for task in running where task.attempt != nil {
            guard obstacle(task, session.configuration) != nil else { continue }
            endAttempt(key.task(task.task), .conditionsLost)
        }
        let order = running.sorted { ($1.request.priority, $0.task) < ($0.request.priority, $1.task) }
        for task in order {
            let taskKey = key.task(task.task)
            guard let task = state.task(taskKey), task.attempt == nil else { continue }
            guard let hindrance = waiting(task, key) else {
                schedule(taskKey, task)
                continue
            }
            guard task.waiting != hindrance.reason || task.waitsUntil != hindrance.until else { continue }
            emit(
                .taskHeld(
                    .init(taskKey) { event in
                        event.waiting = hindrance.reason
                        event.until = hindrance.until
                    }))
        }
    }

    private mutating func schedule(_ taskKey: TaskKey, _ task: TransferTask) {
        let from = ResumeRule.offset(task)
        emit(
            .attemptScheduled(
                .init(taskKey) { event in
                    event.epoch = task.epoch &+ 1
                    event.from = from
                }))
    }

    /// Returns the first reason why a task waits, or nil. Reasons with an end time come first, so that a reached deadline
    /// always changes something.
    private func waiting(_ task: TransferTask, _ key: SessionKey) -> Hindrance? {
        state.hindrances(of: task, in: key, at: now, policy).first
    }

    private func obstacle(_ task: TransferTask, _ configuration: SessionConfiguration) -> WaitingReason? {
        state.obstacles(to: task, configuration, policy).first
    }
}

/// A reason why a running task waits.
public struct Hindrance: Record, Equatable {
    public var reason = WaitingReason.waitingForConnectivity
    /// The time at which the reason ends; nil if it does not depend on time.
    public var until: Nullable<Instant> = nil

    init(_ reason: WaitingReason, until: Instant? = nil) {
        self.reason = reason
        self.until = until
    }
}

extension TransferMachine {
    /// Returns all reasons why a task without an attempt waits, the decisive one first; empty if it may move.
    public func hindrances(
        of task: TransferTask, in key: SessionKey, at now: Instant, _ policy: TransferPolicy
    ) -> [Hindrance] {
        guard let session = self[key] else { return [] }
        var found: [Hindrance] = []
        for (reason, date) in [
            (WaitingReason.waitingForBeginDate, task.request.earliestBeginDate), (.rateLimited, task.delayedUntil),
            (.backingOff, task.retryAt),
        ] {
            if let date, date > now { found.append(Hindrance(reason, until: date)) }
        }
        if task.challenge != nil { found.append(Hindrance(.waitingForAuthentication)) }
        found += obstacles(to: task, session.configuration, policy).map { Hindrance($0) }
        let host = WebOrigin(url: task.request.url)?.host
        let busy = session.tasks.count {
            $0.attempt != nil && $0.task != task.task && WebOrigin(url: $0.request.url)?.host == host
        }
        if busy >= session.configuration.httpMaximumConnectionsPerHost { found.append(Hindrance(.queuedPerHost)) }
        return found
    }

    /// Returns the device conditions for which a task waits. Background tasks never fail because of them.
    func obstacles(
        to task: TransferTask, _ configuration: SessionConfiguration, _ policy: TransferPolicy
    ) -> [WaitingReason] {
        guard isPoweredOn, network.kind != .none else { return [.waitingForConnectivity] }
        var found: [WaitingReason] = []
        let isCellular = network.kind == .cellular
        if isCellular && (!configuration.allowsCellularAccess || task.isDiscretionary)
            || network.expensive && !configuration.allowsExpensiveNetworkAccess
        {
            found.append(.waitingForWiFi)
        }
        if network.constrained && !configuration.allowsConstrainedNetworkAccess {
            found.append(.waitingForConnectivity)
        }
        let hasPower = !isLowPowerMode && (battery.charging || battery.level >= policy.fullEnough)
        if task.isDiscretionary && !hasPower { found.append(.waitingForPower) }
        return found
    }
}
