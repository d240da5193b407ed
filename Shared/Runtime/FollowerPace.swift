import Synchronization

/// The pace at which a process reads the log for events of other services.
///
/// Small and large batches cost about the same. While processors are free, the next one starts soon, so that events are
/// handled in milliseconds. While processors are short, so that threads wait for one (``ProcessorWait``), batches start
/// less often, by the time that they take. Then each batch holds more events, and commands get the time.
///
/// The pace is off while a request or a clock advance waits for this process to read the log.
final class FollowerPace: Sendable {
    /// The limits of the interval between the starts of two batches.
    struct Limits: Sendable {
        var shortest = Duration.milliseconds(3)
        var longest = Duration.milliseconds(50)
        /// While processors are short, the interval is this multiple of the time of a batch.
        var factor = 4
        /// The shares of the time that threads wait for a processor. Up to the first one processors are free. From the
        /// second one on they are short. Measured on 2 cores: 0.3 to 0.4 in an idle suite, 0.5 while the processors are
        /// used to 60 %, and 0.75 to 0.85 while they are used entirely.
        var waits = 0.6...0.75
    }

    /// How long a hint that a clock advance settles counts. A longer advance repeats it.
    static var settlingTime: Duration { .milliseconds(250) }

    private struct State {
        /// The mean time of the last batches.
        var batch = Duration.zero
        /// How short processors are, from 0 to 1.
        var shortage = 1.0
        var hurriesUntil: ContinuousClock.Instant?
    }

    private let limits: Limits
    private let state = Mutex(State())

    init(_ limits: Limits = Limits()) { self.limits = limits }

    /// The interval between the starts of two batches.
    func interval(at now: ContinuousClock.Instant) -> Duration {
        state.withLock { state in
            if let end = state.hurriesUntil, now < end { return .zero }
            let paced = state.batch * (state.shortage * Double(limits.factor))
            return min(max(paced, limits.shortest), limits.longest)
        }
    }

    /// Takes note of the time of a batch.
    ///
    /// - Parameter wait: the share of the time that threads wait for a processor; nil if it is unknown.
    func batchTook(_ time: Duration, wait: Double?) {
        let (free, short) = (limits.waits.lowerBound, limits.waits.upperBound)
        let shortage = wait.map { min(max(($0 - free) / (short - free), 0), 1) } ?? 1
        state.withLock { state in
            // Clamped, because one batch that waited for a lock says little about the next ones.
            state.batch += (min(time, limits.longest) - state.batch) / 4
            state.shortage = shortage
        }
    }

    /// Lets batches start at once for a time, because a request or a clock advance waits for this process.
    func hurry(at now: ContinuousClock.Instant, for time: Duration) {
        state.withLock { $0.hurriesUntil = max($0.hurriesUntil ?? now, now + time) }
    }

    /// Whether a request or a clock advance waits for this process.
    func isHurried(at now: ContinuousClock.Instant) -> Bool {
        state.withLock { $0.hurriesUntil.map { now < $0 } ?? false }
    }
}
