import Contracts
import EventLog
import Foundation
import Machines
import OrderedCollections
import Postgres
import Records
import Timeline

/// The result of one submission, before the commit.
enum CommandResult: Sendable {
    /// With the number of events in the batch at this point. The last of them is the command's own, if it has any.
    case answer([UInt8], events: Int)
    case replay([UInt8])
    case refused(any Error)
    /// The batch had no time for it.
    case later
}

/// Why only a newer program can read the log further.
struct Halt: Sendable, Equatable {
    var reason: String
    /// Whether a newer state is the cause. It may get an older form again; a newer event stays in the log.
    var isOfState: Bool
}

/// One input that a batch parks.
struct ParkedInput: Sendable {
    var key: AggregateKey
    /// The event's offset; 0 for a deadline.
    var offset: Int
    var due: Instant?
    /// The reason; nil if it only waits behind another input.
    var reason: String?
}

/// The change of one aggregate by a batch.
struct Change {
    /// Its number of events before.
    var base: Int
    /// The index of its last event.
    var last = 0
    /// Its new state in the stored form.
    var written = WrittenForm(version: 0, binary: [])
}

/// One batch of one partition, decided in memory between its two pipelines.
struct Batch<M: Machine> {
    let partition: Int
    let id = UUID.random()
    let policy: M.Policy
    /// The version of the form in which it writes states, at most that of the machine.
    var form = M.version
    /// The known aggregates of the partition, with this batch's changes.
    var aggregates: [AggregateKey: Aggregate<M>]
    /// The sizes of the stored states that were read for the batch, in bytes.
    var sizes: [AggregateKey: Int] = [:]
    /// The slot reservations of the partition, with this batch's changes.
    var slots: SlotAllocator
    /// The suite time of the batch.
    var moment = Instant.epoch
    /// Delete stored slots that ended before this time; nil for none.
    var over: Instant?
    /// The aggregates with an unusable stored state.
    var faults: [AggregateKey: RuntimeError] = [:]
    var parked: Set<AggregateKey> = []
    /// Inputs that must not run, by name, with the reason.
    var condemned: [String: String] = [:]
    /// Commands that must not run, by name.
    var condemnedCommands: Set<String> = []
    /// Aggregates whose row is written again without events: its state has an older form, or its deadline is over.
    var refreshed: Set<AggregateKey> = []
    /// States of an older machine that need an upgrade first. Later batches take their inputs.
    var stale: [AggregateKey: StoredState] = [:]
    /// Whether an input may have ended the partition's owners. Commands need no lease and no trial, so they must fire
    /// no deadline then: each repetition of the command could end another process.
    var isDoubtful = false
    /// A period in which the service accepted no calls. Aggregates are notified before their deadlines fire.
    var outage: Outage?
    /// The input on trial.
    var trial: String?
    private(set) var events: [Event] = []
    private(set) var verdicts: [CommandResult] = []
    /// The aggregates that changed.
    private(set) var changed: OrderedDictionary<AggregateKey, Change> = [:]
    private(set) var answers: [(idempotency: Idempotency, body: [UInt8])] = []
    private(set) var audits: [AuditEntry] = []
    /// The id of the first event of a command with a random origin, and its index in ``events``. Only this batch uses
    /// the id, so it proves in the log that the batch was committed.
    private(set) var probe: (id: UUID, index: Int)?
    /// Whether no event proves that the batch was committed, though commands got answers: all have derived origins, or
    /// none has an event.
    var isUnproven: Bool {
        probe == nil
            && verdicts.contains { verdict in
                if case .answer = verdict { true } else { false }
            }
    }
    private(set) var parkedInputs: [ParkedInput] = []
    private(set) var newlyParked = 0
    /// Why only a newer program can read the log further.
    private(set) var halt: Halt?
    /// The number of decided inputs.
    var inputs = 0
    /// The start of the decisions.
    let start: ContinuousClock.Instant
    private let plan: Duration
    private var end: ContinuousClock.Instant

    /// - Parameter plan: the time limit for the decisions of one portion.
    init(
        partition: Int, policy: M.Policy, aggregates: [AggregateKey: Aggregate<M>],
        slots: SlotAllocator = SlotAllocator(ceiling: nil), plan: Duration = .milliseconds(25)
    ) {
        self.partition = partition
        self.policy = policy
        self.aggregates = aggregates
        self.slots = slots
        self.plan = plan
        start = .now
        end = start + plan
    }

    var isEmpty: Bool {
        events.isEmpty && answers.isEmpty && audits.isEmpty && parkedInputs.isEmpty && refreshed.isEmpty && trial == nil
    }

    /// Gives the next kind of inputs its own time, so that none starves the others.
    mutating func beginPortion() { end = .now + plan }

    /// Whether there is time for an input. The first one always runs.
    var hasTime: Bool { inputs == 0 || .now < end }

    /// The check for an empty dictionary is faster: most batches have no stale states.
    func isStale(_ key: AggregateKey) -> Bool { !stale.isEmpty && stale[key] != nil }

    static func name(ofEventAt offset: Int) -> String { "event:\(offset)" }
    static func name(of key: AggregateKey, due: Instant) -> String { "deadline:\(key):\(due.milliseconds)" }

    /// Leaves submissions to later batches.
    mutating func postpone(_ count: Int) { verdicts += repeatElement(.later, count: count) }

    /// Replaces the verdict on a submission.
    mutating func overrule(_ index: Int, by verdict: CommandResult) { verdicts[index] = verdict }

    /// Runs one submission. A refusal fails only this submission.
    mutating func run(
        _ submission: Submission<M>, at now: Instant, stored: [String: (fingerprint: [UInt8], answer: [UInt8])]
    ) {
        guard hasTime, !isStale(submission.key) else { return verdicts.append(.later) }
        inputs += 1
        verdicts.append(verdict(on: submission, at: now, stored: stored))
    }

    private mutating func verdict(
        on submission: Submission<M>, at now: Instant, stored: [String: (fingerprint: [UInt8], answer: [UInt8])]
    ) -> CommandResult {
        if let fault = faults[submission.key] { return .refused(fault) }
        if let idempotency = submission.idempotency {
            let before =
                stored[idempotency.key]
                ?? answers.first { $0.idempotency.key == idempotency.key }.map { ($0.idempotency.fingerprint, $0.body) }
            if let before {
                let isSame = before.fingerprint == idempotency.fingerprint
                return isSame ? .replay(before.answer) : .refused(RuntimeError.idempotencyConflict)
            }
        }
        if !condemnedCommands.isEmpty, let name = submission.name, condemnedCommands.contains(name) {
            return .refused(RuntimeError.failed)
        }
        guard !parked.contains(submission.key) else { return .refused(RuntimeError.parked(key: submission.key)) }
        let known = aggregates[submission.key]
        let moment = max(now, known?.now ?? now)
        // A fast path: most aggregates have nothing due.
        if let due = known?.nextDeadline, due <= moment || outage != nil {
            if isDoubtful, due <= moment { return .refused(RuntimeError.overloaded) }
            switch fire(submission.key, until: moment) {
            case .done: break
            case .outOfTime: return .later
            case .parked: return .refused(RuntimeError.parked(key: submission.key))
            }
        }
        do {
            var aggregate = aggregates[submission.key] ?? Aggregate(key: submission.key)
            try submission.check?(aggregate)
            let decided = try aggregate.decide(
                .command(submission.command), submission.origin, at: now, policy: policy, slots: &slots)
            try take(decided.sealed, aggregate)
            if probe == nil, !submission.origin.isDerived, let first = decided.sealed.first {
                probe = (first.id, events.count - decided.sealed.count)
            }
            let body = submission.answer(aggregate, decided.own)
            if let idempotency = submission.idempotency { answers.append((idempotency, body)) }
            if let audit = submission.audit { audits.append(audit) }
            return .answer(body, events: events.count)
        } catch {
            return .refused(error)
        }
    }

    /// Runs an event of another service. If the rules refuse it, nothing changes. An unreadable event parks its device.
    /// An event that only a newer program can read halts the partition.
    ///
    /// - Returns: false if this batch has no time left for it, or if it halts the partition.
    mutating func run(_ event: Event) -> Bool {
        guard hasTime, !isStale(event.key) else { return false }
        inputs += 1
        let key = event.key
        let letter = ParkedInput(key: key, offset: event.offset)
        if parked.contains(key) {
            parkedInputs.append(letter)
            return true
        }
        if let reason = condemned[Self.name(ofEventAt: event.offset)] ?? faults[key]?.description {
            park(letter, reason)
            return true
        }
        switch fire(key, until: moment(of: key, event.time)) {
        case .done: break
        case .outOfTime: return false
        case .parked:
            parkedInputs.append(letter)
            return true
        }
        var aggregate = aggregates[key] ?? Aggregate(key: key)
        let decided: [Event]
        do throws(M.Refusal) {
            decided = try aggregate.decide(
                .event(event), Origin(following: event), at: event.time, policy: policy, slots: &slots
            ).sealed
        } catch {
            guard let reason = error.unreadable else { return true }
            guard case .newerVersion = reason else {
                park(letter, reason.description)
                return true
            }
            halt = Halt(reason: "\(reason) (offset \(event.offset))", isOfState: false)
            return false
        }
        do { try take(decided, aggregate) } catch { park(letter, "\(error)") }
        return true
    }

    /// Fires an aggregate's deadlines up to a time, as an input of its own.
    ///
    /// - Returns: false if this batch has no time left for it.
    mutating func run(deadlinesOf key: AggregateKey, until now: Instant) -> Bool {
        guard hasTime, !isStale(key) else { return false }
        inputs += 1
        guard !parked.contains(key) else { return true }
        if let fault = faults[key] {
            park(ParkedInput(key: key, offset: 0, due: now), fault.description)
            return true
        }
        let fired = fire(key, until: now)
        // The stored deadline is that of another version, or it is over for another reason.
        if fired == .done, changed[key] == nil { refreshed.insert(key) }
        return fired != .outOfTime
    }

    /// Returns the time of a decision. An aggregate's time never goes back, so all deadlines up to this time fire
    /// first.
    private func moment(of key: AggregateKey, _ stamp: Instant) -> Instant {
        max(stamp, aggregates[key]?.now ?? stamp)
    }

    enum Fired { case done, outOfTime, parked }

    /// Fires deadlines one at a time, so that earlier successes count and the one at fault is known.
    mutating func fireDue(_ key: AggregateKey, until moment: Instant) -> Fired {
        var isFirst = true
        while var aggregate = aggregates[key], let due = aggregate.nextDeadline, due <= moment {
            guard isFirst || .now < end else { return .outOfTime }
            isFirst = false
            let letter = ParkedInput(key: key, offset: 0, due: due)
            if let reason = condemned[Self.name(of: key, due: due)] {
                park(letter, reason)
                return .parked
            }
            do {
                try take(
                    try aggregate.fireDeadlines(until: due, policy: policy, slots: &slots, limit: 1), aggregate)
            } catch {
                park(letter, "\(error)")
                return .parked
            }
        }
        return .done
    }

    mutating func park(_ letter: ParkedInput, _ reason: String) {
        var letter = letter
        letter.reason = reason
        parkedInputs.append(letter)
        parked.insert(letter.key)
        newlyParked += 1
    }

    mutating func take(_ decided: [Event], _ aggregate: Aggregate<M>) throws {
        guard !decided.isEmpty else { return }
        let written = aggregate.state.written(as: form, at: aggregate.now)
        guard written.binary.count <= 65536 else {
            // The decision is discarded, so the previous reservations return.
            let held = aggregates[aggregate.key]?.state.reservedSlots ?? []
            slots.replace(aggregate.state.reservedSlots, by: held, at: .epoch)
            throw RuntimeError.stateTooLarge(key: aggregate.key, bytes: written.binary.count)
        }
        events += decided
        aggregates[aggregate.key] = aggregate
        let base = changed[aggregate.key]?.base ?? aggregate.eventCount - decided.count
        changed[aggregate.key] = Change(base: base, last: events.count - 1, written: written)
    }
}
