public import Contracts
import Machines
import OrderedCollections
import Timeline

// Authentication challenges, which an app gets while its code runs (Apple, "Handling an authentication challenge").
extension Decision<TransferMachine> {
    mutating func challenge(_ claim: AttemptClaim, _ challenge: AuthenticationChallenge) throws(TransferRefusal) {
        _ = try claimed(claim)
        endAttempt(claim.taskKey, .authenticationRequired)
        let id = identifier()
        emit(
            .challengeReceived(
                .init(claim.taskKey) { event in
                    event.id = id
                    event.challenge = challenge
                }))
    }

    /// Presents the new challenges of a session to its app.
    mutating func present(_ key: SessionKey, _ session: BackgroundSession) {
        for task in session.tasks {
            guard let pending = task.challenge, pending.countdown == nil else { continue }
            emit(
                .challengePresented(
                    .init(key.task(task.task)) { event in
                        event.id = pending.id
                        event.challenge = pending.challenge
                        event.until = now + policy.challengeTime
                    }))
        }
    }

    mutating func answer(
        _ app: String, _ challenge: String, _ disposition: ChallengeDisposition, _ credential: String?
    ) throws(TransferRefusal) {
        if let session = state.task(asked: challenge, of: app)?.sessionKey {
            try requireRunning(session)
        } else {
            try requireRunning(app)
        }
        guard let taskKey = state.task(asked: challenge, of: app), let task = state.task(taskKey),
            let asked = task.challenge,
            let session = state[taskKey.sessionKey]
        else { throw .unknownChallenge(challenge) }
        settle(taskKey, asked, disposition, credential: credential)
        guard disposition == .useCredential else { return }
        // A credential belongs to the session, so it answers equal challenges of its other tasks too.
        for other in session.tasks where other.task != task.task {
            guard let pending = other.challenge, pending.challenge.isOfSameSpace(as: asked.challenge) else { continue }
            settle(taskKey.sessionKey.task(other.task), pending, disposition, credential: credential)
        }
    }

    mutating func expireChallenges() {
        for (key, session) in state.sessions {
            for task in session.tasks {
                guard let pending = task.challenge, let until = pending.countdown?.until, until <= now else { continue }
                settle(key.task(task.task), pending, .performDefaultHandling, timedOut: true)
            }
        }
    }

    private mutating func settle(
        _ taskKey: TaskKey, _ pending: PendingChallenge, _ disposition: ChallengeDisposition,
        credential: String? = nil, timedOut: Bool = false
    ) {
        emit(
            .challengeAnswered(
                .init(taskKey) { event in
                    event.id = pending.id
                    event.disposition = disposition
                    event.credential = disposition == .useCredential ? credential : nil
                    event.timedOut = timedOut
                }))
        let isTrust = pending.challenge.authenticationMethod == .serverTrust
        switch disposition {
        case .useCredential: break
        case .cancelAuthenticationChallenge: cancel(taskKey, .userCancelledAuthentication)
        // Default handling does not trust the server, and there is no other way to trust it.
        case .performDefaultHandling, .rejectProtectionSpace:
            if isTrust { complete(taskKey, .serverCertificateUntrusted) }
        }
    }
}

extension TransferMachine {
    /// Returns the task of an app that waits for the answer to a challenge.
    public func task(asked challenge: String, of app: String) -> TaskKey? {
        for (id, session) in apps[app]?.sessions ?? [:] {
            guard let task = session.tasks.first(where: { $0.challenge?.id == challenge }) else { continue }
            return TaskKey(app: app, session: id, task: task.task)
        }
        return nil
    }
}
