public import Contracts
public import EventLog
public import Machines

/// A command on its way to its aggregate.
public struct Submission<M: Machine>: Sendable {
    /// The aggregate.
    public var key: AggregateKey
    /// The command.
    public var command: M.Command
    /// The source of the command's ids.
    public var origin: Origin
    /// The idempotency key, if the caller may repeat the command. The same key and fingerprint get the same answer.
    public var idempotency: Idempotency?
    /// Checks the aggregate inside the batch, before the decision: the caller's rights, and whether the caller knows
    /// the current state. A thrown error fails the submission.
    public var check: (@Sendable (Aggregate<M>) throws -> Void)?
    /// Renders the answer inside the batch, from the state after the command and the command's own events. The batch
    /// stores it with them.
    public var answer: @Sendable (Aggregate<M>, [M.OwnEvent]) -> [UInt8]
    /// The entry of the audit trail. The batch adds it with the events, but not for a refused or repeated command.
    public var audit: AuditEntry?
    /// The offset that the cursor must reach before a refusal is final; nil until a batch has found one.
    var settledAt: Int?

    /// Creates a submission.
    public init(
        key: AggregateKey, command: M.Command, origin: Origin, idempotency: Idempotency? = nil,
        audit: AuditEntry? = nil, check: (@Sendable (Aggregate<M>) throws -> Void)? = nil,
        answer: @escaping @Sendable (Aggregate<M>, [M.OwnEvent]) -> [UInt8]
    ) {
        self.key = key
        self.command = command
        self.origin = origin
        self.idempotency = idempotency
        self.audit = audit
        self.check = check
        self.answer = answer
    }
}

/// The answer to a committed command.
public struct Answer: Sendable, Equatable {
    /// The document that the submission rendered.
    public var body: [UInt8]
    /// The partition of the command's position in the log.
    public var partition: Int
    /// The offset of the command's last event.
    public var offset: Int
    /// Whether an earlier request with the same idempotency key stored the answer.
    public var isReplay: Bool
}

/// The reason why the runtime did not run a command, other than a refusal of the machine. Nothing has changed, except
/// where noted.
public enum RuntimeError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Too many commands wait for this partition. Or a deadline of the device must fire first that may have ended
    /// another process. The caller can retry.
    case overloaded
    /// The service has not read all events about the device that were in the log when the command arrived. Its refusal
    /// would be uncertain, so the caller can retry.
    case behind
    /// The runtime is stopping.
    case stopping
    /// The database has lost events that this process knows, so it runs no commands until an operator has confirmed the
    /// loss.
    case eventsLost
    /// The idempotency key was used with another request.
    case idempotencyConflict
    /// The database is not available; the command was not run.
    case databaseUnavailable
    /// The connection was lost during the commit. The database did not return in time, or it can't show the result. The
    /// command was run or not.
    /// The caller repeats it with the same idempotency key.
    case outcomeUnknown
    /// The database refused the events of the command, or each process that ran it ended. A repeat does not help.
    case failed
    /// The device has a dead letter and waits for an operator.
    case parked(key: AggregateKey)
    /// The stored state is newer than this program.
    case newerState(key: AggregateKey, version: Int)
    /// The stored state can't be decoded, or differs from the log.
    case malformedState(key: AggregateKey)
    /// The new state exceeds 64 KiB.
    case stateTooLarge(key: AggregateKey, bytes: Int)

    public var description: String {
        switch self {
        case .overloaded: "too many commands are waiting; try again in a moment"
        case .behind: "the service has not read the latest events about this device; try again in a moment"
        case .stopping: "the service is stopping"
        case .eventsLost: "the database has lost events; an operator must confirm the loss"
        case .idempotencyConflict: "this Idempotency-Key was used for another request"
        case .databaseUnavailable: "the database can't be reached; nothing was changed"
        case .outcomeUnknown:
            "the connection to the database was lost during the commit; repeat the request with the same Idempotency-Key"
        case .failed: "the command could not be stored; nothing was changed"
        case .parked(let key):
            "\(key) is parked until an operator replays or discards its dead letters; nothing was changed"
        case .newerState(let key, let version): "the state of \(key) has version \(version), newer than this program"
        case .malformedState(let key): "the stored state of \(key) can't be read"
        case .stateTooLarge(let key, let bytes): "the state of \(key) would have \(bytes) bytes; the limit is 65,536"
        }
    }
}
