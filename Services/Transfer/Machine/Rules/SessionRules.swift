import Contracts
import Machines
import OrderedCollections
import Records

// Creates, attaches to and invalidates sessions.
extension Decision<TransferMachine> {
    mutating func openSession(
        _ key: SessionKey, _ configuration: SessionConfiguration, by process: SessionProcess
    ) throws(TransferRefusal) {
        try requireFeatures(of: configuration)
        switch process {
        case .app: try requireRunning(key.app)
        case .appExtension: try requireExtension(of: key, configuration)
        }
        if let session = state[key], session.isAttached, session.process != process {
            throw .sessionInUse(key.session, by: session.process)
        }
        guard let session = state[key] else {
            guard state.sessions.count < policy.sessionsPerDevice else {
                throw .tooManySessions(limit: policy.sessionsPerDevice)
            }
            try requireRoom()
            return emit(
                .sessionCreated(
                    .init(app: key.app, configuration: configuration, process: process, session: key.session)))
        }
        guard !session.isInvalidated else { throw .sessionInvalidated(key.session) }
        guard !session.isAttached || session.configuration != configuration else { return }
        if configuration.binary.count > session.configuration.binary.count { try requireRoom() }
        emit(
            .sessionAttached(
                .init(app: key.app, configuration: configuration, process: process, session: key.session)))
    }

    /// Throws unless an app extension may create a session. It runs in the process of another app, so its own app need
    /// not run (Apple, `sharedContainerIdentifier`).
    private func requireExtension(
        of key: SessionKey, _ configuration: SessionConfiguration
    ) throws(TransferRefusal) {
        try require(.sharedContainers)
        guard state.apps[key.app] != nil else { throw .appNotInstalled(key.app) }
        guard state.isPoweredOn else { throw .appNotRunning(.notRunning) }
        guard configuration.sharedContainerIdentifier != nil else { throw .sharedContainerRequired(key.session) }
    }

    /// The app gets the remaining callbacks of the session of its extension.
    mutating func endExtension(_ key: SessionKey) throws(TransferRefusal) {
        guard state.apps[key.app] != nil else { throw .appNotInstalled(key.app) }
        guard try session(key).isOfExtension else { return }
        disconnectDataTasks(of: key)
        emit(.sessionDetached(.init(app: key.app, session: key.session)))
    }

    mutating func invalidateSession(_ key: SessionKey, cancels: Bool) throws(TransferRefusal) {
        try requireRunning(key)
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

    /// Throws unless the process that is connected to the session runs code.
    func requireRunning(_ key: SessionKey) throws(TransferRefusal) {
        guard state[key]?.isOfExtension != true else { return }
        try requireRunning(key.app)
    }

    /// Throws unless the app is installed and its code runs. Calls that represent code of the app need this.
    func requireRunning(_ app: String) throws(TransferRefusal) {
        guard let view = state.apps[app] else { throw .appNotInstalled(app) }
        guard view.state.isRunning else { throw .appNotRunning(view.state) }
    }
}
