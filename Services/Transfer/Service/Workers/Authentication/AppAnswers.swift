import Contracts
import Machines
import TransferCore

/// A store of the secrets of apps, which are neither in the log nor in the state of the machine.
protocol CredentialSource: Sendable {
    /// Returns the credential that an app gave for a challenge; nil if it was removed.
    func credential(_ challenge: String, of device: AggregateKey) async throws -> Credential?
    /// Returns the secret header fields of a request; nil if they were removed.
    func headers(_ id: String, of device: AggregateKey) async throws -> SecretHeaders?
}

extension TransferStore: CredentialSource {
    /// Retries until the database answers.
    func credential(_ challenge: String, of device: AggregateKey) async throws -> Credential? {
        try await untilAnswered { try await storedCredential(device, challenge).flatMap { Credential($0) } }
    }

    /// Retries until the database answers.
    func headers(_ id: String, of device: AggregateKey) async throws -> SecretHeaders? {
        try await untilAnswered { try await storedHeaders(device, id) }
    }

    private func untilAnswered<Answer>(_ query: () async throws -> Answer) async throws -> Answer {
        while true {
            do { return try await query() } catch { try await Task.sleep(for: .seconds(1)) }
        }
    }
}

extension Credential {
    init?(_ document: CredentialDocument) {
        if let user = document.user {
            self = .password(user: user, password: document.password ?? "")
        } else if document.fingerprint != nil {
            self = .serverTrust
        } else {
            return nil
        }
    }
}

/// An app's answers to the challenges of a task and its session.
struct AppAnswers: Sendable {
    let order: AttemptAssignment
    let device: AggregateKey
    let source: any CredentialSource

    func decide(_ challenge: AuthenticationChallenge) async throws -> ChallengeDecision {
        if let declined = order.task.declined.first(where: { $0.challenge.isOfSameSpace(as: challenge) }) {
            return declined.disposition == .rejectProtectionSpace ? .reject : .acceptAnswer
        }
        guard challenge.previousFailureCount == 0, let held = held(challenge),
            let credential = try await source.credential(held.id, of: device)
        else { return .ask }
        return .use(credential)
    }

    /// Returns the challenge for the app, with the failures of former attempts in its count.
    func counted(_ challenge: AuthenticationChallenge) -> AuthenticationChallenge {
        var challenge = challenge
        challenge.previousFailureCount &+= held(challenge)?.challenge.previousFailureCount ?? 0
        return challenge
    }

    private func held(_ challenge: AuthenticationChallenge) -> HeldCredential? {
        order.credentials.first { $0.challenge.isOfSameSpace(as: challenge) }
    }
}
