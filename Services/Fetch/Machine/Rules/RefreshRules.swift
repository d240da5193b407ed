import Contracts
import Machines
import OrderedCollections
import Timeline

// Schedules refreshes, makes them due and gives them up.
extension Decision<FetchMachine> {
    /// Sets the interval. The app's code does it, so the app must run. Apps repeat this at every launch, so the same
    /// interval changes nothing.
    mutating func setInterval(_ app: String, _ interval: FetchInterval) throws(FetchRefusal) {
        try require(.backgroundFetch)
        guard try running(app).interval != interval else { return }
        emit(.intervalSet(.init(app: app, interval: interval)))
    }

    /// Starts a refresh without interval or score. It refuses at once what `lifecycle` would refuse.
    mutating func simulateFetch(_ app: String) throws(FetchRefusal) {
        let record = try installed(app)
        try require(.backgroundFetch)
        guard record.declaresFetch else { throw .modeNotDeclared }
        guard record.fetches(on: policy.profile(of: state)) else { throw .fetchDisabled }
        guard state.isPoweredOn else { throw .deviceOff }
        guard !record.inForeground else { throw .inForeground }
        guard !record.forceQuit else { throw .forceQuit }
        if let refusal = state.refreshRefusal(of: record) { throw refusal }
        if let running = record.running { throw .fetchRunning(running.fetch) }
        due(app, simulated: true)
    }

    /// Starts the refreshes whose time has come and gives up unanswered ones.
    mutating func enforceDeadlines() {
        // The loop holds no copy of the apps, because that makes changes more expensive.
        for (index, name) in state.apps.keys.enumerated() {
            if let running = state.known[index].running, running.answerBy <= now {
                record(name, running.startedAt == nil ? .refused : .timedOut, refusal: "unanswered")
            } else if let at = state.known[index].wait?.at, at <= now {
                due(name, simulated: false)
            }
        }
    }

    /// Plans the next refresh of each app. If the best time has not changed, its reservation stays and no event follows.
    mutating func schedule(_ names: [String]) {
        for (name, wait, plan) in plans(of: names) {
            var event = FetchEvent.RefreshScheduled()
            event.app = name
            if let plan {
                event.earliest = plan.earliest
                event.fundedAt = plan.fundedAt
                event.blockers = plan.blockers
                if let aim = plan.aim {
                    let start = max(now, plan.start)
                    // For the same best time the former reservation is still good.
                    let held = wait?.best == aim ? wait?.at.flatMap { $0 >= start ? $0 : nil } : nil
                    let at = held ?? place(aim, from: start, of: name)
                    event.at = at
                    event.aim = at == aim ? nil : aim
                    event.ceiling = held == nil ? slots.ceiling : wait?.ceiling
                }
            }
            emit(.refreshScheduled(event))
        }
    }

    /// Returns the new plans of apps that differ from their waits. No plan depends on another one.
    private func plans(of names: [String]) -> [(app: String, wait: Wait?, plan: Plan?)] {
        let device = state
        return names.compactMap { name in
            guard let app = device.apps[name], app.running == nil else { return nil }
            let plan = Evaluation(device: device, app: app, policy: policy).plan(key, now: now)
            return isKept(app.wait, plan) ? nil : (name, app.wait, plan)
        }
    }

    private func isKept(_ wait: Wait?, _ plan: Plan?) -> Bool {
        guard let wait, let plan else { return wait == nil && plan == nil }
        return wait.best == plan.aim && wait.blockers == plan.blockers && wait.earliest == plan.earliest
            && wait.fundedAt == plan.fundedAt
    }

    func evaluation(_ app: ScheduledApp) -> Evaluation {
        Evaluation(device: state, app: app, policy: policy)
    }

    private mutating func due(_ app: String, simulated: Bool) {
        emit(
            .refreshDue(
                .init(answerBy: now + policy.answerLimit, app: app, fetch: identifier(), simulated: simulated)))
    }

    /// Ends the refresh of an app.
    ///
    /// - Parameter bytesReceived: The bytes that its handler loaded, as the device reports.
    mutating func record(_ app: String, _ result: FetchResult, refusal: String? = nil, bytesReceived: Int? = nil) {
        guard let running = state.apps[app]?.running else { return }
        let elapsed = running.startedAt.map { now - $0 }
        let spent = elapsed.map { charge($0, bytesReceived) }
        emit(
            .refreshRecorded(
                .init(
                    app: app, bytesReceived: bytesReceived, completedAt: now, day: spent?.day, dueAt: running.dueAt,
                    elapsedSeconds: elapsed, fetch: running.fetch, millijoules: spent?.millijoules ?? 0,
                    refusal: result == .refused ? refusal : nil, result: result, simulated: running.simulated,
                    startedAt: running.startedAt)))
    }

    /// Returns the energy of a refresh that ends now, and the day to charge; nil if it spends nothing.
    func charge(_ elapsed: Interval, _ bytesReceived: Int?) -> (millijoules: Int, day: Instant?) {
        let bytes = bytesReceived ?? 0
        let millijoules = policy.cost(
            elapsed: elapsed, limit: policy.profile(of: state)?[.fetchHandler] ?? elapsed, bytes: bytes,
            state.conditions)
        return (millijoules, millijoules > 0 || bytes > 0 ? state.day(of: now, policy) : nil)
    }
}
