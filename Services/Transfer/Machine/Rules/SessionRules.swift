import Contracts
import Machines
import OrderedCollections
import Records

// Creates, attaches to and invalidates sessions.
extension Decision<TransferMachine> {
    mutating func openSession(
        _ key: SessionKey, _ configuration: SessionConfiguration
    ) throws(TransferRefusal) {
        try requireFeatures(of: configuration)
        try requireRunning(key.app)
        guard let session = state[key] else {
            guard state.sessions.count < policy.sessionsPerDevice else {
                throw .tooManySessions(limit: policy.sessionsPerDevice)
            }
            try requireRoom()
            return emit(.sessionCreated(.init(app: key.app, configuration: configuration, session: key.session)))
        }
        guard !session.isInvalidated else { throw .sessionInvalidated(key.session) }
        guard !session.isAttached || session.configuration != configuration else { return }
        if configuration.binary.count > session.configuration.binary.count { try requireRoom() }
        emit(.sessionAttached(.init(app: key.app, configuration: configuration, session: key.session)))
    }

    mutating func invalidateSession(_ key: SessionKey, cancels: Bool) throws(TransferRefusal) {
        try requireRunning(key.app)
        let session = try session(key)
        if cancels {
            for task in session.tasks where task.state != .completed {
                cancel(key.task(task.task), .cancelled)
            }
        }
        guard !session.isInvalidated else { return }
        emit(.sessionInvalidated(.init(app: key.app, cancels: cancels, session: key.session)))
    }

    /// Removes an invalidated session after its last callback.
    mutating func end(_ key: SessionKey) {
        guard let session = state[key], session.isInvalidated, !session.hasUnfinishedTasks,
            session.undelivered.isEmpty, session.finishing == nil
        else { return }
        emit(.sessionEnded(.init(app: key.app, session: key.session)))
    }

    func session(_ key: SessionKey) throws(TransferRefusal) -> BackgroundSession {
        guard let session = state[key] else { throw .unknownSession(key.session) }
        return session
    }

    /// Throws unless the app is installed and its code runs. Calls that represent code of the app need this.
    func requireRunning(_ app: String) throws(TransferRefusal) {
        guard let view = state.apps[app] else { throw .appNotInstalled(app) }
        guard view.state.isRunning else { throw .appNotRunning(view.state) }
    }
}
