import Contracts
import Machines
import TransferMachine

/// Where credentials are: not in the log, and not in the machine's state.
protocol CredentialSource: Sendable {
    /// What an app of a device has answered a challenge with; nil where it is there no more.
    func credential(_ challenge: String, of device: AggregateKey) async throws -> Credential?
}

extension CredentialTable: CredentialSource {
    /// Returns when the database has answered.
    func credential(_ challenge: String, of device: AggregateKey) async throws -> Credential? {
        while true {
            do { return try await find(device, challenge).flatMap { Credential($0) } } catch {
                try await Task.sleep(for: .seconds(1))
            }
        }
    }
}

extension Credential {
    init?(_ document: CredentialDocument) {
        if let user = document.user {
            self = .password(user: user, password: document.password ?? "")
        } else if let token = document.token {
            self = .bearer(token: token)
        } else if document.fingerprint != nil {
            self = .serverTrust
        } else {
            return nil
        }
    }
}

/// What an app has said to the challenges of a task and of its session.
struct AppAnswers: Sendable {
    let order: WorkOrder
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

    /// The challenge as the app is to see it: earlier answers have failed too.
    func counted(_ challenge: AuthenticationChallenge) -> AuthenticationChallenge {
        var challenge = challenge
        challenge.previousFailureCount &+= held(challenge)?.challenge.previousFailureCount ?? 0
        return challenge
    }

    private func held(_ challenge: AuthenticationChallenge) -> HeldCredential? {
        order.credentials.first { $0.challenge.isOfSameSpace(as: challenge) }
    }
}
