public import Identity

extension Caller {
    /// Requires an operator whose key has the scope.
    ///
    /// - Throws: `forbidden`.
    public func require(_ scope: Scope) throws(Problem) {
        guard case .operator(_, let scopes) = self, scopes.contains(scope) else {
            throw .forbidden.with(detail: "This request needs an operator's key with the scope \(scope.rawValue).")
        }
    }

    /// Requires an operator key or a token of this fleet.
    ///
    /// - Throws: `not_found` for all others, so that they can't probe for fleets.
    public func requireFleet(_ fleet: String) throws(Problem) {
        switch self {
        case .operator: return
        case .fleet(let own): guard own == fleet else { throw .notFound }
        case .device: throw .notFound
        }
    }
}
