import PushCore
import Synchronization
import Timeline

/// Limits the requests for each device token (`TooManyRequests`): a token bucket in each process, in real time.
///
/// Apple documents no numbers. Our choice: a burst of 100, then ten a second.
final class TokenRates: Sendable {
    private static let burst: Int64 = 100
    private static let refill = Interval.milliseconds(100)
    private static let limit = 100_000

    /// The time when the bucket of each device token is full again.
    private let fullAt = Mutex<[PushToken: Instant]>([:])

    /// Returns whether the limit admits one more request now, and counts it.
    func admit(_ token: PushToken, now: Instant) -> Bool {
        fullAt.withLock { fullAt in
            if fullAt.count >= Self.limit { fullAt = fullAt.filter { $0.value > now } }
            let full = max(fullAt[token] ?? now, now) + Self.refill
            guard full - now <= Self.refill * Self.burst else { return false }
            fullAt[token] = full
            return true
        }
    }
}
