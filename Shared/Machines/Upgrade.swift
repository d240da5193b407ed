import Records
public import Timeline

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

/// A state in the stored form of an older version, and the deadline that the older machine computes from it.
public struct OlderForm: Sendable, Equatable {
    public var binary: [UInt8]
    public var nextDeadline: Instant?

    public init(binary: [UInt8], nextDeadline: Instant?) { (self.binary, self.nextDeadline) = (binary, nextDeadline) }
}

extension Machine {
    /// Returns the state from a stored form of this machine or an older one, without the log; nil if it can't be read.
    public static func stored(_ binary: [UInt8], version: Int) -> Upgrade<Self>? {
        if version == Self.version { return Self(binary: binary).map { .exact($0) } }
        return version < Self.version ? upgraded(binary, from: version) : nil
    }
}
