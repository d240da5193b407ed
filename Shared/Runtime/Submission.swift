public import Contracts
public import EventLog
public import Machines

/// A command on its way to its aggregate.
public struct Submission<M: Machine>: Sendable {
    public var key: AggregateKey
    public var command: M.Command
    public var origin: Origin
    /// Given when the caller may repeat the command: the same key and fingerprint get the same answer, once done.
    public var idempotency: Idempotency?
    /// Looks at the aggregate inside the batch, before the command is decided: whether the caller may, and whether the
    /// state is still the one that the caller knows. What it throws fails the submission.
    public var check: (@Sendable (Aggregate<M>) throws -> Void)?
    /// Renders the answer from the state after the command and the command's own events, inside the batch, so that it
    /// can be stored with them.
    public var answer: @Sendable (Aggregate<M>, [M.OwnEvent]) -> [UInt8]
    /// The offset that the cursor must reach before a refusal is final; nil until a batch has found one.
    var settledAt: Int?

    public init(
        key: AggregateKey, command: M.Command, origin: Origin, idempotency: Idempotency? = nil,
        check: (@Sendable (Aggregate<M>) throws -> Void)? = nil,
        answer: @escaping @Sendable (Aggregate<M>, [M.OwnEvent]) -> [UInt8]
    ) {
        self.key = key
        self.command = command
        self.origin = origin
        self.idempotency = idempotency
        self.check = check
        self.answer = answer
    }
}

/// What a committed command gets.
public struct Answer: Sendable, Equatable {
    public var body: [UInt8]
    /// The log has everything of this command up to here.
    public var partition: Int
    public var offset: Int
    /// True when the answer was stored by an earlier request with the same idempotency key.
    public var isReplay: Bool
}

/// Why the runtime did not run a command, other than the machine's own refusal. Nothing was changed, except where said.
public enum RuntimeError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Too many commands wait for this partition, or a deadline of the device comes first, which may be what has ended
    /// another process: try again after a moment.
    case overloaded
    /// The service has not read all events about the device that were in the log when the command arrived. Its refusal
    /// would be uncertain, so the caller tries again after a moment.
    case behind
    /// The runtime is stopping.
    case stopping
    /// The idempotency key was used with another request.
    case idempotencyConflict
    /// The database can't be reached, or can't take anything in; the command was not run.
    case databaseUnavailable
    /// The database was lost during the commit and did not come back in time: the command was run, or it was not. To be
    /// repeated with the same idempotency key.
    case outcomeUnknown
    /// The database refused what the command led to, or each process that ran it ended. Repeating it will not help.
    case failed
    /// Something of this device could not be taken in before; it waits for an operator.
    case parked(key: AggregateKey)
    /// The stored state is newer than this program.
    case newerState(key: AggregateKey, version: Int)
    case malformedState(key: AggregateKey)
    /// More than 64 KiB.
    case stateTooLarge(key: AggregateKey, bytes: Int)

    public var description: String {
        switch self {
        case .overloaded: "too many commands are waiting; try again in a moment"
        case .behind: "the service has not read the latest events about this device; try again in a moment"
        case .stopping: "the service is stopping"
        case .idempotencyConflict: "this Idempotency-Key was used for another request"
        case .databaseUnavailable: "the database can't be reached; nothing was changed"
        case .outcomeUnknown:
            "the database was lost while the command was stored; repeat it with the same idempotency key"
        case .failed: "the command could not be stored; nothing was changed"
        case .parked(let key): "\(key) is parked until an operator has looked at it; nothing was changed"
        case .newerState(let key, let version): "the state of \(key) has version \(version), newer than this program"
        case .malformedState(let key): "the stored state of \(key) can't be read"
        case .stateTooLarge(let key, let bytes): "the state of \(key) would take \(bytes) bytes; 65,536 is the limit"
        }
    }
}
