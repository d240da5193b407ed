import Contracts

/// A credential that an app gave for a challenge. Its description and mirror never contain the secret.
enum Credential: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    case password(user: String, password: String)
    /// Trust in the certificate of the challenge.
    case serverTrust

    var description: String { "credential" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

/// The decision about a challenge.
enum ChallengeDecision: Sendable, Equatable {
    case use(Credential)
    /// Default handling: the server's response without a credential is the result.
    case acceptAnswer
    /// Rejects this offer of the server, but not the next one.
    case reject
    /// The app must answer.
    case ask
}

typealias ChallengeDecider = @Sendable (AuthenticationChallenge) async throws -> ChallengeDecision
