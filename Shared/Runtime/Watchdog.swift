import Foundation
import Glibc
import Logging
import Postgres
import Synchronization

/// How long the runtime waits before it acts against a stall.
public struct StallLimits: Sendable {
    /// A process in which one batch decides for longer leaves: to decide takes milliseconds, so the input loops.
    public var decision: Duration
    /// A process in which a database call does not return for so long after its deadline leaves.
    public var overdueCall: Duration
    /// A session of the suite that stands still for so long while it holds up a partition is ended.
    public var blocker: Duration

    public init(
        decision: Duration = .seconds(5), overdueCall: Duration = .seconds(10), blocker: Duration = .seconds(10)
    ) {
        self.decision = decision
        self.overdueCall = overdueCall
        self.blocker = blocker
    }
}

/// Ends the process when its own work makes no progress: a decision that loops, or a database call that does not return
/// although its deadline is over. Others take over then, and an input that did it is set aside as one that traps.
///
/// It runs on a thread of its own: whatever blocks the others does not block it. It counts its own looks and no clock, so
/// that a process that was stopped, or a machine that was paused, has missed nothing. Waiting for the lock of another
/// session is no stall of this process.
final class Watchdog: Sendable {
    /// The exit status of a process that it ends: an internal software error (`EX_SOFTWARE` of sysexits.h).
    static let exitStatus: Int32 = 70
    static let pause = Duration.milliseconds(100)

    /// What was found to stand still.
    enum Stall: Equatable {
        case decision(partition: Int)
        case call
    }

    private let limits: StallLimits
    private let progress: [PartitionProgress]
    private let calls: @Sendable () -> [CallDeadline]
    private let logger: Logger
    private let leave: @Sendable () -> Void
    private let isStopped = Atomic(false)

    /// - Parameters:
    ///   - progress: that of each partition, by number.
    ///   - calls: the deadlines of the open connections.
    ///   - leave: ends the process.
    init(
        _ limits: StallLimits, progress: [PartitionProgress], calls: @escaping @Sendable () -> [CallDeadline],
        logger: Logger, leave: @escaping @Sendable () -> Void = { _exit(Watchdog.exitStatus) }
    ) {
        self.limits = limits
        self.progress = progress
        self.calls = calls
        self.logger = logger
        self.leave = leave
    }

    /// Watches from now on, until ``stop()``.
    func start() {
        let thread = Thread { [self] in
            var looks = Looks()
            while !isStopped.load(ordering: .relaxed) {
                Thread.sleep(forTimeInterval: Self.pause / .seconds(1))
                if let stall = look(&looks) { report(stall) }
            }
        }
        thread.name = "watchdog"
        thread.start()
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// In how many looks on end the same thing was under way.
    struct Looks {
        fileprivate var decisions: [Int: (decision: UInt64, count: Int)] = [:]
        fileprivate var calls: [UInt64: Int] = [:]
    }

    /// One look.
    ///
    /// - Returns: what has stood still for longer than its limit.
    func look(_ looks: inout Looks) -> Stall? {
        var found: Stall?
        for (partition, progress) in progress.enumerated() {
            guard let decision = progress.decision else {
                looks.decisions[partition] = nil
                continue
            }
            let before = looks.decisions[partition]
            let count = before?.decision == decision ? (before?.count ?? 0) + 1 : 0
            looks.decisions[partition] = (decision, count)
            if Self.pause * count > limits.decision { found = .decision(partition: partition) }
        }
        var overdue: [UInt64: Int] = [:]
        for call in calls().compactMap(\.overdueCall) { overdue[call] = (looks.calls[call] ?? -1) + 1 }
        looks.calls = overdue
        if overdue.values.contains(where: { Self.pause * $0 > limits.overdueCall }) { found = found ?? .call }
        return found
    }

    private func report(_ stall: Stall) {
        switch stall {
        case .decision(let partition):
            logger.critical(
                "a decision does not end: the process leaves, so that others take over",
                metadata: ["partition": "\(partition)", "limit": "\(limits.decision)"])
        case .call:
            logger.critical(
                "a database call does not return after its deadline: the process leaves, so that others take over",
                metadata: ["limit": "\(limits.overdueCall)"])
        }
        leave()
    }
}
