public import Contracts
public import Foundation
import Records
public import Timeline

/// The origin of an input. Its events carry the ids of the origin.
public struct Origin: Sendable, Equatable {
    /// A unique id of the input. All random values of its decision derive from it.
    public var id: UUID
    /// The id that all effects of one first cause share; nil for the id of the input's first event. Event ids ascend with
    /// time, so the index on correlation ids grows at its end.
    public var correlation: UUID?
    /// The event that the input follows from; nil for commands and deadlines.
    public var causation: UUID?
    /// The W3C trace context of the request.
    public var traceparent: String?
    /// The sender of the command, such as `operator:alice`; nil for events and deadlines.
    public var actor: String?
    /// Whether every process derives the same id for the same input.
    public let isDerived: Bool

    /// Creates the origin of an input from outside the suite.
    /// - Parameter id: a random id, unique to this input.
    public init(id: UUID, traceparent: String? = nil, actor: String? = nil) {
        self.id = id
        self.traceparent = traceparent
        self.actor = actor
        isDerived = false
    }

    /// Creates the origin of an input that several processes may take at once, all with the same id.
    public init(derivedID id: UUID, traceparent: String? = nil, actor: String? = nil) {
        self.id = id
        self.traceparent = traceparent
        self.actor = actor
        isDerived = true
    }

    /// Creates the origin of an input that is an event of another service.
    public init(following event: Event) {
        id = event.id
        correlation = event.correlation
        causation = event.id
        traceparent = event.traceparent
        isDerived = true
    }
}

/// An error: a deadline fired, changed nothing and would fire for ever.
public struct StuckDeadline: Error, Sendable, CustomStringConvertible {
    /// The aggregate of the deadline.
    public let key: AggregateKey
    /// The deadline.
    public let due: Instant

    @usableFromInline
    init(key: AggregateKey, due: Instant) {
        self.key = key
        self.due = due
    }

    public var description: String { "the deadline of \(key) at \(due) fired and stayed due" }
}

/// A machine with its key, time and event count. Both runtimes pass inputs to machines only through this type.
public struct Aggregate<M: Machine>: Sendable {
    /// The name of the aggregate. It decides the partition.
    public let key: AggregateKey
    /// A reference, because aggregates are copied much more often than they change.
    @usableFromInline var snapshot: Snapshot
    /// The time of the last decision that changed the state.
    @inlinable public var now: Instant { lastDecision }
    /// The number of events in the fold.
    @inlinable public var eventCount: Int { foldedEvents }

    @usableFromInline var lastDecision: Instant
    @usableFromInline var foldedEvents: Int

    /// The state with its deadline.
    ///
    /// It is safe to send, because it changes only in ``decideInPlace(_:_:at:policy:slots:_:)``, and only while one
    /// aggregate refers to it.
    @usableFromInline final class Snapshot: @unchecked Sendable {
        @usableFromInline var state: M
        @usableFromInline var nextDeadline: Instant?

        @inlinable init(_ state: M) {
            self.state = state
            nextDeadline = state.nextDeadline
        }
    }

    /// The current state. An access to a part of it copies only this part.
    @inlinable public var state: M { _read { yield snapshot.state } }
    /// The earliest deadline; nil if there is none.
    @inlinable public var nextDeadline: Instant? { snapshot.nextDeadline }

    /// Creates an aggregate without events.
    public init(key: AggregateKey) { self.init(key: key, state: M(), now: .epoch, eventCount: 0) }

    /// Creates an aggregate from a stored state.
    public init(key: AggregateKey, state: M, now: Instant, eventCount: Int) {
        self.key = key
        snapshot = Snapshot(state)
        lastDecision = now
        foldedEvents = eventCount
    }

    /// Creates an aggregate by the fold of its whole history.
    public init(key: AggregateKey, folding history: [Event]) throws(ContractError) {
        self.init(key: key)
        try fold(history)
    }

    /// Folds the aggregate's own events after this state.
    public mutating func fold(_ history: [Event]) throws(ContractError) {
        var state = state
        var latest = now
        for event in history {
            // An erased event counts, but its content is gone. The state was reset when the device was deregistered.
            if event.type != Event.erasedType { state.apply(try M.OwnEvent(event), at: event.time) }
            latest = max(latest, event.time)
        }
        snapshot = Snapshot(state)
        lastDecision = latest
        foldedEvents += history.count
    }

    /// Fires all deadlines up to a time, each as of its due time.
    ///
    /// - Parameters:
    ///   - slots: the slot reservations of the partition; the decisions update them.
    ///   - limit: the most deadlines of this call.
    /// - Returns: their events in order.
    public mutating func fireDeadlines(
        until moment: Instant, policy: M.Policy, slots: inout SlotAllocator, limit: Int = 1000
    ) throws -> [Event] {
        var fired: [Event] = []
        var count = 0
        while let due = nextDeadline, due <= moment, count < limit {
            count += 1
            fired += try fireDeadline(due, policy: policy, slots: &slots).sealed
        }
        return fired
    }

    /// Fires the earliest deadline as of its due time.
    ///
    /// - Parameters:
    ///   - due: the value of ``nextDeadline``.
    ///   - slots: the slot reservations of the partition; the decision updates them.
    /// - Returns: the events, as the machine emitted them and as the log stores them.
    public mutating func fireDeadline(
        _ due: Instant, policy: M.Policy, slots: inout SlotAllocator
    ) throws -> (own: [M.OwnEvent], sealed: [Event]) {
        let events = try decide(.deadline(due), Origin(id: deadlineID(due)), at: due, policy: policy, slots: &slots)
        guard !events.own.isEmpty || nextDeadline.map({ $0 > due }) ?? true else {
            throw StuckDeadline(key: key, due: due)
        }
        return events
    }

    /// Returns the id of the input of a deadline.
    @usableFromInline func deadlineID(_ due: Instant) -> UUID {
        DecisionIdentifiers.derived(M.name, key.description, String(due.milliseconds), String(eventCount))
    }

    /// Decides one input at `arrival`, or at the time of the last decision if that is later.
    ///
    /// - Parameter slots: the slot reservations of the partition; the decisions update them.
    /// - Throws: the machine's refusal. The aggregate is then unchanged.
    /// - Returns: the events, as the machine emitted them and as the log stores them.
    public mutating func decide(
        _ input: Input<M.Command>, _ origin: Origin, at arrival: Instant, policy: M.Policy,
        slots: inout SlotAllocator
    ) throws(M.Refusal) -> (own: [M.OwnEvent], sealed: [Event]) {
        let moment = max(now, arrival)
        var decision = Decision(
            key: key, now: moment, policy: policy, state: state, inputID: origin.id, follows: input.isEvent)
        // Swaps avoid a copy.
        swap(&decision.reservations, &slots)
        defer { swap(&decision.reservations, &slots) }
        do throws(M.Refusal) { try M.decide(input, &decision) } catch {
            decision.reservations.replace(decision.state.reservedSlots, by: state.reservedSlots, at: .epoch)
            throw error
        }
        let sealed = take(&decision, origin)
        return (decision.events, sealed)
    }

    /// Decides the effects of an outage at its end, without the part that the aggregate already knows. So a repeated or
    /// a growing outage counts each part once.
    ///
    /// All deadlines up to the start of the outage, or up to ``now`` if that is later, must have fired.
    /// - Parameter slots: the slot reservations of the partition; the decisions update them.
    public mutating func note(_ outage: Outage, policy: M.Policy, slots: inout SlotAllocator) -> [Event] {
        let rest = Outage(from: max(outage.from, now), until: outage.until)
        guard eventCount > 0, rest.from < rest.until else { return [] }
        let id = DecisionIdentifiers.derived(
            M.name, key.description, "outage", String(rest.until.milliseconds), String(eventCount))
        var decision = Decision(key: key, now: rest.until, policy: policy, state: state, inputID: id)
        swap(&decision.reservations, &slots)
        defer { swap(&decision.reservations, &slots) }
        M.note(rest, &decision)
        return take(&decision, Origin(id: id))
    }

    /// Adopts the result of a decision.
    ///
    /// - Returns: the events, as the log stores them.
    private mutating func take(_ decision: inout Decision<M>, _ origin: Origin) -> [Event] {
        guard !decision.events.isEmpty else { return [] }
        let moment = decision.now
        var correlation = origin.correlation
        let sealed = decision.events.map { family in
            let id = decision.eventID()
            let shared = correlation ?? id
            correlation = shared
            var event = Event(
                id: id, emitted: Emitted(family), key: key, time: moment, correlation: shared,
                causation: origin.causation,
                traceparent: origin.traceparent, actor: origin.actor)
            event.data = event.data
            return event
        }
        snapshot = Snapshot(decision.state)
        lastDecision = moment
        foldedEvents += sealed.count
        return sealed
    }
}
