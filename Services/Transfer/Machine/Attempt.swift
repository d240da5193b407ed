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
    public var mover: String?

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("epoch", &epoch)
        fields.field("from", &from)
        fields.omittable("mover", &mover)
    }
}

/// The bytes of one attempt. Each attempt writes its own file, so a late worker cannot damage the bytes of another.
public struct Segment: Record, Equatable {
    public var epoch = 0
    /// The valid bytes at the beginning of the file. Later bytes are ignored.
    public var length = 0

    public init() {}

    /// Creates a segment.
    public init(epoch: Int, length: Int) {
        self.epoch = epoch
        self.length = length
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("epoch", &epoch)
        fields.field("length", &length)
    }
}

/// An attempt in the history of a task, with its first offset and the offset behind its last byte.
public struct AttemptRecord: Record, Equatable {
    public var startedAt = Instant.epoch
    public var from = 0
    public var to = 0
    /// The reason why it ended; nil while it is in progress.
    public var end: AttemptEnd?

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("startedAt", &startedAt)
        fields.field("from", &from)
        fields.field("to", &to)
        fields.field("end", &end)
    }
}
