/// Who asks.
public enum Caller: Sendable, Hashable {
    /// A person or a tool that runs the suite, by the name of its key.
    case `operator`(name: String, scopes: Set<Scope>)
    /// Whoever registers and opens all devices of a fleet.
    case fleet(String)
    /// A device; opens itself alone.
    case device(String, fleet: String)

    /// What an operator's key allows.
    public enum Scope: String, Sendable, CaseIterable {
        case read
        case operate
    }

    /// Whether the caller may see and drive a device.
    public func mayOpen(device: String, fleet: String?) -> Bool {
        switch self {
        case .operator: true
        case .fleet(let own): own == fleet
        case .device(let own, _): own == device
        }
    }

    /// Lets only those on who may see the device.
    ///
    /// - Throws: `not_found`: another's device is as if it were not there.
    public func requireOpen(device: String, fleet: String?) throws(Problem) {
        guard mayOpen(device: device, fleet: fleet) else { throw .notFound }
    }

    /// Lets only operators on whose key has the scope.
    ///
    /// - Throws: `forbidden`.
    public func require(_ scope: Scope) throws(Problem) {
        guard case .operator(_, let scopes) = self, scopes.contains(scope) else {
            throw .forbidden.because("This request needs an operator's key with the scope \(scope.rawValue).")
        }
    }

    /// What logs and metrics call the caller.
    public var description: String {
        switch self {
        case .operator(let name, _): "operator:\(name)"
        case .fleet(let id): "fleet:\(id)"
        case .device(let id, _): "device:\(id)"
        }
    }
}
