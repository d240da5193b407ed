import Contracts

/// What an app gave for a challenge. Nothing of it is ever printed.
enum Credential: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    case password(user: String, password: String)
    case bearer(token: String)
    /// The certificate of the challenge is the right one.
    case serverTrust

    var description: String { "credential" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

/// What becomes of a challenge.
enum ChallengeDecision: Sendable, Equatable {
    case use(Credential)
    /// Default handling: what the server answered without a credential is the answer.
    case acceptAnswer
    /// Not in this way; perhaps in the next that the server offers.
    case reject
    /// Nobody but the app knows.
    case ask
}

typealias ChallengeDecider = @Sendable (AuthenticationChallenge) async throws -> ChallengeDecision
