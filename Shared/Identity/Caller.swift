/// The authenticated caller of a request.
public enum Caller: Sendable, Hashable {
    /// A person or program that operates the suite, by the name of its key.
    case `operator`(name: String, scopes: Set<Scope>)
    /// The owner of a fleet's token. It registers devices and may access all devices of the fleet.
    case fleet(String)
    /// A device. It may access only itself.
    case device(String, fleet: String)

    /// The rights of an operator's key.
    public enum Scope: String, Sendable, CaseIterable {
        /// Read the state of all fleets.
        case read
        /// Change the state of all fleets.
        case operate
    }

    /// The fleet of the caller; nil for an operator.
    public var fleet: String? {
        switch self {
        case .operator: nil
        case .fleet(let id), .device(_, let id): id
        }
    }

    /// The caller's name in idempotency keys and as an owner of uploads, such as `device:d1`.
    public var description: String {
        switch self {
        case .operator(let name, _): "operator:\(name)"
        case .fleet(let id): "fleet:\(id)"
        case .device(let id, _): "device:\(id)"
        }
    }
}
