public import Contracts
public import EventLog
import Machines
import Postgres
public import Timeline

/// Where one partition stands with this process.
public enum PartitionState: Sendable, Equatable {
    /// Another replica takes in its events and deadlines, or none does.
    case elsewhere
    case following
    /// Its last owner died; its inputs are tried one by one.
    case cautious
    /// Its batches fail repeatedly for this reason, though the database answers.
    case failing(String)
    /// The log has what only a newer program understands, with the reason. The lease is left to others.
    case halted(String)

    /// Whether this process consumes its events and deadlines, or tries to.
    public var isFollowed: Bool {
        switch self {
        case .following, .cautious, .failing: true
        case .elsewhere, .halted: false
        }
    }
}

/// An input that was set aside, or that waits behind one. Its device is parked: nothing of it is taken in.
public struct DeadLetter: Sendable, Equatable {
    public var key: AggregateKey
    public var partition: Int
    /// The event's place in the log; nil for a deadline.
    public var offset: Int?
    /// The moment of a deadline.
    public var due: Instant?
    /// Why it was set aside; nil where it only waits behind another.
    public var reason: String?
    /// Real time.
    public var setAsideAt: Instant

    public init(
        key: AggregateKey, partition: Int, offset: Int? = nil, due: Instant? = nil, reason: String? = nil,
        setAsideAt: Instant
    ) {
        self.key = key
        self.partition = partition
        self.offset = offset
        self.due = due
        self.reason = reason
        self.setAsideAt = setAsideAt
    }
}

/// Why an operator's order about a parked device was not carried out.
public enum DeadLetterError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The key has no dead letters.
    case notParked(AggregateKey)
    /// The input at fault failed again, so it stays where it is.
    case failsAgain(reason: String)
    /// A deadline is part of the device's state: it goes only by firing.
    case deadlineStays
    /// The event is no longer in the log.
    case eventGone(partition: Int, offset: Int)
    /// Somebody holds the partition too long; nothing was changed by the letter at hand. To be repeated after a moment.
    case heldUp

    public var description: String {
        switch self {
        case .notParked(let key): "\(key) is not parked"
        case .failsAgain(let reason): "it failed again: \(reason)"
        case .deadlineStays: "a deadline can't be discarded; replay it once the program is mended"
        case .heldUp: "the partition is held up; try again in a moment"
        case .eventGone(let partition, let offset): "the event at \(partition):\(offset) is no longer in the log"
        }
    }
}

extension DurableRuntime {
    /// What this service has set aside, by partition, key and place.
    ///
    /// - Parameters:
    ///   - last: the last letter of the previous page; nil for the first page.
    ///   - limit: the most letters of a page.
    public func deadLetters(after last: DeadLetter? = nil, limit: Int = 1000) async throws -> [DeadLetter] {
        let place: [Parameter] = [
            .int4(Int32(clamping: last?.partition ?? -1)), .text(last?.key.description ?? ""), .int(last?.offset ?? 0),
        ]
        return try await pool.run(Call(Statements.letters, [.text(M.name), .int(limit)] + place)).map { row in
            let offset = try row.int(2)
            return DeadLetter(
                key: AggregateKey(try row.text(1)), partition: try row.int(0), offset: offset == 0 ? nil : offset,
                due: try row.optionalInt(3).map { Instant(milliseconds: Int64($0)) }, reason: try row.optionalText(4),
                setAsideAt: Instant(milliseconds: try row.timestampMilliseconds(5)))
        }
    }

    /// How many devices are parked, by all replicas together. Worth an alert.
    public func parkedDevices() async throws -> Int {
        try await pool.run(Call(Statements.parkedCount, [.text(M.name)], rowsExpected: 1))[0].int(0)
    }

    /// Takes in, in order, what was set aside of a device, and frees it.
    ///
    /// - Parameter request: given when the caller may repeat the order. It goes on from where it came to then, and once it is
    ///   done its answer is given again.
    /// - Returns: how many letters there were.
    /// - Throws: ``DeadLetterError``; what went well before the fault is done, and the device stays parked. `IdempotencyConflict`.
    @discardableResult
    public func replay(_ key: AggregateKey, _ request: Idempotency? = nil) async throws -> Int {
        try await worker(of: key).release(Release(key: key, discardsFirst: false, request: request))
    }

    /// Forgets the event at fault, takes in what waits behind it, and frees the device.
    ///
    /// - Parameter request: given when the caller may repeat the order: it forgets one event, however often it is repeated.
    /// - Returns: how many letters were taken in.
    /// - Throws: ``DeadLetterError``, `IdempotencyConflict`.
    @discardableResult
    public func discard(_ key: AggregateKey, _ request: Idempotency? = nil) async throws -> Int {
        try await worker(of: key).release(Release(key: key, discardsFirst: true, request: request))
    }

    /// Takes down a request that is no command of the machine, and what it is answered, once.
    ///
    /// - Parameter key: whose partition it is kept in.
    /// - Returns: the answer that it got before; nil where it is new.
    /// - Throws: `IdempotencyConflict`, or a `PostgresError`.
    public func once(_ request: Idempotency, of key: AggregateKey, answer: [UInt8] = []) async throws -> [UInt8]? {
        try await worker(of: key).book.once(request, answer: answer, pool)
    }
}
