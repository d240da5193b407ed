/// A state that was upgraded from the stored form of an older version.
public enum Upgrade<M: Machine>: Sendable {
    /// Equal to the fold of its history.
    case exact(M)
    /// Incomplete: the older form lacks some values, which have their initial values. The runtime folds the history
    /// instead, as far as the log still has it.
    case partial(M)

    /// The upgraded state.
    public var state: M {
        switch self {
        case .exact(let state), .partial(let state): state
        }
    }
}
