import DequeModule
import Timeline

/// A call on its way: what it is for, and how often it was tried.
struct Job: Sendable {
    var device: Int
    var action: Action
    /// The same at every attempt, so that a repeat does nothing twice.
    var idempotencyKey: String
    var attempts = 0
    var firstTried: Instant
}

/// What a device has to say to one service, in order: one call is under way at most. One lane a service, so that a service
/// that is away holds up nothing but itself.
struct Lane: Sendable {
    var jobs: Deque<Job> = []
    var isBusy = false
    /// In the list of lanes that are ready, or waiting for its next attempt.
    var isListed = false
}

/// A lane of the crowd.
struct LaneID: Sendable, Hashable {
    var device: Int
    var service: ServiceName
}

/// How long to wait before another attempt.
struct Backoff: Sendable {
    /// Calls are given up after this.
    static let patience = Interval.minutes(3)

    /// Twice as long each time, from 0.2 s to 1.6 s, plus up to a half so that devices don't come back all at once; what the
    /// service asks for goes before, up to 30 s. No longer, since handlers wait behind it that have 5 s.
    static func wait(attempts: Int, asked: Double?, _ chance: inout Chance) -> Interval {
        let doubled = Interval.milliseconds(200 << Int64(min(attempts, 3)))
        let wait = max(doubled, .seconds(min(asked ?? 0, 30)))
        return wait + chance.interval(.zero...wait / 2)
    }
}
