import Foundation
import Glibc
import Logging
import Postgres
import Synchronization
import Telemetry

/// The durations after which the runtime acts on a stall, or no longer waits.
public struct StallLimits: Sendable {
    /// A process ends if one batch decides for longer. A decision takes milliseconds, so the input loops.
    public var decision: Duration
    /// A process ends if a database call has not returned by this time after its deadline.
    public var overdueCall: Duration
    /// The runtime ends a session of the suite that is idle for this long while it blocks a partition.
    public var blocker: Duration
    /// The longest time that a command waits for its service to read the log before its refusal is final.
    public var settling: Duration
    /// The time without members of an older version after which states are written in the form of this one. Until then,
    /// an old program can return without finding newer states.
    public var update: Duration

    /// Creates limits.
    public init(
        decision: Duration = .seconds(5), overdueCall: Duration = .seconds(10), blocker: Duration = .seconds(10),
        settling: Duration = .seconds(2), update: Duration = .seconds(60)
    ) {
        self.decision = decision
        self.overdueCall = overdueCall
        self.blocker = blocker
        self.settling = settling
        self.update = update
    }
}

/// Ends the process when its own work stalls: a decision that loops, or a database call that does not return after its
/// deadline. Other processes take over, and park an input that caused it like one that traps.
///
/// It runs on a thread of its own, so no other thread can block it. It counts its own looks and reads no clock, so a
/// stopped process or a paused machine misses nothing. A wait for another session's lock is not a stall of this
/// process.
final class Watchdog: Sendable {
    /// The exit status of a process that the watchdog ends: an internal software error (`EX_SOFTWARE` of sysexits.h).
    static let exitStatus: Int32 = 70
    static let pause = Duration.milliseconds(100)

    /// A stall.
    enum Stall: Equatable {
        case decision(partition: Int)
        case call
    }

    private let limits: StallLimits
    private let progress: [PartitionProgress]
    private let queries: @Sendable () -> [PipelineDeadline]
    private let logger: Logger
    private let leave: @Sendable () -> Void
    private let isStopped = Atomic(false)

    /// - Parameters:
    ///   - progress: the progress of each partition, by number.
    ///   - queries: the deadlines of the open connections.
    ///   - leave: ends the process.
    init(
        _ limits: StallLimits, progress: [PartitionProgress], queries: @escaping @Sendable () -> [PipelineDeadline],
        logger: Logger, leave: @escaping @Sendable () -> Void = { _exit(Watchdog.exitStatus) }
    ) {
        self.limits = limits
        self.progress = progress
        self.queries = queries
        self.logger = logger
        self.leave = leave
    }

    /// Watches until ``stop()``.
    func start() {
        let thread = Thread { [self] in
            var looks = Lookup()
            while !isStopped.load(ordering: .relaxed) {
                Thread.sleep(forTimeInterval: Self.pause / .seconds(1))
                if let stall = look(&looks) { report(stall) }
            }
        }
        thread.name = "watchdog"
        thread.start()
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// The number of consecutive looks that found the same work under way.
    struct Lookup {
        fileprivate var decisions: [Int: (decision: UInt64, count: Int)] = [:]
        fileprivate var queries: [UInt64: Int] = [:]
    }

    /// Looks once.
    ///
    /// - Returns: work that has stalled for longer than its limit.
    func look(_ looks: inout Lookup) -> Stall? {
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
        for call in queries().compactMap({ $0.overdueCall }) { overdue[call] = (looks.queries[call] ?? -1) + 1 }
        looks.queries = overdue
        if overdue.values.contains(where: { Self.pause * $0 > limits.overdueCall }) { found = found ?? .call }
        return found
    }

    private func report(_ stall: Stall) {
        switch stall {
        case .decision(let partition):
            logger.critical(
                "decision exceeded its time limit, ending the process",
                metadata: [LogKey.partition: "\(partition)", LogKey.limit: "\(limits.decision)"])
        case .call:
            logger.critical(
                "database call exceeded its deadline, ending the process",
                metadata: [LogKey.limit: "\(limits.overdueCall)"])
        }
        leave()
    }
}
