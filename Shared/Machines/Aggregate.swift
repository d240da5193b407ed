public import Contracts
public import Foundation
import Records
public import Timeline

/// Where an input comes from: what its events carry on.
public struct Origin: Sendable, Equatable {
    /// 128 bits that name the input. Everything random in its decision derives from it.
    public var id: UUID
    public var correlation: UUID
    public var causation: UUID?
    public var traceparent: String?
    /// Whether every process that takes the same input derives the same id.
    public let isDerived: Bool

    /// An input from outside the suite.
    /// - Parameter id: a random id, unique to this input.
    /// - Parameter id: random; no other input has it.
    public init(id: UUID, traceparent: String? = nil) {
        self.id = id
        correlation = id
        self.traceparent = traceparent
        isDerived = false
    }

    /// Creates the origin of an input that several processes may take at once, all with the same id.
    public init(derivedID id: UUID, traceparent: String? = nil) {
        self.id = id
        correlation = id
        self.traceparent = traceparent
        isDerived = true
    }

    /// An input that is another service's event.
    public init(following event: Event) {
        id = event.id
        correlation = event.correlation
        causation = event.id
        traceparent = event.traceparent
        isDerived = true
    }
}

/// A deadline that came and changed nothing: it would come for ever.
public struct StuckDeadline: Error, Sendable, CustomStringConvertible {
    public let key: AggregateKey
    public let due: Instant

    public var description: String { "the deadline of \(key) at \(due) came and is still there" }
}

/// A machine with its place in time: what both runtimes keep of one aggregate, and the one way in which inputs reach it.
public struct Aggregate<M: Machine>: Sendable {
    public let key: AggregateKey
    /// A reference: aggregates are handed around much more often than they change.
    private var snapshot: Snapshot
    /// The moment of the last decision that changed anything.
    public private(set) var now: Instant
    /// How many events the state is the fold of.
    public private(set) var eventCount: Int

    private final class Snapshot: Sendable {
        let state: M
        let nextDeadline: Instant?

        init(_ state: M) {
            self.state = state
            nextDeadline = state.nextDeadline
        }
    }

    public var state: M { snapshot.state }
    /// The earliest moment at which time itself is an input; nil when there is none.
    public var nextDeadline: Instant? { snapshot.nextDeadline }

    public init(key: AggregateKey) { self.init(key: key, state: M(), now: .epoch, eventCount: 0) }

    public init(key: AggregateKey, state: M, now: Instant, eventCount: Int) {
        self.key = key
        snapshot = Snapshot(state)
        self.now = now
        self.eventCount = eventCount
    }

    /// The fold of a history: the state that the log says it has.
    public init(key: AggregateKey, folding history: [Event]) throws(ContractError) {
        self.init(key: key)
        try fold(history)
    }

    /// Takes in its own events that came after this state.
    public mutating func fold(_ history: [Event]) throws(ContractError) {
        var state = state
        var latest = now
        for event in history {
            state.apply(try M.OwnEvent(type: event.type, version: event.version, data: event.data), at: event.time)
            latest = max(latest, event.time)
        }
        snapshot = Snapshot(state)
        now = latest
        eventCount += history.count
    }

    /// Fires all deadlines up to a moment, each as of its due time.
    ///
    /// - Parameters:
    ///   - moments: what all aggregates of the partition hold; kept up to date.
    ///   - limit: at most so many; the rest waits for the next call.
    /// - Returns: their events in order.
    public mutating func fireDeadlines(
        until moment: Instant, policy: M.Policy, moments: inout MomentLedger, limit: Int = 1000
    ) throws -> [Event] {
        var fired: [Event] = []
        var count = 0
        while let due = nextDeadline, due <= moment, count < limit {
            count += 1
            let id = DecisionIdentifiers.derived(M.name, key.description, String(due.milliseconds), String(eventCount))
            let events = try decide(.deadline(due), Origin(id: id), at: due, policy: policy, moments: &moments).sealed
            guard !events.isEmpty || nextDeadline.map({ $0 > due }) ?? true else {
                throw StuckDeadline(key: key, due: due)
            }
            fired += events
        }
        return fired
    }

    /// Decides one input as of `arrival`, or as of the aggregate's last moment when that is later.
    ///
    /// - Parameter moments: what all aggregates of the partition hold; kept up to date.
    /// - Throws: the machine's refusal; the aggregate is then unchanged.
    /// - Returns: the events, as the machine told them and as the log takes them.
    public mutating func decide(
        _ input: Input<M.Command>, _ origin: Origin, at arrival: Instant, policy: M.Policy,
        moments: inout MomentLedger
    ) throws(M.Refusal) -> (own: [M.OwnEvent], sealed: [Event]) {
        let moment = max(now, arrival)
        // Several machines follow one event: each draws from a seed of its own, or their events would have the same ids.
        let seed =
            if case .event = input { DecisionIdentifiers.derived(M.name, origin.id.lowercased) } else { origin.id }
        var decision = Decision(key: key, now: moment, policy: policy, state: state, inputID: seed)
        // Lent, not copied.
        swap(&decision.moments, &moments)
        defer { swap(&decision.moments, &moments) }
        do throws(M.Refusal) { try M.decide(input, &decision) } catch {
            decision.moments.replace(decision.state.heldMoments, by: state.heldMoments, at: .epoch)
            throw error
        }
        let sealed = take(&decision, origin)
        return (decision.events, sealed)
    }

    /// Decides what follows from an outage, as of its end. What the aggregate has lived through of it already, it is not told
    /// of again: noting the same outage twice, or one that goes on, in parts, adds each moment of it once.
    ///
    /// All deadlines up to the outage's beginning, or to ``now`` where that is later, must have fired.
    /// - Parameter moments: what all aggregates of the partition hold; kept up to date.
    public mutating func note(_ outage: Outage, policy: M.Policy, moments: inout MomentLedger) -> [Event] {
        let rest = Outage(from: max(outage.from, now), until: outage.until)
        guard eventCount > 0, rest.from < rest.until else { return [] }
        let id = DecisionIdentifiers.derived(
            M.name, key.description, "outage", String(rest.until.milliseconds), String(eventCount))
        var decision = Decision(key: key, now: rest.until, policy: policy, state: state, inputID: id)
        swap(&decision.moments, &moments)
        defer { swap(&decision.moments, &moments) }
        M.note(rest, &decision)
        return take(&decision, Origin(id: id))
    }

    /// Makes what was decided the aggregate's own.
    ///
    /// - Returns: the events, sealed.
    private mutating func take(_ decision: inout Decision<M>, _ origin: Origin) -> [Event] {
        guard !decision.events.isEmpty else { return [] }
        let moment = decision.now
        let sealed = decision.events.map { event in
            let data = event.data
            return Event(
                id: decision.eventID(), source: M.name, type: Swift.type(of: data).type,
                version: Swift.type(of: data).version, key: key, app: data.app, time: moment,
                correlation: origin.correlation, causation: origin.causation, traceparent: origin.traceparent,
                data: data.jsonBytes)
        }
        snapshot = Snapshot(decision.state)
        now = moment
        eventCount += sealed.count
        return sealed
    }
}
