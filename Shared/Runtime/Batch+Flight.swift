import Contracts
import EventLog
import Machines
import OrderedCollections
import Postgres
import Records
import Timeline

extension Batch {
    /// Returns the calls of the second pipeline, which commits everything or nothing. The answer before that of the
    /// COMMIT is the cursor's, with the head.
    ///
    /// - Parameters:
    ///   - epoch: the epoch of the lease, if the batch took events or deadlines.
    ///   - isAtHead: whether the log is read to its head and no deadline is due.
    ///   - after: other calls of the transaction.
    func flight(
        _ statements: Statements, position: Int, epoch: Int?, isAtHead: Bool = false, after: [Call] = []
    ) -> [Call] {
        let place = Parameter.int4(Int32(partition))
        let consumer = Parameter.text(M.name)
        var calls: [Call] = []
        calls += writeMoments(statements, place)
        let untouched = refreshed.filter { changed[$0] == nil }.compactMap { aggregates[$0] }
        if !untouched.isEmpty { calls.append(refreshStates(untouched, statements, place)) }
        if !answers.isEmpty {
            calls.append(
                Call(
                    statements.storeAnswers,
                    [
                        place, consumer, .texts(answers.map { $0.idempotency.key }),
                        .byteas(answers.map { $0.idempotency.fingerprint }), .byteas(answers.map { $0.body }),
                    ]))
        }
        if !setAside.isEmpty {
            calls.append(
                Call(
                    Statements.setAside,
                    [
                        place, consumer, .texts(setAside.map { $0.key.description }), .ints(setAside.map { $0.offset }),
                        .ints(setAside.map { $0.due.map { Int($0.milliseconds) } }), .texts(setAside.map { $0.reason }),
                    ]))
        }
        if let trial { calls.append(Call(Statements.clear, [place, consumer, .text(trial)])) }
        calls += after
        // As late as possible, because the append locks the partition's head for all services.
        if !events.isEmpty {
            calls += [Self.append(events, to: partition, statements), writeStates(statements, place)]
        }
        calls.append(
            Call(
                statements.moveCursor,
                [
                    place, consumer, .uuid(id), .int(position), .int(events.count), .int(epoch), .int(newlyParked),
                    .bool(isAtHead),
                ]))
        calls.append(Call(statements.commit))
        return calls
    }

    static func append(_ events: [Event], to partition: Int, _ statements: Statements) -> Call {
        Call(
            statements.append,
            [
                .int4(Int32(partition)), .int(events.count), .text(M.name), .uuids(events.map { $0.id }),
                .texts(events.map { $0.type }), .int4s(events.map { Int32($0.version) }),
                .texts(events.map { $0.key.description }), .texts(events.map { $0.app }),
                .ints(events.map { Int($0.time.milliseconds) }), .uuids(events.map { $0.correlation }),
                .uuids(events.map { $0.causation }), .texts(events.map { $0.traceparent }),
                .jsons(events.map { $0.data }),
            ])
    }

    private func writeStates(_ statements: Statements, _ place: Parameter) -> Call {
        let states = changed.compactMap { key, change in aggregates[key].map { ($0, change) } }
        return Call(
            statements.writeStates,
            [
                place, .int4(Int32(M.version)), .texts(states.map { $0.0.key.description }),
                .byteas(states.map { $0.1.binary }), .ints(states.map { events.count - 1 - $0.1.last }),
                .ints(states.map { $0.0.eventCount }), .ints(states.map { Int($0.0.now.milliseconds) }),
                .ints(states.map { $0.0.nextDeadline.map { Int($0.milliseconds) } }), .ints(states.map { $0.1.base }),
            ])
    }

    /// Writes the changed pages of slots, and deletes the ended ones.
    private func writeMoments(_ statements: Statements, _ place: Parameter) -> [Call] {
        guard let ceiling = moments.ceiling, !moments.changed.isEmpty else { return [] }
        let pages = moments.changed.sorted().map { (number: $0, taken: moments.page($0)) }
        let kept = pages.filter { !$0.taken.isEmpty }
        let over = over ?? .epoch
        let isShort = kept.count == pages.count && over == .epoch
        let write = Call(
            statements.writeMoments,
            [
                place, .int4(Int32(ceiling)), .ints(kept.map { Int($0.number) }),
                .ints(kept.map { Int(moments.end(of: $0.number).milliseconds) }), .byteas(kept.map(\.taken)),
            ])
        guard !isShort else { return [write] }
        let empty = pages.filter(\.taken.isEmpty).map { Int($0.number) }
        return [
            write,
            Call(
                statements.dropMoments,
                [place, .int4(Int32(ceiling)), .ints(empty), .int(Int(over.milliseconds))]),
        ]
    }

    private func refreshStates(_ states: [Aggregate<M>], _ statements: Statements, _ place: Parameter) -> Call {
        Call(
            statements.refreshStates,
            [
                place, .int4(Int32(M.version)), .texts(states.map { $0.key.description }),
                .byteas(states.map { $0.state.binary }), .ints(states.map { $0.eventCount }),
                .ints(states.map { $0.nextDeadline.map { Int($0.milliseconds) } }),
            ])
    }
}
