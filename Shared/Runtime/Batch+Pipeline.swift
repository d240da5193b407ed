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
    func pipeline(
        _ statements: Statements, position: Int, epoch: Int?, isAtHead: Bool = false, after: [Query] = []
    ) -> [Query] {
        let partitionParameter = Parameter.int4(Int32(partition))
        let consumer = Parameter.text(M.name)
        var queries: [Query] = []
        queries += writeMoments(statements, partitionParameter)
        let untouched = refreshed.filter { changed[$0] == nil }.compactMap { aggregates[$0] }
        if !untouched.isEmpty { queries.append(refreshStates(untouched, statements, partitionParameter)) }
        if !answers.isEmpty {
            queries.append(
                Query(
                    statements.storeAnswers,
                    [
                        partitionParameter, consumer, .texts(answers.map { $0.idempotency.key }),
                        .byteas(answers.map { $0.idempotency.fingerprint }), .byteas(answers.map { $0.body }),
                    ]))
        }
        if !setAside.isEmpty {
            queries.append(
                Query(
                    Statements.setAside,
                    [
                        partitionParameter, consumer, .texts(setAside.map { $0.key.description }),
                        .ints(setAside.map { $0.offset }),
                        .ints(setAside.map { $0.due.map { Int($0.milliseconds) } }), .texts(setAside.map { $0.reason }),
                    ]))
        }
        if let trial { queries.append(Query(Statements.clear, [partitionParameter, consumer, .text(trial)])) }
        queries += after
        // As late as possible, because the append locks the partition's head for all services.
        if !events.isEmpty {
            queries += [Self.append(events, to: partition, statements), writeStates(statements, partitionParameter)]
        }
        queries.append(
            Query(
                statements.moveCursor,
                [
                    partitionParameter, consumer, .uuid(id), .int(position), .int(events.count), .int(epoch),
                    .int(newlyParked),
                    .bool(isAtHead),
                ]))
        queries.append(Query(statements.commit))
        return queries
    }

    static func append(_ events: [Event], to partition: Int, _ statements: Statements) -> Query {
        Query(
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

    private func writeStates(_ statements: Statements, _ partitionParameter: Parameter) -> Query {
        let states = changed.compactMap { key, change in aggregates[key].map { ($0, change) } }
        return Query(
            statements.writeStates,
            [
                partitionParameter, .int4(Int32(M.version)), .texts(states.map { $0.0.key.description }),
                .byteas(states.map { $0.1.binary }), .ints(states.map { events.count - 1 - $0.1.last }),
                .ints(states.map { $0.0.eventCount }), .ints(states.map { Int($0.0.now.milliseconds) }),
                .ints(states.map { $0.0.nextDeadline.map { Int($0.milliseconds) } }), .ints(states.map { $0.1.base }),
            ])
    }

    /// Writes the changed pages of slots, and deletes the ended ones.
    private func writeMoments(_ statements: Statements, _ partitionParameter: Parameter) -> [Query] {
        guard let ceiling = slots.ceiling, !slots.changed.isEmpty else { return [] }
        let pages = slots.changed.sorted().map { (number: $0, taken: slots.page($0)) }
        let kept = pages.filter { !$0.taken.isEmpty }
        let over = over ?? .epoch
        let isShort = kept.count == pages.count && over == .epoch
        let write = Query(
            statements.writeMoments,
            [
                partitionParameter, .int4(Int32(ceiling)), .ints(kept.map { Int($0.number) }),
                .ints(kept.map { Int(slots.end(of: $0.number).milliseconds) }), .byteas(kept.map(\.taken)),
            ])
        guard !isShort else { return [write] }
        let empty = pages.filter(\.taken.isEmpty).map { Int($0.number) }
        return [
            write,
            Query(
                statements.dropMoments,
                [partitionParameter, .int4(Int32(ceiling)), .ints(empty), .int(Int(over.milliseconds))]),
        ]
    }

    private func refreshStates(_ states: [Aggregate<M>], _ statements: Statements, _ partitionParameter: Parameter)
        -> Query
    {
        Query(
            statements.refreshStates,
            [
                partitionParameter, .int4(Int32(M.version)), .texts(states.map { $0.key.description }),
                .byteas(states.map { $0.state.binary }), .ints(states.map { $0.eventCount }),
                .ints(states.map { $0.nextDeadline.map { Int($0.milliseconds) } }),
            ])
    }
}
