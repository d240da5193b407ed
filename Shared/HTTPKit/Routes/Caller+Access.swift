public import Identity

extension Caller {
    /// Requires that the caller may access the device.
    ///
    /// - Throws: `not_found`, so that a caller can't find out about other devices.
    public func requireOpen(device: String, fleet: String?) throws(Problem) {
        guard mayOpen(device: device, fleet: fleet) else { throw .notFound }
    }

    /// Requires an operator whose key has the scope.
    ///
    /// - Throws: `forbidden`.
    public func require(_ scope: Scope) throws(Problem) {
        guard case .operator(_, let scopes) = self, scopes.contains(scope) else {
            throw .forbidden.with(detail: "This request needs an operator's key with the scope \(scope.rawValue).")
        }
    }
}
