public import Contracts
import Machines
import OrderedCollections
import Timeline

// Wakes: the system lets an app run in the background, or says why not.
extension Decision<LifecycleMachine> {
    mutating func wakeForFetch(_ due: FetchEvent.RefreshDue) {
        let app = due.app ?? ""
        switch fetchHandlerLimit(app) {
        case .success(let limit): wake(app, .fetch, handler: .performFetch, request: due.fetch, limit: limit)
        case .failure(let refused):
            emit(.wakeRefused(.init(app: app, reason: .fetch, refusal: refused.refusal, request: due.fetch)))
        }
    }

    /// The first reason against it decides, from what the app and the device are to what the user chose.
    private func fetchHandlerLimit(_ app: String) -> Result<Interval, WakeRefused> {
        guard let record = state.apps[app] else { return .failure(.init(refusal: .notInstalled)) }
        guard let limit = profile.fetchHandler else { return .failure(.init(refusal: .unsupportedOnProfile)) }
        guard record.manifest.backgroundModes.contains(.fetch) else {
            return .failure(.init(refusal: .modeNotDeclared))
        }
        guard state.isPoweredOn else { return .failure(.init(refusal: .deviceOff)) }
        guard !record.state.isForeground else { return .failure(.init(refusal: .inForeground)) }
        guard !record.forceQuit else { return .failure(.init(refusal: .forceQuit)) }
        guard state.backgroundRefreshStatus(app) == .available else {
            return .failure(.init(refusal: .backgroundRefreshDenied))
        }
        guard state.conditions.lowPowerMode != true else { return .failure(.init(refusal: .lowPowerMode)) }
        return .success(limit)
    }

    /// From suspension only the handler is called; without a process the app is launched first. A run under way goes on.
    private mutating func wake(
        _ app: String, _ reason: WakeReason, handler: Callback, request: String, limit: Interval
    ) {
        guard let record = state.apps[app] else { return }
        let launching: [Callback] = record.state == .notRunning ? [.willFinishLaunching, .didFinishLaunching] : []
        emit(
            .appWoken(
                .init(
                    app: app, callbacks: launching + [handler], deadline: now + limit, from: record.state, limit: limit,
                    reason: reason, request: request,
                    taskTime: record.state == .background ? nil : profile.backgroundTasks, wake: identifier())))
    }

    mutating func completeWake(
        _ app: String, _ wake: String, _ completion: WakeCompletion
    ) throws(LifecycleRefusal) {
        guard !(try installed(app).completedWakes.contains(wake)) else { throw .alreadyCompleted }
        guard let open = try running(app).wakes[wake] else { throw .unknownWake(wake) }
        switch open.reason {
        case .fetch: guard completion.result != nil else { throw .resultMissing(open.reason) }
        }
        emit(
            .wakeCompleted(
                .init(
                    app: app, reason: open.reason, request: open.request, result: completion.result,
                    snapshotLabel: completion.snapshot, wake: wake)))
        settle(app)
    }
}

private struct WakeRefused: Error {
    var refusal: WakeRefusal
}

extension LifecycleMachine {
    /// `UIApplication.backgroundRefreshStatus`: the switches of the user, for the device and for the app.
    public func backgroundRefreshStatus(_ app: String) -> BackgroundRefreshStatus {
        backgroundRefresh == .on && apps[app]?.backgroundRefresh == .on ? .available : .denied
    }
}
