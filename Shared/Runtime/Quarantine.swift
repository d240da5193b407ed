import Machines
import Postgres

/// The inputs that a batch may take.
struct BatchPlan: Sendable, Equatable {
    /// The most commands.
    var commands: Int
    /// The most events, and the most aggregates with deadlines; nil for none.
    var log: Int?
    /// Whether its only input from the log is recorded before it is tried.
    var isTrial = false
    /// The input from the log that becomes a dead letter if another input in the same batch succeeds.
    var passing: FailingInput?
    /// Whether the batch may not share its transaction with other partitions.
    var isAlone = false
    /// The time limit for the decisions about one kind of inputs.
    var portion = Duration.milliseconds(25)
}

/// The protection of a partition against inputs that fail or that end the process.
///
/// ```mermaid
/// stateDiagram-v2
///     [*] --> normal
///     normal --> bisecting: the database refuses the data of a batch
///     bisecting --> bisecting: refused again, half as many inputs
///     bisecting --> normal: batches succeed, twice as many inputs each time
///     bisecting --> probing: one input alone is refused, without proof of its fault
///     probing --> normal: an input behind it succeeds, or it succeeds
///     [*] --> trials: two owners in a row lost the lease
///     trials --> normal: the log is read to its head
/// ```
///
/// During bisection a batch takes half as many inputs after each refusal, until the input at fault is alone. If the
/// refusal proves its fault, the input is condemned: the next batch parks it. Otherwise the partition probes: it
/// parks the input together with inputs behind it, which commits only if one of those succeeds, and in turn tries
/// the input again. During trials each batch takes one input, which is recorded before it runs. An input with five
/// records is condemned.
struct Quarantine: Sendable {
    /// The most inputs of a normal batch, for commands and for the log.
    struct Limits: Sendable {
        var commands = 500
        var log = 200
    }

    /// The number of inputs that are tried one at a time. The batch that ended the last owner can't have held more.
    static let trialLimit = 500
    /// The records after which an input is condemned.
    static let triesOfInput = 5
    /// The pause after a failed look at the log. The poll then looks again.
    static let pause = Duration.milliseconds(250)

    private let limits = Limits()
    /// The most inputs of a batch, for each kind. The successes of one kind do not widen the batches of the other:
    /// commands that keep coming would keep the input of the log at fault from being alone.
    private var windows = Limits(commands: .max, log: .max)
    /// The number of inputs that are still tried one at a time.
    private(set) var trialsLeft = 0
    private var logHadItsTurn = false
    /// Inputs that become dead letters when they come, by name, with the reason.
    private(set) var condemned: [String: String] = [:]
    /// The input that blocks the partition's log.
    private(set) var failing: FailingInput?
    /// The time of the first batch that the database refused, perhaps by its own fault; nil after a success.
    private var refusedSince: ContinuousClock.Instant?
    /// The last time that a batch wrote events.
    private var lastDataCommit: ContinuousClock.Instant
    /// The input that is recorded as tried. It is recorded once, even if its commit needs several attempts.
    private(set) var recordedTrial: String?

    init(now: ContinuousClock.Instant) { lastDataCommit = now }

    /// Whether batches are of normal size and may share a transaction with other partitions.
    var isNormal: Bool { isUnbounded && trialsLeft == 0 && failing == nil }

    private var isUnbounded: Bool { windows.commands == .max && windows.log == .max }

    /// Starts again with a new lease.
    ///
    /// - Parameter isSuspicious: whether an input may have ended the last owners.
    mutating func begin(isSuspicious: Bool) {
        trialsLeft = isSuspicious ? Self.trialLimit : 0
        condemned.removeAll()
        failing = nil
        recordedTrial = nil
    }

    /// Commands need no lease, so they must not run one at a time until the lease returns.
    mutating func leaseLost() {
        trialsLeft = 0
        failing = nil
        // No batch of the log comes that would widen the window again.
        windows.log = .max
        if isUnbounded { refusedSince = nil }
    }

    /// Returns the plan of the next batch. Normally it takes all inputs up to the limits. Otherwise the log and the
    /// commands alternate, in small batches.
    mutating func plan(hasCommands: Bool, takesLog: Bool) -> BatchPlan? {
        guard hasCommands || takesLog else { return nil }
        // A command at fault returns to the queue, so none is left.
        if !hasCommands { windows.commands = .max }
        let isFailing = failing != nil && trialsLeft == 0
        guard !isUnbounded || trialsLeft > 0 || isFailing else {
            return BatchPlan(commands: limits.commands, log: takesLog ? limits.log : nil)
        }
        let limit = trialsLeft > 0 ? Limits(commands: 1, log: 1) : windows
        logHadItsTurn = takesLog && (!hasCommands || !logHadItsTurn)
        guard logHadItsTurn else {
            return BatchPlan(commands: min(limit.commands, limits.commands), log: nil, isAlone: true)
        }
        if isFailing, let failing {
            return failing.isToBePassed
                ? BatchPlan(commands: 0, log: failing.width + 1, passing: failing, isAlone: true)
                : BatchPlan(commands: 0, log: 1, isAlone: true)
        }
        return BatchPlan(commands: 0, log: min(limit.log, limits.log), isTrial: trialsLeft > 0, isAlone: true)
    }

    // MARK: Results

    /// Records that a batch was committed, or had nothing to commit.
    ///
    /// - Parameters:
    ///   - hasData: whether it wrote events.
    ///   - isThrough: whether the log had no input left.
    /// - Returns: whether the partition makes progress, and whether a batch with data or of the log proves it.
    mutating func committed(
        _ plan: BatchPlan, hasData: Bool, isThrough: Bool, now: ContinuousClock.Instant
    ) -> (succeeded: Bool, withData: Bool) {
        if isUnbounded, failing == nil { refusedSince = nil }
        let result = resultOfCommit(plan, hasData: hasData, now: now)
        if plan.commands > 0 { windows.commands = wider(windows.commands) }
        if plan.log != nil { windows.log = wider(windows.log) }
        if plan.log != nil, plan.isTrial {
            recordedTrial = nil
            trialsLeft = isThrough ? 0 : max(0, trialsLeft - 1)
        }
        return result
    }

    private func wider(_ window: Int) -> Int { window > limits.commands ? .max : window * 2 }

    private mutating func resultOfCommit(
        _ plan: BatchPlan, hasData: Bool, now: ContinuousClock.Instant
    ) -> (succeeded: Bool, withData: Bool) {
        if hasData { lastDataCommit = now }
        // A committed batch that read the log has moved the cursor.
        guard failing != nil else { return (true, hasData || plan.log != nil) }
        guard plan.log != nil else {
            // This proves the fault of the input if it fails again.
            if hasData { failing?.isToBePassed = false }
            return (false, false)
        }
        // The input succeeded, or was parked.
        failing = nil
        return (true, true)
    }

    /// Records that an input from the log is about to be tried.
    ///
    /// - Parameter tries: the number of its records, with this one.
    mutating func recorded(_ name: String, tries: Int) {
        recordedTrial = name
        if tries >= Self.triesOfInput { condemned[name] = "each of \(tries - 1) tries ended the process" }
    }

    /// Removes an input that was parked.
    mutating func park(_ name: String) { condemned[name] = nil }

    /// The next step after refused data.
    enum Refusal: Sendable, Equatable {
        /// The command was alone. It fails with this error.
        case failCommand(RuntimeError)
        /// The commands return to the queue.
        /// - Parameter looksAgain: whether the next batch reads the log at once; otherwise the poll does.
        case again(looksAgain: Bool)
    }

    /// Handles refused data: the next batch takes half as many inputs, down to the one at fault.
    ///
    /// - Parameter commands: the number of commands in the batch.
    mutating func refused(
        _ bad: BadInput, _ plan: BatchPlan, commands: Int, now: ContinuousClock.Instant
    ) -> Refusal {
        if !bad.isProven { refusedSince = refusedSince ?? now }
        if plan.log == nil, commands == 1 {
            let isItsFault = bad.isProven || refusedSince.map { lastDataCommit > $0 } ?? true
            return .failCommand(isItsFault ? .failed : .databaseUnavailable)
        }
        if plan.passing != nil {
            failing?.failedAgain(passing: true, wasRefused: true)
            return .again(looksAgain: false)
        }
        guard plan.commands == 0, bad.inputs <= 1 else {
            let half = max(1, bad.inputs / 2)
            if plan.commands > 0 { windows.commands = half }
            if plan.log != nil { windows.log = half }
            return .again(looksAgain: plan.log != nil)
        }
        // A batch that names no input does not show the one at fault. The poll looks again.
        guard let name = bad.name else { return .again(looksAgain: false) }
        pinned(name, "\(bad.error)", isProven: bad.isProven, now: now)
        guard failing != nil else { return .again(looksAgain: true) }
        // Inputs behind it are not at fault.
        windows.log = .max
        return .again(looksAgain: false)
    }

    /// Condemns an input from the log that fails alone, or waits for proof that the fault is its own.
    private mutating func pinned(_ name: String, _ reason: String, isProven: Bool, now: ContinuousClock.Instant) {
        let since = failing?.since ?? refusedSince ?? now
        if isProven || lastDataCommit > since {
            failing = nil
            condemned[name] = reason
        } else if failing?.name == name {
            failing?.failedAgain(passing: false)
        } else {
            failing = FailingInput(name: name, reason: reason, since: since)
        }
    }

    /// No input behind the failing one proved that others succeed.
    mutating func foundNoProof() { failing?.failedAgain(passing: true) }
}

/// An error: the database refused the data of a batch.
struct BadInput: Error, Sendable {
    var inputs: Int
    /// The only input from the log in the batch; nil if it had more inputs, or commands.
    var name: String?
    var error: PostgresError
    /// Whether the fault can only be in the data. Otherwise the database may refuse every batch.
    var isProven = true
}

/// An input from the log that fails alone repeatedly, with a SQLSTATE that may be the database's own fault: missing
/// rights, a full disk, a damaged index.
///
/// If the database refuses everything, it would be wrong to park this input and all later ones. So the partition
/// needs proof that another input succeeds: a command that commits after the failure, or an input behind it in the
/// batch that parks it. Without proof the partition waits and reports the reason.
struct FailingInput: Sendable, Equatable {
    let name: String
    let reason: String
    /// The time of the first refused batch that contained it.
    let since: ContinuousClock.Instant
    /// Whether the next look parks the input, together with `width` inputs behind it. Otherwise it tries the input
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
