public import Contracts
public import Timeline

/// An error: a machine refused an event of another service after it had emitted events, which can't be undone in place.
public struct RefusalAfterEvents: Error, CustomStringConvertible {
    /// The aggregate of the input.
    public let key: AggregateKey
    /// The code of the refusal.
    public let code: String

    @usableFromInline
    init(key: AggregateKey, code: String) {
        self.key = key
        self.code = code
    }

    public var description: String { "\(key) refused an input with \(code) after it had emitted events" }
}

// Decisions of a process that keeps no log, such as a simulation. They change the state in place, because its copies cost more than
// most decisions, and keep the data of events in memory.
extension Aggregate {
    /// Decides one input as ``decide(_:_:at:policy:slots:)`` does.
    ///
    /// - Parameters:
    ///   - slots: the slot reservations of the partition; the decision updates them.
    ///   - hand: gets each event, as the machine emitted it and with its ids.
    /// - Throws: the machine's refusal. The aggregate is then unchanged. Otherwise ``RefusalAfterEvents``.
    @inlinable
    public mutating func decideInPlace(
        _ input: Input<M.Command>, _ origin: Origin, at arrival: Instant, policy: M.Policy, slots: inout SlotAllocator,
        _ hand: (Emitted<M.OwnEvent>, Event) -> Void
    ) throws {
        if !isKnownUniquelyReferenced(&snapshot) { snapshot = Snapshot(snapshot.state) }
        let moment = max(now, arrival)
        // A machine may refuse a command after an event. The copy makes the first change of this decision more expensive.
        let former: M? = if case .command = input { snapshot.state } else { nil }
        var decision = Decision(
            key: key, now: moment, policy: policy, state: M(), inputID: origin.id, follows: input.isEvent)
        swap(&decision.currentState, &snapshot.state)
        swap(&decision.reservations, &slots)
        defer {
            swap(&decision.reservations, &slots)
            swap(&decision.currentState, &snapshot.state)
        }
        do throws(M.Refusal) { try M.decide(input, &decision) } catch {
            guard !decision.emitted.isEmpty else { throw error }
            guard let former else { throw RefusalAfterEvents(key: key, code: error.code) }
            decision.reservations.replace(decision.currentState.reservedSlots, by: former.reservedSlots, at: .epoch)
            decision.currentState = former
            throw error
        }
        guard !decision.emitted.isEmpty else { return }
        var correlation = origin.correlation
        for family in decision.emitted {
            let id = decision.eventID()
            let shared = correlation ?? id
            correlation = shared
            let emitted = Emitted(family)
            hand(
                emitted,
                Event(
                    id: id, emitted: emitted, key: key, time: moment, correlation: shared, causation: origin.causation,
                    traceparent: origin.traceparent, actor: origin.actor))
        }
        snapshot.nextDeadline = decision.currentState.nextDeadline
        lastDecision = moment
        foldedEvents += decision.emitted.count
    }

    /// Fires the earliest deadline as ``fireDeadline(_:policy:slots:)`` does.
    ///
    /// - Parameters:
    ///   - due: the value of ``nextDeadline``.
    ///   - slots: the slot reservations of the partition; the decision updates them.
    ///   - hand: gets each event, as the machine emitted it and with its ids.
    /// - Throws: ``StuckDeadline``.
    @inlinable
    public mutating func fireDeadlineInPlace(
        _ due: Instant, policy: M.Policy, slots: inout SlotAllocator, _ hand: (Emitted<M.OwnEvent>, Event) -> Void
    ) throws {
        let former = eventCount
        try decideInPlace(.deadline(due), Origin(id: deadlineID(due)), at: due, policy: policy, slots: &slots, hand)
        guard eventCount > former || nextDeadline.map({ $0 > due }) ?? true else {
            throw StuckDeadline(key: key, due: due)
        }
    }
}
