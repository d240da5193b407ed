public import Contracts
public import Records
public import Timeline

/// An attempt that is in progress, at most one for each task.
public struct Attempt: Record, Equatable {
    /// The number of the attempt. Reports with an older epoch are refused.
    public var epoch = 0
    /// The offset of its first byte.
    public var from = 0
    /// The transfer worker that carries it out; nil until a worker claims it.
    public var worker: String?
}

/// The bytes of one attempt. Each attempt writes its own file, so a late worker cannot damage the bytes of another.
public struct Segment: Record, Equatable {
    public var epoch: Int
    /// The valid bytes at the beginning of the file. Later bytes are ignored.
    public var length: Int
}

/// An attempt in the history of a task, with its first offset and the offset behind its last byte.
public struct AttemptRecord: Record, Equatable {
    public var startedAt = Instant.epoch
    public var from = 0
    public var to = 0
    /// The reason why it ended; nil while it is in progress.
    public var end: Nullable<AttemptEnd> = nil
}
