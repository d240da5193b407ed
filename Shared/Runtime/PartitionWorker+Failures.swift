import EventLog
import Logging
import Machines
import Postgres

/// The database certainly refused a statement that carries what inputs led to, with a state that says nothing of whose
/// fault it is. The same again is not chance: the batch is bisected.
struct RefusedData: Error {
    let inputs: Int
    let name: String?
    let error: PostgresError
}

/// Nothing behind the failing input gave proof that other inputs go well.
struct NoProof: Error {}

/// An input from the log that fails alone, again and again, with a state that may be the database's own fault: missing
/// rights, a full disk, a damaged index.
///
/// To set it aside, and with it all inputs that come after, would be wrong where the database refuses everything. So it needs
/// a proof: another input of the partition that goes well. Either a command is committed after the failure, or the batch
/// that sets the input aside writes what one behind it led to. Without one the partition waits, and says why.
struct FailingInput: Sendable {
    let name: String
    let reason: String
    /// When the database first refused a batch that it was in.
    let since: ContinuousClock.Instant
    /// The next look sets the input aside together with so many behind it; else it tries the input once more.
    var isToBePassed = true
    var width = 200

    /// After a look that failed: the other way next.
    ///
    /// - Parameter wasRefused: those behind it may hold another one at fault, so half as many come next.
    mutating func failedAgain(passing: Bool, wasRefused: Bool = false) {
        if passing, wasRefused { width = max(1, width / 2) }
        isToBePassed = !passing
    }
}

extension PostgresError {
    /// A certain failure of a statement that carries data, which inputs may have led to. Failures of the server as a whole
    /// (connections, resources, operators, I/O) are not: 08, 25, 28, 40, 53, 55, 57, 58.
    ///
    /// - Parameter calls: how many calls of the flight carry data; they come first.
    func mayBeOfInput(calls: Int) -> Bool {
        guard case .server(let error) = self, let index = error.callIndex, index < calls else { return false }
        return !["08", "25", "28", "40", "53", "55", "57", "58"].contains(error.sqlState.prefix(2))
    }

    /// The database as a whole is away, or busy with another: it says nothing of the partition.
    var isOfDatabase: Bool { isConnectionProblem || isLockTimeout || self == .cancelled || self == .closed }
}

extension PartitionWorker {
    /// Sets an input from the log that fails alone aside, or waits for proof that the fault is its own.
    ///
    /// - Parameter isProven: the fault can only be in the input.
    func notePinned(_ name: String, _ reason: String, isProven: Bool) {
        let since = failing?.since ?? refusedSince ?? .now
        if isProven || lastDataCommit > since {
            failing = nil
            condemned[name] = reason
            return
        }
        if failing?.name == name {
            failing?.failedAgain(passing: false)
        } else {
            failing = FailingInput(name: name, reason: reason, since: since)
        }
        progress.failed(.failing("\(name): \(reason)"))
    }

    /// A batch was committed, or there was nothing to commit.
    func noteCommitted(_ done: Done, _ portion: Portion) {
        let hasData = !done.batch.events.isEmpty
        if hasData { lastDataCommit = .now }
        // A batch that read the log and was committed has moved the cursor.
        guard failing != nil else { return progress.succeeded(withData: hasData || portion.log != nil) }
        guard portion.log != nil else {
            // Proof that the fault is the input's, once it fails again.
            if hasData { failing?.isToBePassed = false }
            return
        }
        // The input went well, or was passed.
        failing = nil
        progress.succeeded(withData: true)
    }

    /// Why batches fail, where the database answers.
    func noteFailure(_ error: any Error) {
        if let error = error as? PostgresError, error.isOfDatabase || error.isServerFault { return }
        if let error = error as? RuntimeError, error == .databaseUnavailable || error == .outcomeUnknown { return }
        if error is CancellationError { return }
        progress.failed(.failing("\(error)"))
    }
}
