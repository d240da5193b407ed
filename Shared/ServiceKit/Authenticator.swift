import HTTPTypes
public import Hummingbird

/// Finds out who asks by `Authorization: Bearer`: an operator's key, or the token of a device or a fleet.
public struct Authenticator: Sendable {
    private let operators: OperatorKeys
    private let tokens: DeviceTokenVerifier
    private let isRevoked: @Sendable (TokenClaims) async -> Bool
    private let refresh: @Sendable () async -> Bool
    private let lacksGuard: Bool

    /// - Parameters:
    ///   - isRevoked: asked for each token that is valid otherwise.
    ///   - refresh: looks for new keys when a token fits none; true where there are some.
    ///   - insecure: lets whoever shows no credential be an operator (`--insecure-dev`).
    public init(
        operators: OperatorKeys, tokens: DeviceTokenVerifier, insecure: Bool = false,
        refresh: @escaping @Sendable () async -> Bool = { false },
        isRevoked: @escaping @Sendable (TokenClaims) async -> Bool = { _ in false }
    ) {
        self.operators = operators
        self.tokens = tokens
        self.lacksGuard = insecure
        self.refresh = refresh
        self.isRevoked = isRevoked
    }

    /// Who asks.
    ///
    /// - Throws: `unauthenticated` without a credential, `invalid_credential` with a wrong one.
    public func caller(of request: Request) async throws(Problem) -> Caller {
        guard let header = request.headers[.authorization] else {
            guard lacksGuard else { throw .unauthenticated }
            return .operator(name: "insecure-dev", scopes: Set(Caller.Scope.allCases))
        }
        let parts = header.split(separator: " ")
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw .invalidCredential }
        let credential = String(parts[1])
        if let known = operators.caller(presenting: credential) { return known }
        var claims = await tokens.claims(of: credential)
        if claims == nil, await refresh() { claims = await tokens.claims(of: credential) }
        guard let claims, await !isRevoked(claims) else { throw .invalidCredential }
        return claims.caller
    }
}
