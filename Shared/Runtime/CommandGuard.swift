import EventLog
import Machines

/// Protection against commands that end the process.
///
/// A command whose decision traps ends the process, and its repetition ends the next one. So for a while after a
/// process died, commands with an idempotency key are recorded before they run, one transaction for each batch. The
/// batch's commit deletes the records. A recorded command was running when a process ended, so it runs alone, one at a
/// time in a process. After ``tries`` records it does not run any more. While no process dies, there are no records and
/// no queries.
struct CommandGuard: Sendable {
    /// The same limit as for inputs from the log.
    static let tries = Quarantine.triesOfInput
    /// The most names in ``noted`` of a guard that is off.
    static let mostNoted = 1000

    /// On at the start of a process: the command that ended the previous one may return before its death is known.
    private(set) var isOn = true
    /// Commands with a record of another process, by name. Each runs alone.
    var suspects: Set<String> = []
    /// Commands that this process has recorded and not yet cleared.
    var noted: Set<String> = []
    /// Commands that do not run any more.
    var condemned: Set<String> = []

    /// Called after every membership refresh.
    mutating func turn(_ isOn: Bool, condemned: Set<String>) {
        self.isOn = isOn
        // Added, because the query may not include a command that was just condemned here.
        self.condemned.formUnion(condemned)
        guard !isOn else { return }
        suspects.removeAll()
        // The batch under way, or a later one, deletes its records. Otherwise they would turn the guard on again.
        if noted.count > Self.mostNoted { noted.removeAll() }
    }

    func isSuspect(_ name: String?) -> Bool { !suspects.isEmpty && name.map(suspects.contains) ?? false }

    /// Returns the records to delete with a batch: those of all answered commands, except condemned ones.
    func clearing<M: Machine>(_ submissions: [Submission<M>], _ batch: Batch<M>) -> [String] {
        guard !noted.isEmpty else { return [] }
        return zip(submissions, batch.verdicts).compactMap { submission, verdict in
            guard let name = submission.name, noted.contains(name) else { return nil }
            if case .later = verdict { return nil }
            return condemned.contains(name) ? nil : name
        }
    }

    mutating func cleared(_ names: [String]) {
        noted.subtract(names)
        suspects.subtract(names)
    }
}

extension Batch {
    static func name(ofCommand idempotency: Idempotency) -> String { "command:\(idempotency.key)" }
}

extension Submission {
    /// Nil without an idempotency key, because a repetition can't be recognised.
    var name: String? { idempotency.map(Batch<M>.name(ofCommand:)) }
}
