import PushMachine
import Synchronization
import Timeline

/// Holds back providers that send to one device token without pause: `TooManyRequests`.
///
/// Apple gives no number. Ours: a hundred at once, then ten a second, in real time and for each process.
final class TokenRates: Sendable {
    private static let burst: Int64 = 100
    private static let refill = Interval.milliseconds(100)
    private static let limit = 100_000

    /// When the bucket of each token is full again.
    private let fullAt = Mutex<[PushToken: Instant]>([:])

    /// Whether one more may go to the token now.
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
