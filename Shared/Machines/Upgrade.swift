/// A state that was made from the stored form of an older version of its machine.
public enum Upgrade<M: Machine>: Sendable {
    /// Just what folding its history gives.
    case exact(M)
    /// The older form does not hold everything; the rest has its initial value. The history is folded instead, as far as the
    /// log still has it.
    case partial(M)

    public var state: M {
        switch self {
        case .exact(let state), .partial(let state): state
        }
    }
}
