import Synchronization

/// A partition that makes no progress in this process.
public struct StuckPartition: Sendable, Equatable {
    /// Why it makes none.
    public enum Cause: Sendable, Equatable, CustomStringConvertible {
        /// The database answers, and refuses what the inputs lead to; or they can't be read.
        case failing(String)
        /// Another session holds a lock that the partition's batches need.
        case heldUp
        /// The log has something that only a newer program understands.
        case halted(String)

        public var description: String {
            switch self {
            case .failing(let reason): "its batches fail: \(reason)"
            case .heldUp: "another session holds its lock"
            case .halted(let reason): "it waits for a newer program: \(reason)"
            }
        }
    }

    public var partition: Int
    public var cause: Cause
    public var since: ContinuousClock.Instant

    /// How long it has been stuck.
    public func duration(at now: ContinuousClock.Instant = .now) -> Duration { since.duration(to: now) }
}

/// How one partition's batches fare. Any thread reads it, also while the partition's worker is busy for ever.
final class PartitionProgress: Sendable {
    /// A failure that did not come again for so long is over, where nothing waits.
    static let memory = Duration.seconds(10)

    private struct State {
        var stuck: StuckPartition?
        var lastFailure = ContinuousClock.now
        var halted: StuckPartition?
    }

    private let partition: Int
    private let state = Mutex(State())
    /// Odd while a decision is under way; a new number for each.
    private let decisions = Atomic<UInt64>(0)

    init(partition: Int) { self.partition = partition }

    /// Why the partition makes no progress; nil while it does.
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

    /// Runs a decision, so that the watchdog sees one that does not end.
    func deciding<Value>(_ decide: () throws -> Value) rethrows -> Value {
        decisions.wrappingAdd(1, ordering: .relaxed)
        defer { decisions.wrappingAdd(1, ordering: .relaxed) }
        return try decide()
    }

    func failed(_ cause: StuckPartition.Cause) {
        state.withLock { state in
            state.lastFailure = .now
            // The time runs on while the words change.
            let since = state.stuck.flatMap { Self.isSameKind($0.cause, cause) ? $0.since : nil } ?? .now
            state.stuck = StuckPartition(partition: partition, cause: cause, since: since)
        }
    }

    func halted(_ reason: String) {
        state.withLock { $0.halted = StuckPartition(partition: partition, cause: .halted(reason), since: .now) }
    }

    /// A batch was committed.
    ///
    /// - Parameter withData: it wrote more than its position. One without says nothing of why others failed.
    func succeeded(withData: Bool) {
        state.withLock { state in
            guard let stuck = state.stuck else { return }
            if withData || stuck.cause == .heldUp { state.stuck = nil }
        }
    }

    /// Nothing waits: what failed a while ago, and was answered, holds nothing up.
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
