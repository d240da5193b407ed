import Contracts
import Machines
import OrderedCollections
import Records
import Timeline

// Wakes: the system runs an app in the background, or refuses with a reason.
extension Decision<LifecycleMachine> {
    /// Wakes an app or refuses. A suspended app only gets the callback; an app without a process is launched first. A
    /// continued processing task leaves an app on screen there.
    ///
    /// - Parameters:
    ///   - request: the id of the request.
    ///   - payload: the argument of the handler.
    ///   - handlers: the callbacks, if the kind does not determine them.
    ///   - expirationHandler: whether the app has an expiration handler.
    mutating func wake(
        _ app: String, for kind: WakeKind, request: String?, payload: JSON? = nil, handlers: [Callback]? = nil,
        expirationHandler: Bool = true
    ) {
        let blocker = state.factors(of: kind, for: app, at: now, policy).first(where: \.blocks)
        guard blocker == nil, let record = state.apps[app], let limit = profile.limit(of: kind) else {
            return refuse(app, kind, blocker?.refusal ?? .unsupportedOnProfile, request)
        }
        rouse(.wake)
        let isOnScreen = record.state.isForeground
        let launching: [Callback] = record.state == .notRunning ? [.willFinishLaunching, .didFinishLaunching] : []
        emit(
            .appWoken(
                .init(
                    app: app, callbacks: launching + (handlers ?? WakeRule(kind, profile).handler),
                    deadline: now + limit, expirationHandler: expirationHandler ? nil : false, from: record.state,
                    kind: kind.beyondReason, limit: limit,
                    mustReportCall: kind == .voipPush && !profile.has(.callReporting) ? false : nil, payload: payload,
                    reason: kind.reason, request: request, state: isOnScreen ? record.state : .background,
                    taskTime: !isOnScreen && isFresh(record) ? taskTime : nil,
                    wake: identifier())))
    }

    /// Whether an open wake of an app takes the next event of its kind. The event does not extend the wake (our choice).
    /// Many events in a short time would otherwise open many wakes.
    func takesEvents(_ app: String, of kind: WakeKind) -> Bool {
        state.apps[app]?.wakes.values.contains { $0.kind == kind } == true
            && !state.factors(of: kind, for: app, at: now, policy).contains(where: \.blocks)
    }

    /// Whether background tasks get their full time: at the start of a run, or if the time of the run is used up.
    private func isFresh(_ record: InstalledApp) -> Bool {
        record.state != .background || record.backgroundTimeRemaining(at: now) == .zero
    }

    /// Emits the refusal. An app that wakes its device for VoIP too often is killed.
    private mutating func refuse(_ app: String, _ kind: WakeKind, _ refusal: WakeRefusal, _ request: String?) {
        emit(
            .wakeRefused(
                .init(app: app, kind: kind.beyondReason, reason: kind.reason, refusal: refusal, request: request)))
        if refusal == .resumedTooOften, state.apps[app]?.state != .notRunning { terminate(app, .voipResumedTooOften) }
    }

    mutating func completeWake(
        _ app: String, _ wake: String, _ completion: WakeCompletion
    ) throws(LifecycleRefusal) {
        guard !(try installed(app).completedWakes.contains(wake)) else { throw .alreadyCompleted }
        let record = try running(app)
        try requireSnapshots(for: completion.snapshot)
        guard let open = record.wakes[wake] else { throw .unknownWake(wake) }
        let rule = WakeRule(open.kind, profile)
        switch rule.answer {
        case .result: guard completion.result != nil else { throw .resultMissing(open.kind.reason) }
        case .success: guard completion.success != nil else { throw .successMissing }
        case .pushResult: guard completion.pushResult != nil else { throw .pushResultMissing }
        case .nothing: break
        }
        emit(
            .wakeCompleted(
                .init(
                    app: app, bytesReceived: completion.bytesReceived, kind: open.kind.beyondReason,
                    pushResult: rule.answer == .pushResult ? completion.pushResult : nil, reason: open.kind.reason,
                    request: open.request,
                    result: rule.answer == .result ? completion.result : nil, snapshotLabel: completion.snapshot,
                    success: rule.answer == .success ? completion.success : nil, wake: wake)))
        if open.kind == .voipPush, open.deadline != nil, !open.callReported { return terminate(app, .voipWithoutCall) }
        settle(app)
    }

    /// Applies the limits of wakes that do not kill the app: ends expired wakes, and gives notices before the end.
    mutating func ageWakes(_ app: String, _ record: InstalledApp) {
        for (id, wake) in record.wakes {
            guard let deadline = wake.deadline else { continue }
            if deadline <= now, wake.callReported {
                // The app has reported the call of the push, so the wake is complete.
                emit(
                    .wakeCompleted(
                        .init(
                            app: app, kind: wake.kind.beyondReason, reason: wake.kind.reason, request: wake.request,
                            wake: id)))
            } else if deadline <= now, wake.kind.reason == .task, !wake.expirationHandler || record.state.isForeground {
                failTask(app, id, wake)
            } else if deadline <= now, wake.timeout == nil {
                emit(.wakeExpired(.init(app: app, request: wake.request, wake: id)))
            } else if let due = wake.noticeDue, due <= now {
                emit(.wakeExpiring(.init(app: app, deadline: deadline, request: wake.request, wake: id)))
            }
        }
    }

    /// Ends a task for the scheduler: calls its expiration handler at once. It ignores wakes that are already expiring.
    /// On screen it ends continued processing tasks only.
    mutating func stopTask(_ app: String, _ request: String) {
        for (id, wake) in state.apps[app]?.wakes ?? [:] where wake.kind.reason == .task && wake.request == request {
            guard wake.deadline != nil || wake.kind == .continuedProcessingTask, !wake.isExpiring else { continue }
            guard wake.expirationHandler else {
                failTask(app, id, wake)
                continue
            }
            let notice = now + LifecyclePolicy.expirationNotice
            let end = wake.deadline.map { min($0, notice) } ?? notice
            emit(.wakeExpiring(.init(app: app, deadline: end, request: request, wake: id)))
        }
        settle(app)
    }

    /// Completes a task without an expiration handler (Apple, `BGTask.expirationHandler`: the system marks the task as
    /// complete and unsuccessful).
    private mutating func failTask(_ app: String, _ id: String, _ wake: Wake) {
        emit(
            .wakeCompleted(
                .init(
                    app: app, kind: wake.kind.beyondReason, reason: wake.kind.reason, request: wake.request,
                    success: false, wake: id)))
    }

    /// Launches a VoIP app after a boot or its death to reopen its socket (Apple, "Tips for developing a VoIP app").
    mutating func reopenSocket(_ app: String) {
        // A device that is too hot does not start the app again at once.
        guard profile.has(.voipSockets), state.conditions.thermal != .critical,
            state.apps[app]?.manifest.backgroundModes.contains(.voip) == true
        else { return }
        wake(app, for: .voipSocket, request: nil)
    }
}

extension Wake {
    /// The time of the notice before the deadline; nil without a notice, or after it.
    var noticeDue: Instant? {
        guard let deadline, expirationHandler, !isExpiring, kind.reason == .task else { return nil }
        return deadline - LifecyclePolicy.expirationNotice
    }
}
