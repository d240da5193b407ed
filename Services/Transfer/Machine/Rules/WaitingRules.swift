public import Contracts
import Machines
import OrderedCollections
public import Records
public import Timeline

// Decides which tasks may move, and why the others wait.
extension Decision<TransferMachine> {
    /// Stops attempts that may no longer move and starts new ones, in the order of ``TransferTask/precedes(_:)``.
    mutating func arrange(_ key: SessionKey) {
        guard let session = state[key] else { return }
        let running = session.tasks.filter { $0.state == .running }
        for task in running where task.attempt != nil {
            guard obstacle(task, session.configuration) != nil else { continue }
            endAttempt(key.task(task.task), .conditionsLost)
        }
        for task in running.sorted(by: { $0.precedes($1) }) {
            let taskKey = key.task(task.task)
            guard let task = state.task(taskKey), task.attempt == nil else { continue }
            var hindrance = waiting(task, key)
            if hindrance == nil, mustAsk(about: task, session.configuration) {
                emit(.delayedRequestDue(.init(taskKey)))
                hindrance = state.task(taskKey).flatMap { waiting($0, key) }
            }
            guard let hindrance else {
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
        let uploadDraft = uploadDraft(of: task, in: taskKey.sessionKey)
        emit(
            .attemptScheduled(
                .init(taskKey) { event in
                    event.epoch = task.epoch &+ 1
                    event.from = from
                    event.uploadDraft = uploadDraft
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

extension TransferTask {
    /// Whether the task starts first. The order is by priority, then tasks that are not discretionary, then the
    /// expected bytes. Apple, "countOfBytesClientExpectsToReceive": the system uses the count to optimize the
    /// scheduling. The order by size is our choice.
    func precedes(_ other: TransferTask) -> Bool {
        (other.request.priority, schedulingSize, task) < (request.priority, other.schedulingSize, other.task)
    }

    /// The bytes that a discretionary task expects to send and receive; the largest number if it does not say.
    private var schedulingSize: Int {
        guard isDiscretionary else { return -1 }
        let counts = [request.countOfBytesClientExpectsToSend, request.countOfBytesClientExpectsToReceive]
        guard counts.contains(where: { $0 != nil }) else { return .max }
        return counts.reduce(0) { $0 + ($1 ?? 0).heldToBytes }
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
        if task.delayedRequest.isPending || task.redirect != nil { found.append(Hindrance(.waitingForDelegate)) }
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
