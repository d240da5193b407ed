import HTTPTypes
public import Hummingbird

/// Finds out who asks by `Authorization: Bearer`: an operator's key, or the token of a device or a fleet.
public struct Authenticator: Sendable {
    private let operators: OperatorKeys
    private let tokens: DeviceTokenVerifier
    private let void: VoidTokens
    private let refresh: @Sendable () async -> Bool
    private let lacksGuard: Bool

    /// - Parameters:
    ///   - void: the tokens that are refused although they are valid otherwise.
    ///   - refresh: looks for new keys when a token fits none; true where there are some.
    ///   - insecure: lets whoever shows no credential be an operator (`--insecure-dev`).
    public init(
        operators: OperatorKeys, tokens: DeviceTokenVerifier, void: VoidTokens = VoidTokens(), insecure: Bool = false,
        refresh: @escaping @Sendable () async -> Bool = { false }
    ) {
        self.operators = operators
        self.tokens = tokens
        self.lacksGuard = insecure
        self.refresh = refresh
        self.void = void
    }

    /// Whoever shows no credential where none is needed.
    private static let anybody = Caller.operator(name: "insecure-dev", scopes: Set(Caller.Scope.allCases))

    /// Who asks.
    ///
    /// - Throws: `unauthenticated` without a credential, `invalid_credential` with a wrong one.
    public func caller(of request: Request) async throws(Problem) -> Caller { try await admit(request).caller }

    /// Who asks, and the end of that: tells once when the credential is voided.
    ///
    /// - Throws: as ``caller(of:)``.
    func admit(_ request: Request) async throws(Problem) -> Admission {
        guard let header = request.headers[.authorization] else {
            guard lacksGuard else { throw .unauthenticated }
            return Admission(caller: Self.anybody)
        }
        let parts = header.split(separator: " ")
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw .invalidCredential }
        let credential = String(parts[1])
        if let known = operators.caller(presenting: credential) { return Admission(caller: known) }
        var claims = await tokens.claims(of: credential)
        if claims == nil, await refresh() { claims = await tokens.claims(of: credential) }
        guard let claims, !void.contains(claims) else { throw .invalidCredential }
        return Admission(caller: claims.caller) { [void] in void.voiding(of: claims) }
    }
}

/// Who was let in.
struct Admission: Sendable {
    let caller: Caller
    /// Tells once when the credential is voided; nil where it can't be.
    var voiding: (@Sendable () -> AsyncStream<Void>)?
}
