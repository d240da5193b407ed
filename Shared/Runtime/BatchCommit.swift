import Contracts
import EventLog
import Foundation
import Machines
import OrderedCollections
import Postgres
import Records
import Timeline

/// The writes of one partition's batch.
struct BatchCommit<M: Machine>: Sendable {
    let batch: Batch<M>
    /// The new position of the cursor.
    var position: Int
    /// The epoch of the lease, if the batch took events or deadlines.
    var epoch: Int?
    /// The assumption of a batch that was decided from memory. Such a batch does not know its position.
    var assumption: Assumption?
    /// Whether the log is read to its head and no deadline is due.
    var isAtHead = false
    /// The outage of which the last aggregate is notified.
    var clearsOutage: Outage?
    /// The commands whose records are deleted.
    var clearedCommands: [String] = []
    /// Other queries of the transaction.
    var after: [Query] = []

    /// Returns the queries that commit the batches of some partitions together: everything or nothing. If the batches
    /// assume, the first three begin the transaction and verify. The result before that of the COMMIT has the heads, by
    /// partition.
    static func pipeline(_ commits: [BatchCommit<M>], _ statements: Statements) -> [Query] {
        let commits = commits.sorted { $0.batch.partition < $1.batch.partition }
        let assumptions = commits.compactMap { commit in
            commit.assumption.map { (partition: commit.batch.partition, assumption: $0) }
        }
        var queries: [Query] = []
        if !assumptions.isEmpty {
            queries = [Query(statements.begin)] + Statements.verify(assumptions, consumer: M.name)
        }
        queries += commits.flatMap { $0.own(statements) }
        queries += storeAnswers(commits)
        // As late as possible, because the append locks the heads of the partitions for all services.
        queries += append(commits.map { $0.batch }, statements)
        queries.append(moveCursors(commits))
        queries.append(Query(statements.commit))
        return queries
    }

    // MARK: Rare writes

    private func own(_ statements: Statements) -> [Query] {
        let partition = Parameter.int4(Int32(batch.partition))
        let consumer = Parameter.text(M.name)
        var queries = batch.writeSlots(statements, partition)
        let refreshed = batch.rewritten
        if !refreshed.isEmpty { queries.append(Self.refresh(refreshed, statements, partition)) }
        let parkedInputs = batch.parkedInputs
        if !parkedInputs.isEmpty {
            queries.append(
                Query(
                    Statements.park,
                    [
                        partition, consumer, .texts(parkedInputs.map { $0.key.description }),
                        .ints(parkedInputs.map { $0.offset }),
                        .ints(parkedInputs.map { $0.due.map { Int($0.milliseconds) } }),
                        .texts(parkedInputs.map { $0.reason }),
                    ]))
        }
        if let trial = batch.trial { queries.append(Query(Statements.clear, [partition, consumer, .text(trial)])) }
        if let outage = clearsOutage {
            queries.append(
                Query(
                    Statements.forgetOutage,
                    [partition, consumer, .int(Int(outage.from.milliseconds)), .int(Int(outage.until.milliseconds))]))
        }
        if !clearedCommands.isEmpty {
            queries.append(Query(Statements.clearAll, [partition, consumer, .texts(clearedCommands)]))
        }
        return queries + batch.audits.map { $0.query } + after
    }

    private static func refresh(
        _ states: [(aggregate: Aggregate<M>, written: WrittenForm)], _ statements: Statements, _ partition: Parameter
    ) -> Query {
        Query(
            statements.refreshStates,
            [
                partition, .int4s(states.map { Int32($0.written.version) }),
                .texts(states.map { $0.aggregate.key.description }), .byteas(states.map { $0.written.binary }),
                .ints(states.map { $0.aggregate.eventCount }),
                .ints(states.map { $0.written.nextDeadline.map { Int($0.milliseconds) } }),
            ])
    }

    // MARK: Writes over partitions

    private static func storeAnswers(_ commits: [BatchCommit<M>]) -> [Query] {
        let answers = commits.flatMap { commit in commit.batch.answers.map { (commit.batch.partition, $0) } }
        guard !answers.isEmpty else { return [] }
        let partitions = answers.map { Int32($0.0) }
        return [
            Query(
                Statements.storeAnswers,
                [
                    .int4s(partitions), .text(M.name), .texts(answers.map { $0.1.idempotency.key }),
                    .byteas(answers.map { $0.1.idempotency.fingerprint }), .byteas(answers.map { $0.1.body }),
                    Statements.list(partitions),
                ])
        ]
    }

    private static func append(_ batches: [Batch<M>], _ statements: Statements) -> [Query] {
        let batches = batches.filter { !$0.events.isEmpty }
        guard let first = batches.first else { return [] }
        let heads = batches.map { (partition: $0.partition, events: $0.events) }
        let lock = Query(Statements.lockHeads, [.int4s(batches.map { Int32($0.partition) })])
        return (first.partition == batches.last?.partition ? [] : [lock])
            + statements.append(heads, source: M.name) + [writeStates(batches, statements)]
    }

    private static func writeStates(_ batches: [Batch<M>], _ statements: Statements) -> Query {
        var states = ChangedStates()
        for batch in batches {
            for (key, change) in batch.changed {
                guard let aggregate = batch.aggregates[key] else { continue }
                states.partitions.append(Int32(batch.partition))
                states.keys.append(key.description)
                states.forms.append(Int32(change.written.version))
                states.binaries.append(change.written.binary)
                states.back.append(batch.events.count - 1 - change.last)
                states.eventCounts.append(aggregate.eventCount)
                states.times.append(Int(aggregate.now.milliseconds))
                states.deadlines.append(change.written.nextDeadline.map { Int($0.milliseconds) })
                states.bases.append(change.base)
            }
        }
        return Query(statements.writeStates, states.parameters)
    }

    private static func moveCursors(_ commits: [BatchCommit<M>]) -> Query {
        Query(
            Statements.moveCursors,
            [
                .text(M.name), .int4s(commits.map { Int32($0.batch.partition) }), .uuids(commits.map { $0.batch.id }),
                .ints(commits.map { $0.assumption == nil ? $0.position : nil }),
                .ints(commits.map { $0.batch.events.count }),
                .ints(commits.map { $0.epoch }), .ints(commits.map { $0.batch.newlyParked }),
                .bools(commits.map { $0.isAtHead }), .int4s(commits.map { Int32($0.batch.newestForm) }),
            ])
    }
}

/// The columns of ``Statements/writeStates``. A list of rows would copy the batch for each row.
private struct ChangedStates {
    var partitions: [Int32] = []
    var keys: [String] = []
    var forms: [Int32] = []
    var binaries: [[UInt8]] = []
    var back: [Int] = []
    var eventCounts: [Int] = []
    var times: [Int] = []
    var deadlines: [Int?] = []
    var bases: [Int] = []

    var parameters: [Parameter] {
        [
            .int4s(forms), .int4s(partitions), .texts(keys), .byteas(binaries), .ints(back), .ints(eventCounts),
            .ints(times), .ints(deadlines), .ints(bases), Statements.list(partitions),
        ]
    }
}

extension Statements {
    /// Returns the queries that append events to partitions, at dense offsets.
    func append(_ batches: [(partition: Int, events: [Event])], source: String) -> [Query] {
        let partitions = Parameter.int4s(batches.map { Int32($0.partition) })
        let counts = Parameter.ints(batches.map { $0.events.count })
        let events = Self.columns(batches.flatMap { $0.events })
        let partitionOfEach = Parameter.int4s(
            batches.flatMap { batch in batch.events.map { _ in Int32(batch.partition) } })
        guard isDistributed else {
            let numbers = Parameter.ints(batches.flatMap { batch in batch.events.indices.map { $0 + 1 } })
            return [Query(Self.append, [partitions, counts, .text(source), partitionOfEach, numbers] + events)]
        }
        let back = Parameter.ints(batches.flatMap { batch in batch.events.indices.reversed() })
        return [
            Query(Self.moveHeads, [partitions, counts]),
            Query(Self.appendBehindHeads, [partitions, .text(source), partitionOfEach, back] + events),
        ]
    }

    private static func columns(_ events: [Event]) -> [Parameter] {
        [
            .uuids(events.map { $0.id }), .texts(events.map { $0.type }), .int4s(events.map { Int32($0.version) }),
            .texts(events.map { $0.key.description }), .texts(events.map { $0.app }),
            .ints(events.map { Int($0.time.milliseconds) }), .uuids(events.map { $0.correlation }),
            .uuids(events.map { $0.causation }), .texts(events.map { $0.traceparent }),
            .texts(events.map { $0.actor }), .jsons(events.map { $0.data }),
        ]
    }
}

extension Batch {
    /// Returns the queries that commit this batch alone.
    func pipeline(_ statements: Statements, position: Int, epoch: Int?, after: [Query] = []) -> [Query] {
        BatchCommit.pipeline(
            [BatchCommit(batch: self, position: position, epoch: epoch, after: after)], statements)
    }

    /// The unchanged aggregates whose rows are written again.
    fileprivate var rewritten: [(aggregate: Aggregate<M>, written: WrittenForm)] {
        refreshed.filter { changed[$0] == nil }.sorted { $0.description < $1.description }.compactMap { key in
            aggregates[key].map { ($0, $0.state.written(as: form, at: moment)) }
        }
    }

    /// The newest form of the states that it writes; 0 if it writes none.
    fileprivate var newestForm: Int {
        (changed.values.map { $0.written.version } + rewritten.map { $0.written.version }).max() ?? 0
    }

    /// Writes the changed pages of slots, and deletes the ended ones.
    fileprivate func writeSlots(_ statements: Statements, _ partition: Parameter) -> [Query] {
        guard let ceiling = slots.ceiling, !slots.changed.isEmpty else { return [] }
        let pages = slots.changed.sorted().map { (number: $0, taken: slots.page($0)) }
        let kept = pages.filter { !$0.taken.isEmpty }
        let over = over ?? .epoch
        let isShort = kept.count == pages.count && over == .epoch
        let write = Query(
            statements.writeMoments,
            [
                partition, .int4(Int32(ceiling)), .ints(kept.map { Int($0.number) }),
                .ints(kept.map { Int(slots.end(of: $0.number).milliseconds) }), .byteas(kept.map { $0.taken }),
            ])
        guard !isShort else { return [write] }
        let empty = pages.filter { $0.taken.isEmpty }.map { Int($0.number) }
        return [
            write,
            Query(
                statements.dropMoments,
                [partition, .int4(Int32(ceiling)), .ints(empty), .int(Int(over.milliseconds))]),
        ]
    }
}

/// A commit with a lost answer.
struct SettleRequest: Sendable {
    let partition: Int
    let batchID: UUID
    /// The id of the batch's probe event, and its index.
    let probe: (id: UUID, index: Int)?
    let eventCount: Int
    /// Whether nothing but the cursor's last batch can prove the commit.
    let isUnproven: Bool
    /// The partition's head before the batch. Its events have higher offsets.
    let headBefore: Int
    /// The cursor's last batch before this one.
    let lastBatchBefore: UUID?

    init<M: Machine>(partition: Int, batch: Batch<M>, after input: BatchInput<M>) {
        self.partition = partition
        batchID = batch.id
        probe = batch.probe
        isUnproven = batch.isUnproven
        eventCount = batch.events.count
        headBefore = input.head
        lastBatchBefore = input.lastBatch
    }

    /// Returns the result of the commit.
    ///
    /// - Parameters:
    ///   - lastBatch: the cursor's last batch now.
    ///   - head: the head of the partition now.
    ///   - probeOffset: the offset of the probe event; nil if the log does not have it.
    func settlement<M: Machine>(lastBatch: UUID?, head: Int, probeOffset: Int?) -> PartitionMachine<M>.Settlement {
        // Others may have appended since, so the end of the batch follows from the offset of its probe.
        if let probeOffset, let probe { return .committed(head: probeOffset + eventCount - 1 - probe.index) }
        if lastBatch == batchID { return .committed(head: head) }
        // Another process has committed a batch since, perhaps after this one.
        return isUnproven && lastBatch != lastBatchBefore ? .unknown : .notCommitted
    }
}
