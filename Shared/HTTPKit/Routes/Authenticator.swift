import HTTPTypes
import Hummingbird
public import Identity

/// Identifies the caller by `Authorization: Bearer`: an operator's key, or the token of a device or fleet.
public struct Authenticator: Sendable {
    private let operators: OperatorKeyring
    private let tokens: DeviceTokenVerifier
    private let revoked: RevokedTokens
    private let refresh: @Sendable () async -> Bool
    private let lacksGuard: Bool
    private let failures: FailedCredentials

    /// - Parameters:
    ///   - operators: the keys of operators.
    ///   - revoked: the revoked tokens.
    ///   - insecure: whether a request without a credential has all rights of an operator (`--insecure-dev`).
    ///   - failures: limits the bad credentials of each address.
    ///   - refresh: reads the keys again for a token with an unknown key; returns false if the read failed.
    public init(
        operators: OperatorKeyring, tokens: DeviceTokenVerifier, revoked: RevokedTokens = RevokedTokens(),
        insecure: Bool = false,
        failures: FailedCredentials = FailedCredentials(), refresh: @escaping @Sendable () async -> Bool = { false }
    ) {
        self.operators = operators
        self.tokens = tokens
        self.lacksGuard = insecure
        self.refresh = refresh
        self.revoked = revoked
        self.failures = failures
    }

    /// The caller of a request without a credential under `--insecure-dev`.
    private static let anybody = Caller.operator(name: "insecure-dev", scopes: Set(Caller.Scope.allCases))

    /// Returns the caller, and a notification of the revocation of its credential.
    ///
    /// Known credentials are checked first. An address that sent too many bad ones of a kind can use no new ones of this
    /// kind for a while.
    ///
    /// - Throws: `unauthenticated` without a credential, `invalid_credential` with a wrong one,
    ///   `too_many_failed_credentials`, `foreign_host`.
    func admit(_ request: Request, _ context: ServiceContext) async throws(Problem) -> Admission {
        guard let header = request.headers[.authorization] else {
            guard lacksGuard else { throw .unauthenticated }
            guard request.isLocal else { throw .foreignHost }
            return Admission(caller: Self.anybody)
        }
        // By bytes: a token is long, and a search for characters costs more than all other checks.
        let parts = header.utf8.split(separator: UInt8(ascii: " ")).map { Substring($0) }
        var kind = FailedCredentials.Kind.unknown
        if parts.count == 2, parts[0].lowercased() == "bearer", parts[1].utf8.count <= TokenHead.longest {
            let credential = Credential(String(parts[1]))
            if let known = operators.caller(presenting: credential) {
                return Admission(caller: known) { [operators] in operators.voiding(of: credential) }
            }
            var claims = tokens.verifiedClaims(of: credential)
            if claims == nil {
                let head = TokenHead(credential.text)
                if let head, tokens.trusts(head.keyID) { kind = .signed }
                try failures.requirePatience(kind, with: context.channel, context.logger)
                if let head { claims = await newClaims(of: credential, head) }
            }
            if let claims, !revoked.contains(claims) {
                return Admission(caller: claims.caller) { [revoked] in revoked.voiding(of: claims) }
            }
        } else {
            try failures.requirePatience(kind, with: context.channel, context.logger)
        }
        failures.note(kind, from: context.channel.clientAddress)
        throw .invalidCredential
    }

    /// Verifies a token that this process sees for the first time.
    private func newClaims(of credential: Credential, _ head: TokenHead) async -> TokenClaims? {
        guard !failures.contains(credential.text) else { return nil }
        // Valid tokens may have been refused before their key was known.
        if !tokens.trusts(head.keyID), await refresh(), tokens.trusts(head.keyID) { failures.forget() }
        // The key may become known soon, so this refusal is not remembered.
        guard tokens.trusts(head.keyID) else { return nil }
        let claims = await tokens.claims(of: credential)
        if claims == nil { failures.remember(credential.text) }
        return claims
    }
}

/// The caller of an admitted request.
struct Admission: Sendable {
    let caller: Caller
    /// Returns a stream with one element when the credential is revoked; nil if it can't be revoked.
    var voiding: (@Sendable () -> AsyncStream<Void>)?
}
