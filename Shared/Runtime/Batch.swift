import OrderedCollections
import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Records
import Timeline

/// What became of one submission, before the commit tells whether it counts.
enum Verdict: Sendable {
    case answer([UInt8])
    case replay([UInt8])
    case refused(any Error)
}

/// One batch of one partition while it is worked out in memory, between its two flights.
struct Batch<M: Machine> {
    let partition: Int
    let id = UUID()
    let policy: M.Policy
    /// The aggregates of the partition as far as they are known, with this batch's changes.
    var aggregates: [AggregateKey: Aggregate<M>]
    private(set) var events: [Event] = []
    private(set) var verdicts: [Verdict] = []
    /// The aggregates that changed, with the index of their last event.
    private(set) var changed: OrderedDictionary<AggregateKey, Int> = [:]
    private(set) var answers: [(idempotency: Idempotency, body: [UInt8])] = []

    init(partition: Int, policy: M.Policy, aggregates: [AggregateKey: Aggregate<M>]) {
        self.partition = partition
        self.policy = policy
        self.aggregates = aggregates
    }

    var isEmpty: Bool { events.isEmpty && answers.isEmpty }

    /// Runs one submission; its refusal fails it alone.
    mutating func run(
        _ submission: Submission<M>, at now: Instant, stored: [String: (fingerprint: [UInt8], answer: [UInt8])]
    ) {
        do { try submission.check?(aggregates[submission.key] ?? Aggregate(key: submission.key)) } catch {
            return verdicts.append(.refused(error))
        }
        if let idempotency = submission.idempotency {
            let before =
                stored[idempotency.key]
                ?? answers.first { $0.idempotency.key == idempotency.key }.map { ($0.idempotency.fingerprint, $0.body) }
            if let before {
                let isSame = before.fingerprint == idempotency.fingerprint
                return verdicts.append(isSame ? .replay(before.answer) : .refused(RuntimeError.idempotencyConflict))
            }
        }
        do {
            try fire(submission.key, until: now)
            var aggregate = aggregates[submission.key] ?? Aggregate(key: submission.key)
            let decided = try aggregate.decide(.command(submission.command), submission.origin, at: now, policy: policy)
            try take(decided, aggregate)
            let body = submission.answer(aggregate, decided)
            if let idempotency = submission.idempotency { answers.append((idempotency, body)) }
            verdicts.append(.answer(body))
        } catch {
            verdicts.append(.refused(error))
        }
    }

    /// Runs another service's event. A refusal means that the event changes nothing here.
    mutating func run(_ event: Event) throws {
        try fire(event.key, until: event.time)
        var aggregate = aggregates[event.key] ?? Aggregate(key: event.key)
        let decided: [Event]
        do throws(M.Refusal) {
            decided = try aggregate.decide(.event(event), Origin(following: event), at: event.time, policy: policy)
        } catch {
            return
        }
        try take(decided, aggregate)
    }

    /// Fires an aggregate's deadlines up to a moment.
    mutating func fire(_ key: AggregateKey, until moment: Instant) throws {
        guard var aggregate = aggregates[key], let due = aggregate.state.nextDeadline, due <= moment else { return }
        let fired = try aggregate.fireDeadlines(until: moment, policy: policy)
        try take(fired, aggregate)
    }

    private mutating func take(_ decided: [Event], _ aggregate: Aggregate<M>) throws {
        guard !decided.isEmpty else { return }
        let bytes = aggregate.state.binary.count
        guard bytes <= 65536 else { throw RuntimeError.stateTooLarge(key: aggregate.key, bytes: bytes) }
        events += decided
        aggregates[aggregate.key] = aggregate
        changed[aggregate.key] = events.count - 1
    }

    /// The second flight: everything or nothing.
    func flight(_ statements: Statements, position: Int) -> [Call] {
        let place = Parameter.int4(Int32(partition))
        var calls: [Call] = []
        if !events.isEmpty {
            calls.append(
                Call(
                    statements.append,
                    [
                        place, .int(events.count), .text(M.name), .uuids(events.map(\.id)), .texts(events.map(\.type)),
                        .int4s(events.map { Int32($0.version) }), .texts(events.map(\.key.description)),
                        .texts(events.map(\.app)), .ints(events.map { Int($0.time.milliseconds) }),
                        .uuids(events.map(\.correlation)), .uuids(events.map(\.causation)),
                        .texts(events.map(\.traceparent)), .jsons(events.map(\.data)),
                    ], rowsExpected: events.count))
            let states = changed.compactMap { key, last in aggregates[key].map { ($0, last) } }
            calls.append(
                Call(
                    statements.writeStates,
                    [
                        place, .int4(Int32(M.version)), .texts(states.map(\.0.key.description)),
                        .byteas(states.map(\.0.state.binary)), .ints(states.map { events.count - 1 - $0.1 }),
                        .ints(states.map(\.0.eventCount)), .ints(states.map { Int($0.0.now.milliseconds) }),
                        .ints(states.map { $0.0.state.nextDeadline.map { Int($0.milliseconds) } }),
                    ], rowsExpected: states.count))
        }
        if !answers.isEmpty {
            calls.append(
                Call(
                    statements.storeAnswers,
                    [
                        place, .text(M.name), .texts(answers.map(\.idempotency.key)),
                        .byteas(answers.map(\.idempotency.fingerprint)), .byteas(answers.map(\.body)),
                    ], rowsExpected: answers.count))
        }
        calls.append(
            Call(
                statements.moveCursor,
                [place, .text(M.name), .uuid(id), .int(position), .int(events.count)], rowsExpected: 1))
        calls.append(Call(statements.head, [place], rowsExpected: 1))
        calls.append(Call(statements.commit))
        return calls
    }
}
