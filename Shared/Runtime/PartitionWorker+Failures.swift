import EventLog
import Logging
import Machines
import Postgres

/// An error: the database refused a statement with the data of inputs, with a SQLSTATE that does not show the cause. If
/// it happens again, the batch is bisected.
struct RefusedData: Error {
    let inputs: Int
    let name: String?
    let error: PostgresError
}

/// An error: no input behind the failing one proved that other inputs succeed.
struct NoProof: Error {}

/// An input from the log that fails alone repeatedly, with a SQLSTATE that may be the database's own fault: missing
/// rights, a full disk, a damaged index.
///
/// If the database refuses everything, it would be wrong to set this input and all later ones aside. So the worker
/// needs proof that another input of the partition succeeds: a command that commits after the failure, or an input
/// behind it in the batch that sets it aside. Without proof the partition waits and reports the reason.
struct FailingInput: Sendable {
    let name: String
    let reason: String
    /// The time of the first refused batch that contained it.
    let since: ContinuousClock.Instant
    /// Whether the next look sets the input aside, together with `width` inputs behind it. Otherwise it tries the input
    /// again.
    var isToBePassed = true
    var width = 200

    /// Switches between the two ways after a failed look.
    ///
    /// - Parameter wasRefused: whether the database refused the batch. The inputs behind may include another one at
    ///   fault, so half as many come next.
    mutating func failedAgain(passing: Bool, wasRefused: Bool = false) {
        if passing, wasRefused { width = max(1, width / 2) }
        isToBePassed = !passing
    }
}

extension PostgresError {
    /// Whether it is a certain failure of a statement with data of inputs. Failures of the server as a whole
    /// (connections, resources, operators, I/O) are not: 08, 25, 28, 40, 53, 55, 57, 58.
    ///
    /// - Parameter queries: the number of calls with data, which come first in the pipeline.
    func mayBeOfInput(queries: Int) -> Bool {
        guard case .server(let error) = self, let index = error.queryIndex, index < queries else { return false }
        return !["08", "25", "28", "40", "53", "55", "57", "58"].contains(error.sqlState.prefix(2))
    }

    /// Whether the database is away, or a lock or a cancellation was the cause. Such an error says nothing about the
    /// partition.
    var isOfDatabase: Bool { isConnectionProblem || isLockTimeout || self == .cancelled || self == .closed }
}

extension PartitionWorker {
    /// Sets aside an input from the log that fails alone, or waits for proof that the fault is its own.
    ///
    /// - Parameter isProven: whether the fault can only be in the input.
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

    /// Records that a batch was committed, or had nothing to commit.
    func noteCommitted(_ done: BatchOutcome, _ plan: BatchPlan) {
        let hasData = !done.batch.events.isEmpty
        if hasData { lastDataCommit = .now }
        // A committed batch that read the log has moved the cursor.
        guard failing != nil else { return progress.succeeded(withData: hasData || plan.log != nil) }
        guard plan.log != nil else {
            // This proves the fault of the input if it fails again.
            if hasData { failing?.isToBePassed = false }
            return
        }
        // The input succeeded, or was set aside.
        failing = nil
        progress.succeeded(withData: true)
    }

    /// Records the reason of a failed batch, if the database answers.
    func noteFailure(_ error: any Error) {
        if let error = error as? PostgresError, error.isOfDatabase || error.isServerFault { return }
        if let error = error as? RuntimeError, error == .databaseUnavailable || error == .outcomeUnknown { return }
        if error is CancellationError { return }
        progress.failed(.failing("\(error)"))
    }
}
