import Contracts
import Machines
import OrderedCollections
import Records

// Creates, attaches to and invalidates sessions.
extension Decision<TransferMachine> {
    mutating func openSession(
        _ app: String, _ id: String, _ configuration: SessionConfiguration
    ) throws(TransferRefusal) {
        try requireRunning(app)
        guard let session = state.sessions[id] else {
            guard state.sessions.count < policy.sessionsPerDevice else {
                throw .tooManySessions(limit: policy.sessionsPerDevice)
            }
            try requireRoom()
            return emit(.sessionCreated(.init(app: app, configuration: configuration, session: id)))
        }
        guard session.app == app else { throw .sessionInUse(id) }
        guard !session.isInvalidated else { throw .sessionInvalidated(id) }
        guard !session.isAttached || session.configuration != configuration else { return }
        if configuration.binary.count > session.configuration.binary.count { try requireRoom() }
        emit(.sessionAttached(.init(app: app, configuration: configuration, session: id)))
    }

    mutating func invalidateSession(_ app: String, _ id: String, cancels: Bool) throws(TransferRefusal) {
        try requireRunning(app)
        let session = try session(app, id)
        if cancels {
            for task in session.tasks where task.state != .completed {
                cancel(TaskKey(app: app, session: id, task: task.task), .cancelled)
            }
        }
        guard !session.isInvalidated else { return }
        emit(.sessionInvalidated(.init(app: app, cancels: cancels, session: id)))
    }

    /// Removes an invalidated session after its last callback.
    mutating func end(_ id: String) {
        guard let session = state.sessions[id], session.isInvalidated, !session.hasUnfinishedTasks,
            session.undelivered.isEmpty, session.finishing == nil
        else { return }
        emit(.sessionEnded(.init(app: session.app, session: id)))
    }

    func session(_ app: String, _ id: String) throws(TransferRefusal) -> BackgroundSession {
        guard let session = state.sessions[id], session.app == app else { throw .unknownSession(id) }
        return session
    }

    /// Throws unless the app is installed and its code runs. Calls that represent code of the app need this.
    func requireRunning(_ app: String) throws(TransferRefusal) {
        guard let view = state.apps[app] else { throw .appNotInstalled(app) }
        guard view.state.isRunning else { throw .appNotRunning(view.state) }
    }
}
