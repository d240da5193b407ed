import Synchronization

/// A token bucket for each key, in real time even if the suite's time is virtual.
///
/// A bucket holds the tokens of ``RequestRates/burst`` seconds, so a client may be idle and then busy.
final class RateBuckets<Key: Hashable & Sendable>: Sendable {
    private struct State {
        /// The time at which each key's bucket is full again. Everything else follows from it.
        var full: [Key: ContinuousClock.Instant] = [:]
        var forgetsAt = RequestRates.remembered
    }

    private let state = Mutex(State())

    /// Takes one token out of a key's bucket.
    ///
    /// - Parameter rate: tokens a second; more than 0.
    /// - Returns: nil if there was one, else the time until there is one again.
    func take(_ key: Key, rate: Int, at now: ContinuousClock.Instant) -> Duration? {
        state.withLock { state in
            let full = Self.afterTaking(state.full[key], rate, now)
            let excess = Self.excess(full, rate, now)
            guard excess <= .zero else { return excess }
            state.full[key] = full
            guard state.full.count > state.forgetsAt else { return nil }
            // A full bucket needs no entry. Removal runs each time the number of entries has doubled, so it costs
            // little.
            state.full = state.full.filter { $0.value > now }
            state.forgetsAt = max(RequestRates.remembered, state.full.count * 2)
            return nil
        }
    }

    /// Returns the same as ``take(_:rate:at:)``, but takes nothing.
    func wait(_ key: Key, rate: Int, at now: ContinuousClock.Instant) -> Duration? {
        state.withLock { state in
            guard let known = state.full[key] else { return nil }
            let excess = Self.excess(Self.afterTaking(known, rate, now), rate, now)
            return excess <= .zero ? nil : excess
        }
    }

    private static func afterTaking(
        _ full: ContinuousClock.Instant?, _ rate: Int, _ now: ContinuousClock.Instant
    ) -> ContinuousClock.Instant {
        max(full ?? now, now) + Duration.seconds(1) / rate
    }

    private static func excess(
        _ full: ContinuousClock.Instant, _ rate: Int, _ now: ContinuousClock.Instant
    ) -> Duration {
        now.duration(to: full) - Duration.seconds(1) / rate * (rate * RequestRates.burst)
    }

    /// The number of keys with an entry.
    var count: Int { state.withLock { $0.full.count } }
}

extension Problem {
    /// Returns the same problem with the time to wait before another try.
    func after(_ wait: Duration) -> Problem {
        var problem = self
        problem.retryAfter = max(1, Int((wait / .seconds(1)).rounded(.up)))
        return problem
    }
}
