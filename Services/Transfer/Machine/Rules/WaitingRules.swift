import Contracts
import Machines
import OrderedCollections
import Timeline

// Who may move, and the named reason of whoever may not.
extension Decision<TransferMachine> {
    /// Looks at all running tasks of a session anew, the one with the highest priority first.
    mutating func arrange(_ id: String) {
        guard let session = state.sessions[id] else { return }
        let running = session.tasks.filter { $0.state == .running }
        for task in running where task.attempt != nil {
            guard obstacle(task, session.configuration) != nil else { continue }
            endAttempt(TaskPlace(app: session.app, session: id, task: task.task), .conditionsLost)
        }
        let order = running.sorted { ($1.request.priority, $0.task) < ($0.request.priority, $1.task) }
        for task in order {
            let place = TaskPlace(app: session.app, session: id, task: task.task)
            guard let task = state.task(place), task.attempt == nil else { continue }
            guard let (reason, until) = waiting(task, id) else {
                schedule(place, task)
                continue
            }
            guard task.waiting != reason || task.waitsUntil != until else { continue }
            emit(
                .taskHeld(
                    .init(place) { event in
                        event.waiting = reason
                        event.until = until
                    }))
        }
    }

    private mutating func schedule(_ place: TaskPlace, _ task: TransferTask) {
        let from = ResumeRule.offset(task)
        emit(
            .attemptScheduled(
                .init(place) { event in
                    event.epoch = task.epoch + 1
                    event.from = from
                }))
    }

    /// Why a task may not move now; nil where it may. Time comes first, so that a moment that has come always changes
    /// something.
    private func waiting(_ task: TransferTask, _ id: String) -> (WaitingReason, until: Instant?)? {
        if let date = task.request.earliestBeginDate, date > now { return (.waitingForBeginDate, date) }
        if let date = task.delayedUntil, date > now { return (.rateLimited, date) }
        if let date = task.retryAt, date > now { return (.backingOff, date) }
        if task.challenge != nil { return (.waitingForAuthentication, nil) }
        guard let session = state.sessions[id] else { return nil }
        if let obstacle = obstacle(task, session.configuration) { return (obstacle, nil) }
        let host = WebOrigin(url: task.request.url)?.host
        let busy = session.tasks.count { $0.attempt != nil && WebOrigin(url: $0.request.url)?.host == host }
        return busy < session.configuration.httpMaximumConnectionsPerHost ? nil : (.queuedPerHost, nil)
    }

    /// What of the device keeps a task from moving. Background sessions never fail for it, they wait.
    private func obstacle(_ task: TransferTask, _ configuration: SessionConfiguration) -> WaitingReason? {
        let network = state.network
        guard state.isPoweredOn, network.kind != .none else { return .waitingForConnectivity }
        let isCellular = network.kind == .cellular
        if isCellular && !configuration.allowsCellularAccess { return .waitingForWiFi }
        if network.expensive && !configuration.allowsExpensiveNetworkAccess { return .waitingForWiFi }
        if network.constrained && !configuration.allowsConstrainedNetworkAccess { return .waitingForConnectivity }
        guard task.isDiscretionary else { return nil }
        if isCellular { return .waitingForWiFi }
        if state.isLowPowerMode { return .waitingForPower }
        return state.battery.charging || state.battery.level >= policy.fullEnough ? nil : .waitingForPower
    }
}
