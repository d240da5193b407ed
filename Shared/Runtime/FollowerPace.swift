import Synchronization

/// The pace at which a process reads the log for events of other services.
///
/// Small and large batches cost about the same. While processors are free, batches are short and the next one starts
/// soon, so that events are handled in milliseconds. While processors are short, batches take longer and start less
/// often. Then each batch holds more events, and commands get the time.
///
/// The pace is off while a request or a clock advance waits for this process to read the log.
final class FollowerPace: Sendable {
    /// The limits of the interval between the starts of two batches.
    struct Limits: Sendable {
        var shortest = Duration.milliseconds(3)
        var longest = Duration.milliseconds(50)
        /// The interval is this multiple of the time of a batch.
        var factor = 4
    }

    /// How long a hint that a clock advance settles counts. A longer advance repeats it.
    static var settlingTime: Duration { .milliseconds(250) }

    private struct State {
        /// The mean time of the last batches.
        var batch = Duration.zero
        var hurriesUntil: ContinuousClock.Instant?
    }

    private let limits: Limits
    private let state = Mutex(State())

    init(_ limits: Limits = Limits()) { self.limits = limits }

    /// The interval between the starts of two batches.
    func interval(at now: ContinuousClock.Instant) -> Duration {
        state.withLock { state in
            if let end = state.hurriesUntil, now < end { return .zero }
            return min(max(state.batch * limits.factor, limits.shortest), limits.longest)
        }
    }

    /// Takes note of the time of a batch.
    func batchTook(_ time: Duration) {
        // Clamped, because one batch that waited for a lock says little about the next ones.
        state.withLock { $0.batch += (min(time, limits.longest) - $0.batch) / 4 }
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
