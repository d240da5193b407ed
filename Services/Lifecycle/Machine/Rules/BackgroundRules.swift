import Contracts
import Machines
import OrderedCollections
import Timeline

// Entering the background, the handlers that must return there, and suspension.
extension Decision<LifecycleMachine> {
    /// Leaves the foreground, and is suspended at once where nothing is left to do.
    mutating func enterBackground(_ app: String, _ cause: BackgroundCause) {
        leaveForeground(app, cause)
        settle(app)
    }

    /// An app that exits on suspend is terminated instead, after Apple's reading of `UIApplicationExitsOnSuspend`; the
    /// source documents say "suspended".
    ///
    /// - Parameter handlersReturn: how `didEnterBackground` ends; as the manifest says where it is left out.
    mutating func leaveForeground(
        _ app: String, _ cause: BackgroundCause, handlersReturn: HandlersReturn? = nil
    ) {
        guard let record = state.apps[app] else { return }
        let resigning: [Callback] = record.state == .active ? [.willResignActive] : []
        if endsOnLeaving(record) {
            return end(app, .exitedOnSuspend, resigning: resigning)
        }
        let deadline =
            switch handlersReturn ?? record.manifest.handlersReturn {
            case .immediately: nil as Instant?
            case .reported: now + profile.didEnterBackground
            }
        emit(
            .appBackgrounded(
                .init(
                    app: app, cause: cause, callbacks: resigning + [.didEnterBackground], deadline: deadline,
                    taskTime: taskTime)))
    }

    /// Whether leaving the screen ends the app: its manifest or the device says so.
    func endsOnLeaving(_ record: InstalledApp) -> Bool {
        record.manifest.exitsOnSuspend || state.registration?.multitasking == false
    }

    mutating func completeCallback(
        _ app: String, _ callback: Callback, _ completion: CallbackCompletion
    ) throws(LifecycleRefusal) {
        let record = try running(app)
        guard record.pendingCallbacks.contains(where: { $0.callback == callback }) else { throw .alreadyCompleted }
        emit(
            .callbackCompleted(.init(app: app, callback: callback, snapshotLabel: completion.snapshotLabel)))
        if callback == .didFinishLaunching, record.state == .inactive {
            emit(.appActivated(.init(app: app, callbacks: [.didBecomeActive])))
        }
        if let reason = record.ending { return terminate(app, reason) }
        settle(app)
    }

    /// What follows in the background from everything else: activities that may not go on there end, expiration orders are
    /// given, and once no work is left the app is suspended, or dies of what it holds then.
    mutating func settle(_ app: String) {
        guard state.apps[app]?.state == .background else { return }
        stopActivitiesNotAllowed(app)
        guard let record = state.apps[app] else { return }
        orderExpirations(app, record)
        guard !record.hasWork else { return }
        if record.holdsFileLock { return terminate(app, .fileLockHeld) }
        emit(.appSuspended(.init(app: app)))
    }
}
