import Contracts
import Machines
import OrderedCollections

// What apps are told of finished tasks, and when they are woken for it (Apple, "Downloading files in the background" and
// `application(_:handleEventsForBackgroundURLSession:completionHandler:)`).
extension Decision<TransferMachine> {
    /// Requests the wake, or tells a delegate that can listen.
    mutating func tell(_ id: String) {
        guard let session = state.sessions[id], let app = state.apps[session.app], state.isPoweredOn else { return }
        if wantsWake(session, app) { return emit(.wakeRequested(.init(app: session.app, session: id))) }
        guard session.isAttached, app.state.isRunning, session.wake != .requested, !session.untold.isEmpty else {
            return
        }
        emit(
            .eventsDelivered(
                .init(
                    app: session.app, session: id, tasks: session.untold,
                    finishesEvents: session.wake == .begun && !session.hasUnfinishedTasks)))
    }

    /// Only the last task of a session to finish wakes its app, once. A force-quit app is not woken for anything.
    private func wantsWake(_ session: BackgroundSession, _ app: AppView) -> Bool {
        session.hasNews && session.wake == .none && session.configuration.sessionSendsLaunchEvents
            && app.state != .foreground && !app.forceQuit && !session.untold.isEmpty && !session.hasUnfinishedTasks
    }

    mutating func beginWake(_ event: LifecycleEvent.AppWoken) {
        guard event.reason == .transfer, let app = event.app, let id = event.request,
            let session = state.sessions[id], session.app == app, session.wake == .requested
        else { return }
        emit(.wakeBegun(.init(app: app, session: id, wake: event.wake, deadline: event.deadline)))
    }

    mutating func endWake(
        _ app: String?, _ request: String?, _ outcome: TransferWakeOutcome, _ refusal: WakeRefusal? = nil
    ) {
        guard let app, let id = request, let session = state.sessions[id], session.app == app, session.wake != .none
        else { return }
        emit(.wakeEnded(.init(app: app, session: id, outcome: outcome, refusal: refusal)))
    }
}
