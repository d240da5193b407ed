import Contracts
import EventLog
import Foundation
import Machines
import OrderedCollections
import Postgres
import Records
import Timeline

/// What became of one submission, before the commit tells whether it counts.
enum Verdict: Sendable {
    /// With the number of events that the batch had then: the last of them is the command's own, if it has any.
    case answer([UInt8], events: Int)
    case replay([UInt8])
    case refused(any Error)
    /// This batch had no time for it.
    case later
}

/// One input that a batch sets aside.
struct SetAside: Sendable {
    var key: AggregateKey
    /// The event's place; 0 for a deadline.
    var offset: Int
    var due: Instant?
    /// Why; nil for what only waits behind another.
    var reason: String?
}

/// What a batch does to one aggregate.
struct Change {
    /// How many events it had before.
    var base: Int
    /// The index of its last event.
    var last = 0
    /// Its new state, as it is stored.
    var binary: [UInt8] = []
}

/// One batch of one partition while it is worked out in memory, between its two flights.
struct Batch<M: Machine> {
    let partition: Int
    let id = UUID.random()
    let policy: M.Policy
    /// The aggregates of the partition as far as they are known, with this batch's changes.
    var aggregates: [AggregateKey: Aggregate<M>]
    /// The sizes of the stored states that were read for the batch, in bytes.
    var sizes: [AggregateKey: Int] = [:]
    /// What the aggregates of the partition hold, with this batch's changes.
    var moments: MomentLedger
    /// What the stored ledger holds of times before this is taken away; nil for nothing.
    var over: Instant?
    /// The aggregates whose stored state can't be used.
    var faults: [AggregateKey: RuntimeError] = [:]
    var parked: Set<AggregateKey> = []
    /// Inputs that are not to be run, by name, with the reason.
    var condemned: [String: String] = [:]
    /// Commands that are not to be run, by name.
    var condemnedCommands: Set<String> = []
    /// Aggregates whose stored state was of an older machine.
    var refreshed: Set<AggregateKey> = []
    /// States of an older machine that need an upgrade first. Later batches take their inputs.
    var stale: [AggregateKey: StoredState] = [:]
    /// Something may have ended the partition's owners. Commands need no lease and no trial, so they fire no deadline
    /// then: each repetition of the command would end one more process.
    var isDoubtful = false
    /// A time in which nobody reached the service: inputs are told of it before deadlines fire.
    var outage: Outage?
    /// The input on trial.
    var trial: String?
    private(set) var events: [Event] = []
    private(set) var verdicts: [Verdict] = []
    /// The aggregates that changed.
    private(set) var changed: OrderedDictionary<AggregateKey, Change> = [:]
    private(set) var answers: [(idempotency: Idempotency, body: [UInt8])] = []
    /// The id of the first event of a command with a random origin, and its index in ``events``. Only this batch makes
    /// the id, so it proves in the log that the batch was committed.
    private(set) var probe: (id: UUID, index: Int)?
    private(set) var setAside: [SetAside] = []
    private(set) var newlyParked = 0
    /// The reason why this program can't consume more of the log.
    private(set) var halt: String?
    /// How many inputs were taken in.
    var inputs = 0
    private let portion: Duration
    private var end: ContinuousClock.Instant

    /// - Parameter portion: how long the decisions of one portion may take.
    init(
        partition: Int, policy: M.Policy, aggregates: [AggregateKey: Aggregate<M>],
        moments: MomentLedger = MomentLedger(ceiling: nil), portion: Duration = .milliseconds(25)
    ) {
        self.partition = partition
        self.policy = policy
        self.aggregates = aggregates
        self.moments = moments
        self.portion = portion
        end = .now + portion
    }

    var isEmpty: Bool { events.isEmpty && answers.isEmpty && setAside.isEmpty && refreshed.isEmpty && trial == nil }

    /// Gives the next kind of inputs its own time, so that none starves the others.
    mutating func beginPortion() { end = .now + portion }

    /// At least one input is taken in, however late it is.
    var hasTime: Bool { inputs == 0 || .now < end }

    /// Most batches have none.
    func isStale(_ key: AggregateKey) -> Bool { !stale.isEmpty && stale[key] != nil }

    static func name(ofEventAt offset: Int) -> String { "event:\(offset)" }
    static func name(of key: AggregateKey, due: Instant) -> String { "deadline:\(key):\(due.milliseconds)" }

    /// Leaves submissions to later batches.
    mutating func postpone(_ count: Int) { verdicts += repeatElement(.later, count: count) }

    /// Replaces the verdict on a submission.
    mutating func overrule(_ index: Int, by verdict: Verdict) { verdicts[index] = verdict }

    /// Runs one submission; its refusal fails it alone.
    mutating func run(
        _ submission: Submission<M>, at now: Instant, stored: [String: (fingerprint: [UInt8], answer: [UInt8])]
    ) {
        guard hasTime, !isStale(submission.key) else { return verdicts.append(.later) }
        inputs += 1
        verdicts.append(verdict(on: submission, at: now, stored: stored))
    }

    private mutating func verdict(
        on submission: Submission<M>, at now: Instant, stored: [String: (fingerprint: [UInt8], answer: [UInt8])]
    ) -> Verdict {
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
        // Most have nothing due, and there are many.
        if let due = known?.nextDeadline, due <= moment || outage != nil {
            if isDoubtful, due <= moment { return .refused(RuntimeError.overloaded) }
            switch fire(submission.key, until: moment) {
            case .done: break
            case .outOfTime: return .later
            case .setAside: return .refused(RuntimeError.parked(key: submission.key))
            }
        }
        do {
            var aggregate = aggregates[submission.key] ?? Aggregate(key: submission.key)
            try submission.check?(aggregate)
            let decided = try aggregate.decide(
                .command(submission.command), submission.origin, at: now, policy: policy, moments: &moments)
            try take(decided.sealed, aggregate)
            if probe == nil, !submission.origin.isDerived, let first = decided.sealed.first {
                probe = (first.id, events.count - decided.sealed.count)
            }
            let body = submission.answer(aggregate, decided.own)
            if let idempotency = submission.idempotency { answers.append((idempotency, body)) }
            return .answer(body, events: events.count)
        } catch {
            return .refused(error)
        }
    }

    /// Runs another service's event. If the rules refuse it, it changes nothing here. An unreadable event parks its
    /// device. An event that only a newer program can read halts the partition.
    ///
    /// - Returns: false if this batch has no time left for it, or if it halts the partition.
    mutating func run(_ event: Event) -> Bool {
        guard hasTime, !isStale(event.key) else { return false }
        inputs += 1
        let key = event.key
        let letter = SetAside(key: key, offset: event.offset)
        if parked.contains(key) {
            setAside.append(letter)
            return true
        }
        if let reason = condemned[Self.name(ofEventAt: event.offset)] ?? faults[key]?.description {
            park(letter, reason)
            return true
        }
        switch fire(key, until: moment(of: key, event.time)) {
        case .done: break
        case .outOfTime: return false
        case .setAside:
            setAside.append(letter)
            return true
        }
        var aggregate = aggregates[key] ?? Aggregate(key: key)
        let decided: [Event]
        do throws(M.Refusal) {
            decided = try aggregate.decide(
                .event(event), Origin(following: event), at: event.time, policy: policy, moments: &moments
            ).sealed
        } catch {
            guard let reason = error.unreadable else { return true }
            guard case .newerVersion = reason else {
                park(letter, reason.description)
                return true
            }
            halt = "\(reason) (offset \(event.offset))"
            return false
        }
        do { try take(decided, aggregate) } catch { park(letter, "\(error)") }
        return true
    }

    /// Fires an aggregate's deadlines up to a moment, as an input of its own.
    ///
    /// - Returns: false where there is no time for it in this batch.
    mutating func run(deadlinesOf key: AggregateKey, until now: Instant) -> Bool {
        guard hasTime, !isStale(key) else { return false }
        inputs += 1
        guard !parked.contains(key) else { return true }
        if let fault = faults[key] {
            park(SetAside(key: key, offset: 0, due: now), fault.description)
            return true
        }
        return fire(key, until: now) != .outOfTime
    }

    /// When an input is decided: an aggregate's time never goes back, so what is due by then comes before it.
    private func moment(of key: AggregateKey, _ stamp: Instant) -> Instant {
        max(stamp, aggregates[key]?.now ?? stamp)
    }

    enum Fired { case done, outOfTime, setAside }

    /// One after the other, so that what goes well counts and the one at fault is known.
    mutating func fireDue(_ key: AggregateKey, until moment: Instant) -> Fired {
        var isFirst = true
        while var aggregate = aggregates[key], let due = aggregate.nextDeadline, due <= moment {
            guard isFirst || .now < end else { return .outOfTime }
            isFirst = false
            let letter = SetAside(key: key, offset: 0, due: due)
            if let reason = condemned[Self.name(of: key, due: due)] {
                park(letter, reason)
                return .setAside
            }
            do {
                try take(
                    try aggregate.fireDeadlines(until: due, policy: policy, moments: &moments, limit: 1), aggregate)
            } catch {
                park(letter, "\(error)")
                return .setAside
            }
        }
        return .done
    }

    mutating func park(_ letter: SetAside, _ reason: String) {
        var letter = letter
        letter.reason = reason
        setAside.append(letter)
        parked.insert(letter.key)
        newlyParked += 1
    }

    mutating func take(_ decided: [Event], _ aggregate: Aggregate<M>) throws {
        guard !decided.isEmpty else { return }
        let binary = aggregate.state.binary
        guard binary.count <= 65536 else {
            // Nothing of it counts, so it holds what it held before.
            let held = aggregates[aggregate.key]?.state.heldMoments ?? []
            moments.replace(aggregate.state.heldMoments, by: held, at: .epoch)
            throw RuntimeError.stateTooLarge(key: aggregate.key, bytes: binary.count)
        }
        events += decided
        aggregates[aggregate.key] = aggregate
        let base = changed[aggregate.key]?.base ?? aggregate.eventCount - decided.count
        changed[aggregate.key] = Change(base: base, last: events.count - 1, binary: binary)
    }
}
