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
}
