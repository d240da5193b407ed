import Contracts
import Machines
import OrderedCollections
import Timeline

// Entry into the background, handlers in the background, and suspension.
extension Decision<LifecycleMachine> {
    /// Moves an app to the background, and suspends it at once if it has no work.
    mutating func enterBackground(_ app: String, _ cause: BackgroundCause) {
        let first = events.count
        leaveForeground(app, cause)
        settle(app)
        guard events.count > first + 1, case .appBackgrounded = events[first], case .appSuspended = events[first + 1]
        else { return }
        revise(first) { event in
            guard case .appBackgrounded(var backgrounded) = event else { return }
            backgrounded.suspends = true
            event = .appBackgrounded(backgrounded)
        }
    }

    /// Moves an app to the background. An app that exits on suspend is terminated instead (Apple,
    /// `UIApplicationExitsOnSuspend`), unless the deployment follows the source document (``DisputedRule/exitsOnSuspend``).
    ///
    /// - Parameter handlersReturn: whether `didEnterBackground` returns at once; by default as in the manifest.
    mutating func leaveForeground(
        _ app: String, _ cause: BackgroundCause, handlersReturn: HandlersReturn? = nil
    ) {
        guard let record = state.apps[app] else { return }
        let resigning: [Callback] = record.state == .active ? [resignActive(record)] : []
        if endsOnLeaving(record) {
            return end(app, .exitedOnSuspend, resigning: resigning)
        }
        let deadline =
            switch handlersReturn ?? record.manifest.handlersReturn {
            case .immediately: nil as Instant?
            case .reported: now + profile[.didEnterBackground]
            }
        emit(
            .appBackgrounded(
                .init(
                    app: app, callbacks: resigning + [enterBackground(record)], cause: cause, deadline: deadline,
                    taskTime: taskTime)))
    }

    /// Whether the app ends when it leaves the screen, because of its manifest or a device without multitasking.
    func endsOnLeaving(_ record: InstalledApp) -> Bool {
        record.manifest.exitsOnSuspend && !follows(.exitsOnSuspend) || state.registration?.multitasking == false
    }

    mutating func completeCallback(
        _ app: String, _ callback: Callback, _ completion: CallbackCompletion
    ) throws(LifecycleRefusal) {
        let record = try running(app)
        try requireSnapshots(for: completion.snapshotLabel)
        guard record.pendingCallbacks.contains(where: { $0.callback == callback }) else { throw .alreadyCompleted }
        emit(
            .callbackCompleted(.init(app: app, callback: callback, snapshotLabel: completion.snapshotLabel)))
        if callback == .didFinishLaunching, record.state == .inactive {
            emit(.appActivated(.init(app: app, callbacks: launchCallbacks(record))))
        }
        if let reason = record.ending { return terminate(app, reason) }
        settle(app)
    }

    /// Applies the rules of the background after each change: stops forbidden activities and gives expiration orders.
    /// Suspends an app without work, or kills it for a file lock.
    mutating func settle(_ app: String) {
        guard state.appState(app) == .background else { return }
        stopActivitiesNotAllowed(app)
        guard let record = state.apps[app] else { return }
        orderExpirations(app, record)
        guard !record.hasWork else { return }
        if record.holdsFileLock { return terminate(app, .fileLockHeld) }
        emit(.appSuspended(.init(app: app)))
        endTemporaryPermissions(app)
    }
}
