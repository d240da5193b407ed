import Contracts
import Machines
import OrderedCollections
import Records
import Timeline

// Wakes: the system lets an app run in the background, or says why not.
extension Decision<LifecycleMachine> {
    /// From suspension only the handler is called; without a process the app is launched first. A run under way goes on.
    ///
    /// - Parameters:
    ///   - request: what asks for it, by its id.
    ///   - payload: what the handler is given.
    mutating func wake(_ app: String, for reason: WakeReason, request: String, payload: JSON? = nil) {
        let record: InstalledApp
        let limit: Interval
        do throws(WakeRefused) { (record, limit) = try admit(app, reason) } catch {
            return emit(
                .wakeRefused(.init(app: app, reason: reason, refusal: error.refusal, request: request)))
        }
        rouse(.wake)
        let launching: [Callback] = record.state == .notRunning ? [.willFinishLaunching, .didFinishLaunching] : []
        emit(
            .appWoken(
                .init(
                    app: app, callbacks: launching + [reason.handler], deadline: now + limit, from: record.state,
                    limit: limit, payload: payload, reason: reason, request: request,
                    taskTime: record.state == .background ? nil : taskTime, wake: identifier())))
    }

    /// The first reason against it decides, from what the app and the device are to what the user chose.
    private func admit(_ app: String, _ reason: WakeReason) throws(WakeRefused) -> (InstalledApp, Interval) {
        func refuse(_ refusal: WakeRefusal, if holds: Bool) throws(WakeRefused) {
            if holds { throw WakeRefused(refusal: refusal) }
        }
        guard let record = state.apps[app] else { throw WakeRefused(refusal: .notInstalled) }
        guard let limit = profile.limit(of: reason) else { throw WakeRefused(refusal: .unsupportedOnProfile) }
        try refuse(.modeNotDeclared, if: reason.mode.map { !record.manifest.backgroundModes.contains($0) } ?? false)
        try refuse(.deviceOff, if: !state.isPoweredOn)
        try refuse(.inForeground, if: record.state.isForeground)
        try refuse(.terminating, if: record.ending != nil)
        try refuse(.forceQuit, if: record.forceQuit)
        try refuse(.backgroundRefreshRestricted, if: state.restrictions.backgroundRefresh)
        try refuse(.backgroundRefreshDenied, if: !state.isBackgroundRefreshOn(app))
        try refuse(.lowPowerMode, if: state.conditions.lowPowerMode == true && reason.isOpportunistic)
        try refuse(
            .memoryPressure,
            if: state.conditions.memoryPressure == .critical && record.state == .notRunning && reason.isOpportunistic)
        return (record, limit)
    }

    mutating func completeWake(
        _ app: String, _ wake: String, _ completion: WakeCompletion
    ) throws(LifecycleRefusal) {
        guard !(try installed(app).completedWakes.contains(wake)) else { throw .alreadyCompleted }
        guard let open = try running(app).wakes[wake] else { throw .unknownWake(wake) }
        guard completion.result != nil || !open.reason.needsResult else { throw .resultMissing(open.reason) }
        emit(
            .wakeCompleted(
                .init(
                    app: app, reason: open.reason, request: open.request,
                    result: open.reason.needsResult ? completion.result : nil,
                    snapshotLabel: completion.snapshot, wake: wake)))
        settle(app)
    }
}

private struct WakeRefused: Error {
    var refusal: WakeRefusal
}

// What the reasons differ in.
extension WakeReason {
    /// The method of the app delegate that is called.
    fileprivate var handler: Callback {
        switch self {
        case .fetch: .performFetch
        case .push: .didReceiveRemoteNotification
        case .transfer: .handleEventsForBackgroundURLSession
        }
    }

    /// The `UIBackgroundModes` that the app must declare; a background URL session needs none.
    fileprivate var mode: BackgroundMode? {
        switch self {
        case .fetch: .fetch
        case .push: .remoteNotification
        case .transfer: nil
        }
    }

    /// Whether it can as well happen later: then Low Power Mode and critical memory pressure put it off. A session whose
    /// transfers are done was put off long enough.
    fileprivate var isOpportunistic: Bool { self != .transfer }

    /// Whether its completion handler takes a `UIBackgroundFetchResult`.
    fileprivate var needsResult: Bool { self != .transfer }

    /// What it means to miss its limit.
    var timeout: EndReason {
        switch self {
        case .fetch: .fetchTimeout
        case .push: .pushTimeout
        case .transfer: .transferTimeout
        }
    }
}
