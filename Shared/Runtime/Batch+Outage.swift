import Contracts
import Machines
import Timeline

extension Batch {
    static func name(ofOutageFor key: AggregateKey, until end: Instant) -> String {
        "outage:\(key):\(end.milliseconds)"
    }

    /// Fires an aggregate's deadlines up to a moment, but for those that an outage moves: it is told of the outage before.
    /// Nothing that goes by a deadline goes another way, so none fires that those outside could not meet.
    ///
    /// What was due before the outage began was missed before it. Where the moment lies within the outage, the aggregate is
    /// told of the part until then.
    mutating func fire(_ key: AggregateKey, until moment: Instant) -> Fired {
        guard let outage, let known = aggregates[key], known.nextDeadline != nil else {
            return fireDue(key, until: moment)
        }
        let rest = Outage(from: max(outage.from, known.now), until: min(outage.until, moment))
        guard rest.from < rest.until else { return fireDue(key, until: moment) }
        let missed = fireDue(key, until: rest.from)
        guard missed == .done, var aggregate = aggregates[key] else { return missed }
        do { try take(aggregate.note(rest, policy: policy, moments: &moments), aggregate) } catch {
            park(letter(key, rest), "\(error)")
            return .setAside
        }
        return fireDue(key, until: moment)
    }

    /// Tells an aggregate of the outage, as an input of its own.
    ///
    /// - Returns: false where there is no time for it in this batch.
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

    /// The place among the dead letters is that of the deadline which the outage comes before. The operator who replays it
    /// lets the deadline fire as if there had been no outage.
    private func letter(_ key: AggregateKey, _ outage: Outage) -> SetAside {
        SetAside(key: key, offset: 0, due: aggregates[key]?.nextDeadline ?? outage.until)
    }
}
