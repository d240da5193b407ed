import EventLog
import Logging
import Machines
import Postgres

/// Commands that may end the process.
///
/// A command whose decision traps ends the process, and its repetition the next one, whichever replica takes it. So for a while
/// after a process died, commands with an idempotency key are noted before they are run, all of a batch in one transaction, and
/// the notes go with the batch's commit. One that is found noted was there when a process ended: it is run alone, one in a
/// process at a time. After ``triesOfCommand`` notes it is not run any more. While nobody died nothing is noted or looked up.
struct CommandGuard: Sendable {
    /// While the process is young: what ended the one before it may come again before anybody knows of the death.
    var isOn = true
    /// Commands that were found noted, by name: each is run alone.
    var suspects: Set<String> = []
    /// Commands that this process has noted, and not yet cleared.
    var noted: Set<String> = []
    /// Commands that are not run any more.
    var condemned: Set<String> = []
}

extension Batch {
    static func name(ofCommand idempotency: Idempotency) -> String { "command:\(idempotency.key)" }
}

extension Submission {
    /// Nil where nothing tells a repetition of it.
    var name: String? { idempotency.map(Batch<M>.name(ofCommand:)) }
}

extension PartitionWorker {
    /// As for inputs from the log.
    static var triesOfCommand: Int { 5 }

    /// The word of the members, each time they are looked at.
    func guardCommands(_ isOn: Bool, condemned: Set<String>) {
        commandGuard.isOn = isOn
        // Added: what was condemned here a moment ago may not have been seen yet.
        commandGuard.condemned.formUnion(condemned)
        guard !isOn else { return }
        commandGuard.suspects.removeAll()
        commandGuard.noted.removeAll()
    }

    func isSuspect(_ submission: Submission<M>) -> Bool { submission.name.map(commandGuard.suspects.contains) ?? false }

    enum Caution { case none, postponed, noted }

    /// Notes commands that are about to be run, where somebody died. The notes are committed then, and the cursor's lock is let
    /// go; where a command was noted before, by a process that ended, nothing is noted and the commands are to come again.
    func caution(
        for submissions: [Submission<M>], _ first: Gathered<M>, _ connection: Connection
    ) async throws -> Caution {
        guard commandGuard.isOn else { return .none }
        let unanswered = submissions.filter { one in one.idempotency.map { first.stored[$0.key] == nil } ?? false }
        let names = Set(unanswered.compactMap(\.name))
            .subtracting(commandGuard.noted).subtracting(commandGuard.condemned)
        guard !names.isEmpty else { return .none }
        let parameters: [Parameter] = [.int4(Int32(partition)), .text(M.name), .texts(names.sorted())]
        let found = try await connection.run(Call(Statements.suspects, parameters))
        let known = try found.map { row throws(PostgresError) in try row.text(0) }
        guard commandGuard.suspects.isSuperset(of: known) else {
            commandGuard.suspects.formUnion(known)
            return .postponed
        }
        let rows = try await connection.run([Call(Statements.suspectAll, parameters), Call(statements.commit)])
        commandGuard.noted.formUnion(names)
        for row in rows[0] where try row.int(1) >= Self.triesOfCommand {
            let name = try row.text(0)
            commandGuard.condemned.insert(name)
            logger.error(
                "a command is not run any more: each process that ran it ended",
                metadata: ["partition": "\(partition)", "command": "\(name)"])
        }
        return .noted
    }

    /// The notes that go with a batch: of all that it answers, but for those that are kept for good.
    func clearing(_ submissions: [Submission<M>], _ batch: Batch<M>) -> [String] {
        guard !commandGuard.noted.isEmpty else { return [] }
        return zip(submissions, batch.verdicts).compactMap { submission, verdict in
            guard let name = submission.name, commandGuard.noted.contains(name) else { return nil }
            if case .later = verdict { return nil }
            return commandGuard.condemned.contains(name) ? nil : name
        }
    }

    func clear(_ names: [String]) -> [Call] {
        guard !names.isEmpty else { return [] }
        return [Call(Statements.clearAll, [.int4(Int32(partition)), .text(M.name), .texts(names)])]
    }

    func noteCleared(_ names: [String]) {
        commandGuard.noted.subtract(names)
        commandGuard.suspects.subtract(names)
    }
}
