import EventLog
import Logging
import Machines
import Postgres
import Telemetry

/// Protection against commands that end the process.
///
/// A command whose decision traps ends the process, and its repetition ends the next one. So for a while after a
/// process died, commands with an idempotency key are recorded before they run, one transaction for each batch. The
/// batch's commit deletes the records. A recorded command was running when a process ended, so it runs alone, one at a
/// time in a process. After ``triesOfCommand`` records it does not run any more. While no process dies, there are no
/// records and no queries.
struct CommandGuard: Sendable {
    /// On at the start of a process: the command that ended the previous one may return before its death is known.
    var isOn = true
    /// Commands with a record of another process, by name. Each runs alone.
    var suspects: Set<String> = []
    /// Commands that this process has recorded and not yet cleared.
    var noted: Set<String> = []
    /// Commands that do not run any more.
    var condemned: Set<String> = []
}

extension Batch {
    static func name(ofCommand idempotency: Idempotency) -> String { "command:\(idempotency.key)" }
}

extension Submission {
    /// Nil without an idempotency key, because a repetition can't be recognised.
    var name: String? { idempotency.map(Batch<M>.name(ofCommand:)) }
}

extension PartitionWorker {
    /// The same limit as for inputs from the log.
    static var triesOfCommand: Int { 5 }

    /// Called after every membership refresh.
    func guardCommands(_ isOn: Bool, condemned: Set<String>) {
        commandGuard.isOn = isOn
        // Added, because the query may not include a command that was just condemned here.
        commandGuard.condemned.formUnion(condemned)
        guard !isOn else { return }
        commandGuard.suspects.removeAll()
        commandGuard.noted.removeAll()
    }

    func isSuspect(_ submission: Submission<M>) -> Bool { submission.name.map(commandGuard.suspects.contains) ?? false }

    enum Caution { case none, postponed, noted }

    /// Records commands before they run, while a death is recent. This commits the records and releases the cursor's
    /// lock. If another process has recorded one of them, nothing is recorded, and all commands return to the queue.
    func caution(
        for submissions: [Submission<M>], _ first: BatchInput<M>, _ connection: Connection
    ) async throws -> Caution {
        guard commandGuard.isOn else { return .none }
        let unanswered = submissions.filter { one in one.idempotency.map { first.stored[$0.key] == nil } ?? false }
        let names = Set(unanswered.compactMap(\.name))
            .subtracting(commandGuard.noted).subtracting(commandGuard.condemned)
        guard !names.isEmpty else { return .none }
        let parameters: [Parameter] = [.int4(Int32(partition)), .text(M.name), .texts(names.sorted())]
        let found = try await connection.execute(Query(Statements.suspects, parameters))
        let known = try found.decode(String.self)
        guard commandGuard.suspects.isSuperset(of: known) else {
            commandGuard.suspects.formUnion(known)
            return .postponed
        }
        let rows = try await connection.execute([Query(Statements.suspectAll, parameters), Query(statements.commit)])
        commandGuard.noted.formUnion(names)
        for (name, tries) in try rows[0].decode((String, Int).self) where tries >= Self.triesOfCommand {
            commandGuard.condemned.insert(name)
            logger.error(
                "blocked command, each process that ran it ended",
                metadata: [LogKey.partition: "\(partition)", LogKey.command: "\(name)"])
        }
        return .noted
    }

    /// Returns the records to delete with a batch: those of all answered commands, except condemned ones.
    func clearing(_ submissions: [Submission<M>], _ batch: Batch<M>) -> [String] {
        guard !commandGuard.noted.isEmpty else { return [] }
        return zip(submissions, batch.verdicts).compactMap { submission, verdict in
            guard let name = submission.name, commandGuard.noted.contains(name) else { return nil }
            if case .later = verdict { return nil }
            return commandGuard.condemned.contains(name) ? nil : name
        }
    }

    func clear(_ names: [String]) -> [Query] {
        guard !names.isEmpty else { return [] }
        return [Query(Statements.clearAll, [.int4(Int32(partition)), .text(M.name), .texts(names)])]
    }

    func noteCleared(_ names: [String]) {
        commandGuard.noted.subtract(names)
        commandGuard.suspects.subtract(names)
    }
}
