import Contracts
import Machines
import Timeline

extension Batch {
    static func name(ofOutageFor key: AggregateKey, until end: Instant) -> String {
        "outage:\(key):\(end.milliseconds)"
    }

    /// Fires an aggregate's deadlines up to a time. An outage comes first: it can move deadlines, so none fires that
    /// clients could not meet.
    ///
    /// Deadlines before the outage were missed. If the time is within the outage, the aggregate is notified of the part
    /// until then.
    mutating func fire(_ key: AggregateKey, until moment: Instant) -> Fired {
        guard let outage, let known = aggregates[key], known.nextDeadline != nil else {
            return fireDue(key, until: moment)
        }
        let rest = Outage(from: max(outage.from, known.now), until: min(outage.until, moment))
        guard rest.from < rest.until else { return fireDue(key, until: moment) }
        let missed = fireDue(key, until: rest.from)
        guard missed == .done, var aggregate = aggregates[key] else { return missed }
        do { try take(aggregate.note(rest, policy: policy, slots: &slots), aggregate) } catch {
            park(letter(key, rest), "\(error)")
            return .parked
        }
        return fireDue(key, until: moment)
    }

    /// Notifies an aggregate of the outage, as an input of its own.
    ///
    /// - Returns: false if this batch has no time left for it.
    mutating func run(outageFor key: AggregateKey) -> Bool {
        guard hasTime, !isStale(key) else { return false }
        inputs += 1
        guard !parked.contains(key), let outage else { return true }
        if let reason = condemned[Self.name(ofOutageFor: key, until: outage.until)] ?? faults[key]?.description {
            park(letter(key, outage), reason)
            return true
        }
        return fire(key, until: outage.until) != .outOfTime
    }

    /// Returns a dead letter with the deadline that follows the outage. If an operator replays it, the deadline fires
    /// as if there had been no outage.
    private func letter(_ key: AggregateKey, _ outage: Outage) -> ParkedInput {
        ParkedInput(key: key, offset: 0, due: aggregates[key]?.nextDeadline ?? outage.until)
    }
}
