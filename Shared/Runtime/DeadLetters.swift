public import Contracts
public import EventLog
import Machines
import Postgres
public import Timeline

/// The state of a partition in this process.
public enum PartitionState: Sendable, Equatable {
    /// Another replica processes its events and deadlines, or none does.
    case elsewhere
    /// This process processes its events and deadlines.
    case following
    /// Quarantine: its last owners died, so its inputs are tried one at a time.
    case cautious
    /// Its batches fail repeatedly for this reason, though the database answers.
    case failing(String)
    /// Only a newer program can read the log further, for this reason. Other members can take the lease.
    case halted(String)

    /// Whether this process consumes its events and deadlines, or tries to.
    public var isFollowed: Bool {
        switch self {
        case .following, .cautious, .failing: true
        case .elsewhere, .halted: false
        }
    }
}

/// An input that a service could not process, or that waits behind one. Its device is parked: the service processes
/// none of its inputs.
public struct DeadLetter: Sendable, Equatable {
    /// The aggregate of the input.
    public var key: AggregateKey
    /// Its partition.
    public var partition: Int
    /// The event's offset; nil for a deadline.
    public var offset: Int?
    /// The time of a deadline; nil for an event.
    public var due: Instant?
    /// The reason; nil if it only waits behind another one.
    public var reason: String?
    /// The time at which it was parked, in real time.
    public var parkedAt: Instant

    /// Creates a dead letter.
    public init(
        key: AggregateKey, partition: Int, offset: Int? = nil, due: Instant? = nil, reason: String? = nil,
        parkedAt: Instant
    ) {
        self.key = key
        self.partition = partition
        self.offset = offset
        self.due = due
        self.reason = reason
        self.parkedAt = parkedAt
    }
}

/// The reason why a replay or discard failed.
public enum DeadLetterError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The key has no dead letters.
    case notParked(AggregateKey)
    /// The input failed again and stays a dead letter.
    case failsAgain(reason: String)
    /// A deadline is part of the device's state and can't be discarded.
    case deadlineStays
    /// The event is no longer in the log.
    case eventGone(partition: Int, offset: Int)
    /// Another session holds the lock of the partition for too long. The current letter is unchanged. The caller can
    /// retry.
    case heldUp

    public var description: String {
        switch self {
        case .notParked(let key): "\(key) is not parked"
        case .failsAgain(let reason): "it failed again: \(reason)"
        case .deadlineStays: "a deadline can't be discarded; replay it after an update of the program"
        case .heldUp: "another session holds the lock of the partition; try again in a moment"
        case .eventGone(let partition, let offset): "the event at \(partition):\(offset) is no longer in the log"
        }
    }
}

extension DurableRuntime {
    /// Returns the dead letters of this service, by partition, key and offset.
    ///
    /// - Parameters:
    ///   - last: the last letter of the previous page; nil for the first page.
    ///   - limit: the most letters of a page.
    public func deadLetters(after last: DeadLetter? = nil, limit: Int = 1000) async throws -> [DeadLetter] {
        let keyParameters: [Parameter] = [
            .int4(Int32(clamping: last?.partition ?? -1)), .text(last?.key.description ?? ""), .int(last?.offset ?? 0),
        ]
        return try await pool.execute(Statements.letters, [.text(M.name), .int(limit)] + keyParameters)
            .decode((Int, AggregateKey, Int, Instant?, String?, Instant).self).map {
                DeadLetter(
                    key: $1, partition: $0, offset: $2 == 0 ? nil : $2, due: $3, reason: $4, parkedAt: $5)
            }
    }

    /// Returns the number of parked devices over all replicas.
    public func parkedDevices() async throws -> Int {
        try await pool.execute(Statements.parkedCount, .text(M.name), rowsExpected: 1)[0].decode(Int.self)
    }

    /// Processes the dead letters of a device in order, and frees it.
    ///
    /// - Parameters:
    ///   - request: the idempotency key, if the caller may repeat the call. A repeat continues after the last processed
    ///     letter, or returns the first result.
    ///   - audit: the entry of the audit trail.
    /// - Returns: the number of processed letters.
    /// - Throws: ``DeadLetterError``; letters before the failure stay processed, and the device stays parked.
    ///   `IdempotencyConflict`.
    @discardableResult
    public func replay(
        _ key: AggregateKey, _ request: Idempotency? = nil, audit: AuditEntry? = nil
    ) async throws -> Int {
        try await engine.release(Release(key: key, discardsFirst: false, request: request, audit: audit))
    }

    /// Discards the first event, processes the letters behind it, and frees the device.
    ///
    /// - Parameters:
    ///   - request: the idempotency key, if the caller may repeat the call. All repeats together discard one event.
    ///   - audit: the entry of the audit trail.
    /// - Returns: the number of processed letters.
    /// - Throws: ``DeadLetterError``, `IdempotencyConflict`.
    @discardableResult
    public func discard(
        _ key: AggregateKey, _ request: Idempotency? = nil, audit: AuditEntry? = nil
    ) async throws -> Int {
        try await engine.release(Release(key: key, discardsFirst: true, request: request, audit: audit))
    }

    /// Records a request that is not a command of the machine, with its answer, once.
    ///
    /// - Parameters:
    ///   - key: decides the partition of the record.
    ///   - audit: the entry of the audit trail; added with the record.
    /// - Returns: the recorded answer; nil for a new request.
    /// - Throws: `IdempotencyConflict`, or a `PostgresError`.
    public func once(
        _ request: Idempotency, of key: AggregateKey, answer: [UInt8] = [], audit: AuditEntry? = nil
    ) async throws -> [UInt8]? {
        try await engine.book(of: key).once(request, answer: answer, pool, audit.queries)
    }

    /// Adds an entry to the audit trail, for an action that changes nothing else in the database.
    public func record(_ audit: AuditEntry) async throws { _ = try await pool.execute(audit.query) }
}
