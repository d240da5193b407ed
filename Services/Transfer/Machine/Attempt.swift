public import Contracts
public import Records
public import Timeline

/// An attempt that is under way: at most one a task.
public struct Attempt: Record, Equatable {
    public var epoch = 0
    public var from = 0
    /// Who carries it out; nil until one came.
    public var mover: String?

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("epoch", &epoch)
        fields.field("from", &from)
        fields.omittable("mover", &mover)
    }
}

/// What one attempt brought. Every attempt writes a piece of its own, so a mover that wakes up late spoils nobody's.
public struct Segment: Record, Equatable {
    public var epoch = 0
    /// In bytes; what lies behind them in storage does not count.
    public var length = 0

    public init() {}

    public init(epoch: Int, length: Int) {
        self.epoch = epoch
        self.length = length
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("epoch", &epoch)
        fields.field("length", &length)
    }
}

/// An attempt in a task's history.
public struct AttemptRecord: Record, Equatable {
    public var startedAt = Instant.epoch
    public var from = 0
    public var to = 0
    /// Nil while it is under way.
    public var end: AttemptEnd?

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("startedAt", &startedAt)
        fields.field("from", &from)
        fields.field("to", &to)
        fields.field("end", &end)
    }
}
