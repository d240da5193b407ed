import Contracts
import Foundation
import Machines
import Timeline

/// The reads that a partition's next batch needs.
struct GatherRequest<M: Machine>: Sendable {
    var partition: Int
    /// The aggregates of the commands.
    var keys: [AggregateKey]
    var idempotencyKeys: [String]
    /// The most events, and the most aggregates with deadlines; nil for none.
    var log: Int?
    var lease: PartitionMachine<M>.Lease?
    /// The last batch that this process knows. The cache is valid if the cursor row still names it.
    var lastBatch: UUID?
    var hasParkedKeys: Bool
    /// Whether the slot reservations are unknown.
    var readsSlots: Bool
    var noSlots: SlotAllocator
    /// Unreadable states of an older machine, with their number of events.
    var unreadable: [AggregateKey: Int]
    /// The folds of older and incomplete states.
    var folded: [AggregateKey: Aggregate<M>]
    /// The last outage and the last key that was notified of it.
    var notified: (outage: Outage, key: String)?
    var days = UnreadDays()
    /// The batch may assume this instead; nil if it must read.
    var assumption: Assumption?
}

/// The days of the log that can have unread events of a partition, in days since 2000-01-01. Later offsets never have
/// earlier days.
struct UnreadDays: Sendable, Equatable {
    /// The day of the head when the log was last read to it; nil if unknown.
    var first: Int?
    /// The head at that time. ``first`` counts only for a cursor that has reached it.
    var firstHead = 0
    /// The last known day of the head; nil if unknown.
    var last: Int?

    /// The days of several partitions.
    static func union(_ days: some Collection<UnreadDays>) -> UnreadDays {
        let (first, last) = (days.compactMap { $0.first }, days.compactMap { $0.last })
        return UnreadDays(
            first: first.count == days.count ? first.min() : nil, last: last.count == days.count ? last.max() : nil)
    }

    /// Whether the days exclude no event after a position, up to a head with this day. After a restore of the database
    /// the position may be before the known head, or the day before the known one.
    func include(everythingAfter position: Int, upTo day: Int) -> Bool {
        (first.map { position >= firstHead && day >= $0 } ?? true) && (last.map { day <= $0 } ?? true)
    }
}

/// The data of one partition for a batch, read under the lock of the cursor.
struct BatchInput<M: Machine>: Sendable {
    var storedPosition = 0
    var position = 0
    var head = 0
    /// The day of the head, in days since 2000-01-01.
    var day = 0
    /// The suite time from the clock of the database, read under the lock. So the clocks of the replicas do not matter.
    var now = Instant.epoch
    var lastBatch: UUID?
    /// The stored version of the form in which states are written; 0 if unknown.
    var form = 0
    /// The assumption of a batch that was decided from memory; nil if the input was read from the database.
    var assumption: Assumption?
    /// Whether no other process has committed a batch since.
    var isCacheValid = false
    var holdsLease = false
    var attempts = 0
    /// Whether owners died before one read to the head of the log. A deadline may have ended them.
    var isDoubtful = false
    var hasMore = false
    /// Whether the log was read to its head.
    var isAtHead = false
    /// The earliest deadline that is not due; known at the head.
    var nextDue: Instant?
    var outages = OutageReading()
    var events: [Event] = []
    var due: [AggregateKey] = []
    var stored: [String: (fingerprint: [UInt8], answer: [UInt8])] = [:]
    /// The aggregates of the inputs that have events.
    var aggregates: [AggregateKey: Aggregate<M>] = [:]
    /// The sizes of the stored states that were read, in bytes.
    var sizes: [AggregateKey: Int] = [:]
    /// The stored slot reservations; nil if the process knows them.
    var slots: SlotAllocator?
    /// Aggregates with an unusable stored state.
    var faults: [AggregateKey: RuntimeError] = [:]
    var refreshed: Set<AggregateKey> = []
    /// States of an older machine that need an upgrade before a decision.
    var stale: [AggregateKey: StoredState] = [:]
    var parked: Set<AggregateKey> = []
    var hasParkedKeys = false
    /// Why only a newer program can read the log further.
    var halt: Halt?

    /// The version of the form in which this program writes states.
    var writtenForm: Int { form > 0 ? min(form, M.version) : M.version }

    /// Whether no input from the log is left: no events, due deadlines or outages.
    var isThrough: Bool { events.isEmpty && due.isEmpty && outages.unheard.isEmpty && !hasMore }

    /// Takes a stored state: readable, of a newer version, or of an older one.
    ///
    /// - Parameter folded: the folds of older and incomplete states.
    mutating func take(
        _ stored: StoredState, unreadable: [AggregateKey: Int], folded: [AggregateKey: Aggregate<M>] = [:]
    ) {
        let (key, version) = (stored.key, stored.machineVersion)
        sizes[key] = stored.binary.count
        if version > M.version {
            faults[key] = .newerState(key: key, version: version)
        } else if case .exact(let state) = M.stored(stored.binary, version: version) {
            aggregates[key] = stored.aggregate(state)
            if version < writtenForm { refreshed.insert(key) }
        } else if let fold = folded[key], fold.eventCount == stored.eventCount {
            aggregates[key] = fold
            if version < writtenForm { refreshed.insert(key) }
        } else if version == M.version || unreadable[key] == stored.eventCount {
            faults[key] = .malformedState(key: key)
        } else {
            // The upgrade reads the log, so it must not run under the lock.
            stale[key] = stored
        }
    }

    /// Stops before aggregates with a state of a newer version: a newer program must decide about them.
    mutating func stopBeforeNewerStates() {
        if let index = events.firstIndex(where: { isNewer($0.key) }) {
            let event = events[index]
            halt = Self.newerState(of: event.key)
            position = max(storedPosition, event.offset - 1)
            events.removeSubrange(index...)
            due = []
            hasMore = false
        } else if let key = due.first(where: isNewer) {
            halt = Self.newerState(of: key)
            due.removeAll(where: isNewer)
        }
    }

    private func isNewer(_ key: AggregateKey) -> Bool {
        if case .newerState = faults[key] { true } else { false }
    }

    private static func newerState(of key: AggregateKey) -> Halt {
        Halt(reason: "the state of \(key) is newer than this program", isOfState: true)
    }

    /// Returns the reason if only a newer program can read the event.
    static func tooNew(_ event: Event) -> String? {
        let known = M.newestVersions[event.type] ?? 1
        guard event.version > known else { return nil }
        return "\(event.type) at offset \(event.offset) has version \(event.version); this program reads up to \(known)"
    }

    /// Notifies aggregates of an outage in memory. The next batch notifies those without time.
    mutating func notify(_ batch: inout Batch<M>) {
        for (index, key) in outages.unheard.enumerated() {
            let isNewer = isNewer(key)
            if isNewer { halt = halt ?? Self.newerState(of: key) }
            guard !isNewer, isAtHead, batch.run(outageFor: key) else {
                outages.unheard.removeSubrange(index...)
                outages.isLast = false
                hasMore = hasMore || !isNewer
                return
            }
        }
        if !isAtHead { outages.isLast = false }
    }
}

/// The outages that a batch knows.
///
/// The cursor row keeps the outages that the lease's acquisition or renewal found (`bus.outage_between` defines them). It
/// keeps them until every aggregate with a deadline is notified. Each batch at the head of the log notifies some
/// aggregates. Others are notified by their next input, if it comes earlier. A repeated notification changes nothing,
/// because the aggregate's own time is then after the outage. So after a crash only uncommitted work is repeated.
struct OutageReading: Sendable {
    /// The outage to apply before inputs.
    var outage: Outage?
    /// The outage in the cursor row, under our lease.
    var recorded: Outage?
    /// The next aggregates to notify, in the order of their keys.
    var unheard: [AggregateKey] = []
    /// Whether ``unheard`` are the last ones, and all of them are notified.
    var isLast = false
}
