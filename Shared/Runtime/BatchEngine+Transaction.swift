import Contracts
import EventLog
import Machines
import Postgres
import Telemetry

extension PartitionMachine.Action {
    /// Whether its result is an event, or the batch continues with it later.
    var isStep: Bool {
        switch self {
        case .gather, .findSuspects, .recordCommands, .recordTrial, .readUnread, .commit, .settle, .pause, .upgrade:
            true
        case .answer, .failAll, .putBack, .forget, .adopt, .wakeUp, .progress, .eventsLost, .log: false
        }
    }

    /// Whether it runs in the transaction of the batch.
    fileprivate var isOfTransaction: Bool {
        switch self {
        case .settle, .pause, .upgrade: false
        default: isStep
        }
    }
}

extension BatchEngine {
    /// Runs the steps of one or several partitions in one transaction, up to its end.
    ///
    /// - Returns: the steps that follow outside of the transaction.
    func transact(_ first: [Step]) async -> [Step] {
        let next = await assume(first)
        let later = next.filter { !$0.action.isOfTransaction }
        let steps = next.filter { $0.action.isOfTransaction }
        return steps.isEmpty ? later : await later + look(steps)
    }

    /// Decides from what the process knows, if all partitions can, and commits in one pipeline.
    ///
    /// - Returns: the steps that are left.
    private func assume(_ steps: [Step]) async -> [Step] {
        guard let inputs = assumedInputs(of: steps) else { return steps }
        let decided = zip(steps, inputs).compactMap { step, input in handle(step.partition, .gathered(input)) }
        let commits = decided.compactMap { if case .commit(let commit) = $0.action { commit } else { nil } }
        guard !commits.isEmpty else { return decided }
        let committing = decided.filter { if case .commit = $0.action { true } else { false } }
        let others = decided.filter { if case .commit = $0.action { false } else { true } }
        do {
            let heads = try await pool.withConnection { connection in try await commit(commits, connection) }
            return others
                + committing.compactMap { handle($0.partition, result(of: $0.partition, heads)) }
        } catch {
            let isShared = commits.count > 1
            return others + committing.compactMap { handle($0.partition, .failed(error, isShared: isShared)) }
        }
    }

    /// Returns the inputs of batches that assume; nil if one of them must look at the database.
    private func assumedInputs(of steps: [Step]) -> [BatchInput<M>]? {
        let estimate = clock.estimate
        var inputs: [BatchInput<M>] = []
        for step in steps {
            guard case .gather(let request) = step.action, var assumption = request.assumption else { return nil }
            assumption.clock = estimate
            let keys = Set(request.keys)
            let aggregates = inboxes[step.partition].cache.values(of: keys)
            guard aggregates.count == keys.count else { return nil }
            inputs.append(BatchInput(assumption, aggregates: aggregates))
        }
        return inputs
    }

    /// Runs steps in one transaction, whose first step reads the inputs.
    private func look(_ first: [Step]) async -> [Step] {
        let isShared = first.count > 1
        var steps = first
        var later: [Step] = []
        do {
            try await pool.withConnection { connection in
                var isOpen = false
                while !steps.isEmpty {
                    var next = try await advance(steps, connection, isOpen: &isOpen)
                    later += next.filter { !$0.action.isOfTransaction }
                    next.removeAll { !$0.action.isOfTransaction }
                    steps = next
                }
                if isOpen { _ = try await connection.execute(Query(statements.rollback)) }
            }
        } catch {
            // All partitions with a step left fail together. After the last step, the failure of a rollback changes
            // nothing: the session ends.
            for step in steps {
                later += [handle(step.partition, .failed(error, isShared: isShared))].compactMap { $0 }
            }
        }
        return later
    }

    /// Executes the steps that come first. Commits wait for all other steps of the transaction, and then run together.
    ///
    /// - Returns: the next steps, with those that wait.
    private func advance(_ steps: [Step], _ connection: Connection, isOpen: inout Bool) async throws -> [Step] {
        let gathers = steps.compactMap { if case .gather(let request) = $0.action { request } else { nil } }
        if !gathers.isEmpty {
            isOpen = true
            let found = try await gather(gathers, connection)
            let others = steps.filter { if case .gather = $0.action { false } else { true } }
            return others
                + gathers.compactMap { request in
                    let input = found[request.partition]
                    return handle(request.partition, input.map { .gathered($0) } ?? .skipped)
                }
        }
        if let index = steps.firstIndex(where: { if case .commit = $0.action { false } else { true } }) {
            var rest = steps
            let step = rest.remove(at: index)
            let event = try await execute(step, connection, isOpen: &isOpen)
            return rest + [handle(step.partition, event)].compactMap { $0 }
        }
        let commits = steps.compactMap { if case .commit(let commit) = $0.action { commit } else { nil } }
        let heads = try await commit(commits, connection)
        isOpen = false
        return steps.compactMap { handle($0.partition, result(of: $0.partition, heads)) }
    }

    private func result(of partition: Int, _ heads: [Int: Int]) -> Machine.Event {
        // A commit returns the head of each partition, or fails.
        heads[partition].map { .committed(head: $0) } ?? .failed(RuntimeError.failed, isShared: heads.count > 1)
    }

    private func gather(
        _ requests: [GatherRequest<M>], _ connection: Connection
    ) async throws -> [Int: BatchInput<M>] {
        var reader = BatchReader<M>(
            requests, statements: statements, clock: clock, caches: inboxes.map { $0.cache }, connection: connection)
        return try await reader.read()
    }

    private func commit(_ commits: [BatchCommit<M>], _ connection: Connection) async throws -> [Int: Int] {
        let queries = BatchCommit.pipeline(commits, statements)
        let isAssumed = commits.contains { $0.assumption != nil }
        let start = ContinuousClock.now
        do throws(PostgresError) {
            let rows = try await connection.execute(queries)
            meter.committed(
                commits.reduce(0) { $0 + $1.batch.events.count }, in: start.duration(to: .now), isAssumed: isAssumed)
            if isAssumed { clock.take(try ClockSample(rows[Statements.clockIndex][0], realAt: 4, asked: start)) }
            if let tracer { for commit in commits { tracer.record(commit.batch.spans()) } }
            var heads: [Int: Int] = [:]
            for row in rows[rows.count - 2] {
                let (partition, head) = try row.decode((Int, Int).self, at: 0)
                heads[partition] = head
            }
            return heads
        } catch {
            meter.failed()
            // The last two queries are those of the cursors and the COMMIT.
            throw CommitFailure(error: error, dataQueries: queries.count - 2)
        }
    }

    /// Executes a step that only one partition has.
    private func execute(_ step: Step, _ connection: Connection, isOpen: inout Bool) async throws -> Machine.Event {
        let cursor: [Parameter] = [.int4(Int32(step.partition)), .text(M.name)]
        switch step.action {
        case .findSuspects(let names):
            let rows = try await connection.execute(Query(Statements.suspects, cursor + [.texts(names.sorted())]))
            return .suspectsFound(Set(try rows.decode(String.self)))
        case .recordCommands(let names):
            let rows = try await connection.execute([
                Query(Statements.suspectAll, cursor + [.texts(names.sorted())]), Query(statements.commit),
            ])
            isOpen = false
            return .commandsRecorded(Dictionary(try rows[0].decode((String, Int).self)) { $1 })
        case .recordTrial(let name):
            let rows = try await connection.execute([
                Query(Statements.suspect, cursor + [.text(name)], rowsExpected: 1), Query(statements.commit),
            ])
            isOpen = false
            return .trialRecorded(tries: try rows[0][0].decode(Int.self))
        case .readUnread(let keys, let after, let upTo):
            let rows = try await connection.execute(
                Query(
                    Statements.unreadOf,
                    [
                        cursor[0], .int(after), .int(upTo), .texts(keys.map { $0.description }),
                        .texts(M.follows.sorted()),
                    ]))
            return .unreadFound(Dictionary(try rows.decode((AggregateKey, Int).self)) { $1 })
        default: throw RuntimeError.failed
        }
    }
}
