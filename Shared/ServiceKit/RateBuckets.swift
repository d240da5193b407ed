import Synchronization

/// A bucket of tokens for each key, in real time whatever the suite's clock says.
///
/// A bucket holds what ``burst`` seconds fill, so a client may be quiet and then busy.
final class RateBuckets<Key: Hashable & Sendable>: Sendable {
    private struct State {
        /// By key: when its bucket is full again. All else follows from that.
        var full: [Key: ContinuousClock.Instant] = [:]
        var forgetsAt = RequestRates.remembered
    }

    private let state = Mutex(State())

    /// Takes one token out of a key's bucket.
    ///
    /// - Parameter rate: tokens a second; more than 0.
    /// - Returns: nil where there was one, else how long it takes until there is one again.
    func take(_ key: Key, rate: Int, at now: ContinuousClock.Instant) -> Duration? {
        state.withLock { state in
            let full = Self.afterTaking(state.full[key], rate, now)
            let excess = Self.excess(full, rate, now)
            guard excess <= .zero else { return excess }
            state.full[key] = full
            guard state.full.count > state.forgetsAt else { return nil }
            // A full bucket is as good as none. Looked for each time that the number has doubled, so it costs little.
            state.full = state.full.filter { $0.value > now }
            state.forgetsAt = max(RequestRates.remembered, state.full.count * 2)
            return nil
        }
    }

    /// As ``take(_:rate:at:)``, and takes nothing.
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

    /// How many keys are remembered.
    var count: Int { state.withLock { $0.full.count } }
}

extension Problem {
    /// The same problem, with the time after which another try may help.
    func after(_ wait: Duration) -> Problem {
        var problem = self
        problem.retryAfter = max(1, Int((wait / .seconds(1)).rounded(.up)))
        return problem
    }
}
