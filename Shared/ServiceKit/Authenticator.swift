import HTTPTypes
import Hummingbird

/// Finds out who asks by `Authorization: Bearer`: an operator's key, or the token of a device or a fleet.
public struct Authenticator: Sendable {
    private let operators: OperatorKeys
    private let tokens: DeviceTokenVerifier
    private let void: VoidTokens
    private let refresh: @Sendable () async -> Bool
    private let lacksGuard: Bool
    private let failures: FailedCredentials

    /// - Parameters:
    ///   - void: the tokens that are refused although they are valid otherwise.
    ///   - failures: bounds how many bad credentials an address may show.
    ///   - refresh: looks for new keys when a token fits none; true where there are some.
    ///   - insecure: lets whoever shows no credential be an operator (`--insecure-dev`).
    public init(
        operators: OperatorKeys, tokens: DeviceTokenVerifier, void: VoidTokens = VoidTokens(), insecure: Bool = false,
        failures: FailedCredentials = FailedCredentials(), refresh: @escaping @Sendable () async -> Bool = { false }
    ) {
        self.operators = operators
        self.tokens = tokens
        self.lacksGuard = insecure
        self.refresh = refresh
        self.void = void
        self.failures = failures
    }

    /// Whoever shows no credential where none is needed.
    private static let anybody = Caller.operator(name: "insecure-dev", scopes: Set(Caller.Scope.allCases))

    /// Who asks, and the end of that: tells once when the credential is voided.
    ///
    /// Known credentials come first. An address that has shown too many bad ones can use those, and try no others.
    ///
    /// - Throws: `unauthenticated` without a credential, `invalid_credential` with a wrong one,
    ///   `too_many_failed_credentials`.
    func admit(_ request: Request, _ context: ServiceContext) async throws(Problem) -> Admission {
        guard let header = request.headers[.authorization] else {
            guard lacksGuard else { throw .unauthenticated }
            return Admission(caller: Self.anybody)
        }
        let parts = header.split(separator: " ")
        if parts.count == 2, parts[0].lowercased() == "bearer", parts[1].utf8.count <= TokenHead.longest {
            let credential = String(parts[1])
            if let known = operators.caller(presenting: credential) { return Admission(caller: known) }
            var claims = tokens.verifiedClaims(of: credential)
            if claims == nil {
                try failures.requirePatience(with: context.channel, context.logger)
                claims = await newClaims(of: credential)
            }
            if let claims, !void.contains(claims) {
                return Admission(caller: claims.caller) { [void] in void.voiding(of: claims) }
            }
        } else {
            try failures.requirePatience(with: context.channel, context.logger)
        }
        failures.note(on: context.channel)
        throw .invalidCredential
    }

    /// Verifies a token that this process sees for the first time.
    private func newClaims(of credential: String) async -> TokenClaims? {
        guard let head = TokenHead(credential), !failures.contains(credential) else { return nil }
        // Other tokens that name the new key may have been refused before it was known.
        if !tokens.trusts(head.keyID), await refresh(), tokens.trusts(head.keyID) { failures.forget() }
        // An unknown key may be known in a moment, so that is not remembered.
        guard tokens.trusts(head.keyID) else { return nil }
        let claims = await tokens.claims(of: credential)
        if claims == nil { failures.remember(credential) }
        return claims
    }
}

/// Who was let in.
struct Admission: Sendable {
    let caller: Caller
    /// Tells once when the credential is voided; nil where it can't be.
    var voiding: (@Sendable () -> AsyncStream<Void>)?
}
