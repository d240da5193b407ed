import Synchronization

/// A partition without progress in this process.
public struct StuckPartition: Sendable, Equatable {
    /// The cause of the lack of progress.
    public enum Cause: Sendable, Equatable, CustomStringConvertible {
        /// The database answers, but refuses the batches or returns unreadable rows.
        case failing(String)
        /// Another session holds a lock that the partition's batches need.
        case heldUp
        /// Only a newer program can read the log further.
        case halted(String)

        public var description: String {
            switch self {
            case .failing(let reason): "its batches fail: \(reason)"
            case .heldUp: "another session holds its lock"
            case .halted(let reason): "it waits for a newer program: \(reason)"
            }
        }
    }

    /// The number of the partition.
    public var partition: Int
    /// The cause.
    public var cause: Cause
    /// The start of the problem.
    public var since: ContinuousClock.Instant

    /// Returns the time since the start of the problem.
    public func duration(at now: ContinuousClock.Instant = .now) -> Duration { since.duration(to: now) }
}

/// The success of one partition's batches. Any thread can read it, even while the worker is blocked.
final class PartitionProgress: Sendable {
    /// A failure without a repeat in this time is over, if no input waits.
    static let memory = Duration.seconds(10)

    private struct State {
        var stuck: StuckPartition?
        var lastFailure = ContinuousClock.now
        var halted: StuckPartition?
    }

    private let partition: Int
    private let state = Mutex(State())
    /// Odd during a decision; each decision has a new number.
    private let decisions = Atomic<UInt64>(0)

    init(partition: Int) { self.partition = partition }

    /// The cause of the lack of progress; nil with progress.
    var stuck: StuckPartition? { state.withLock { $0.halted ?? $0.stuck } }

    /// The reason why its batches fail.
    var failure: String? {
        guard case .failing(let reason) = state.withLock({ $0.stuck?.cause }) else { return nil }
        return reason
    }

    /// Whether its batches wait for another session's lock.
    var isHeldUp: Bool { state.withLock { $0.stuck?.cause == .heldUp } }

    /// The number of the current decision; nil without one.
    var decision: UInt64? {
        let number = decisions.load(ordering: .relaxed)
        return number % 2 == 1 ? number : nil
    }

    /// Runs a decision, so that the watchdog notices one that does not end.
    func deciding<Value>(_ decide: () throws -> Value) rethrows -> Value {
        decisions.wrappingAdd(1, ordering: .relaxed)
        defer { decisions.wrappingAdd(1, ordering: .relaxed) }
        return try decide()
    }

    func failed(_ cause: StuckPartition.Cause) {
        state.withLock { state in
            state.lastFailure = .now
            // A new reason of the same kind keeps the start.
            let since = state.stuck.flatMap { Self.isSameKind($0.cause, cause) ? $0.since : nil } ?? .now
            state.stuck = StuckPartition(partition: partition, cause: cause, since: since)
        }
    }

    func halted(_ reason: String) {
        state.withLock { $0.halted = StuckPartition(partition: partition, cause: .halted(reason), since: .now) }
    }

    /// The program can process the partition again.
    func resumed() { state.withLock { $0.halted = nil } }

    /// A batch was committed.
    ///
    /// - Parameter withData: whether it wrote more than its position. A batch without data does not prove that others
    ///   succeed.
    func succeeded(withData: Bool) {
        state.withLock { state in
            guard let stuck = state.stuck else { return }
            if withData || stuck.cause == .heldUp { state.stuck = nil }
        }
    }

    /// Reports that no input waits. An older failure is then over.
    func idle() {
        state.withLock { if $0.lastFailure + Self.memory < .now { $0.stuck = nil } }
    }

    private static func isSameKind(_ one: StuckPartition.Cause, _ other: StuckPartition.Cause) -> Bool {
        switch (one, other) {
        case (.failing, .failing), (.heldUp, .heldUp), (.halted, .halted): true
        case (.failing, _), (.heldUp, _), (.halted, _): false
        }
    }
}
