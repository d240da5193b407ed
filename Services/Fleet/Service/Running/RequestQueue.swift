import DequeModule
import Scenarios
import Timeline

/// A queued request with its number of attempts.
struct Job: Sendable {
    var device: Int
    var action: Action
    /// The same for every attempt, so that a retry has no second effect.
    var idempotencyKey: String
    var attempts = 0
    var firstTried: Instant
}

/// The queue of requests of a device to one service, with at most one in progress. A service that does not answer
/// delays only its own queue.
struct RequestQueue: Sendable {
    var jobs: Deque<Job> = []
    var isBusy = false
    /// Whether the queue is in the list of ready queues or waits for a retry.
    var isListed = false
}

/// The identity of a queue.
struct RequestQueueID: Sendable, Hashable {
    var device: Int
    var service: ServiceName
}

/// The delays between attempts.
struct Backoff: Sendable {
    /// The time after which retries end.
    static let patience = Interval.minutes(3)

    /// Returns the delay before a retry: 0.2 s, doubled up to 1.6 s, or a longer `Retry-After` up to 30 s. A random
    /// addition of up to half spreads the devices. The delay stays short, because queued handlers have a limit of 5 s.
    static func wait(attempts: Int, asked: Double?, _ random: inout SeededRandom) -> Interval {
        let doubled = Interval.milliseconds(200 << Int64(min(attempts, 3)))
        let wait = max(doubled, .seconds(min(asked ?? 0, 30)))
        return wait + random.interval(.zero...wait / 2)
    }
}
