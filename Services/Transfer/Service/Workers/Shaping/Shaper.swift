import Contracts
import Synchronization

/// The network of one device. All its transfers in this process share its bandwidth.
///
/// Bytes pass in small portions, first come, first served, so concurrent transfers get fair shares.
final class Shaper: Sendable {
    enum Direction: Sendable { case down, up }

    /// The time of one portion, and the unused time that a direction can catch up after a pause.
    static let portion = Duration.milliseconds(50)
    /// The minimum retransmission timeout (RFC 6298 section 2.4).
    static let retransmission = Duration.seconds(1)
    private static let smallestPortion = 1024
    /// A longer wait checks after this time whether the network has changed.
    private static let longestSleep = Duration.milliseconds(250)

    private struct State {
        var profile: LinkProfile?
        /// The number of network changes that were reported.
        var heard = 0
        /// The number of the network. A change voids all waits on the former network.
        var network = 0
        /// The time at which each direction is free again.
        var free: (down: Duration, up: Duration)
        var random: any RandomNumberGenerator & Sendable

        mutating func change(to shape: NetworkShape?, _ now: Duration) {
            let profile = shape.map { LinkProfile($0) }
            guard profile != self.profile else { return }
            self.profile = profile
            network += 1
            free = (now, now)
        }
    }

    private let state: Mutex<State>
    private let clock: ShapingClock

    init(
        _ shape: NetworkShape? = nil, clock: ShapingClock = .continuous,
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.clock = clock
        let now = clock.now()
        state = Mutex(State(profile: shape.map { LinkProfile($0) }, free: (now, now), random: random))
    }

    /// Changes the network, also for running transfers. Nil is a network without a shape.
    func change(to shape: NetworkShape?) {
        let now = clock.now()
        state.withLock { state in
            state.heard += 1
            state.change(to: shape, now)
        }
    }

    /// Takes the shape of the network from an answer, unless ``change(to:)`` reports a newer one meanwhile.
    func learn<Answer>(
        _ shape: (Answer) -> NetworkShape?, from ask: () async throws -> Answer
    ) async rethrows -> Answer {
        let heard = state.withLock(\.heard)
        let answer = try await ask()
        let now = clock.now()
        state.withLock { state in
            if state.heard == heard { state.change(to: shape(answer), now) }
        }
        return answer
    }

    /// Waits the round trip of a new connection.
    func connect() async throws {
        guard let delay = state.withLock({ $0.profile?.roundTrip }) else { return }
        try await clock.sleep(delay)
    }

    /// The number of bytes in one portion.
    func portion(_ direction: Direction) -> Int {
        state.withLock { $0.profile.map { Self.portion(of: $0, direction) } ?? .max }
    }

    /// Returns when this number of bytes has passed.
    func pass(_ count: Int, _ direction: Direction) async throws {
        var rest = count
        while rest > 0 {
            guard let turn = turn(rest, direction) else { return }
            if try await isOver(turn) { rest -= turn.count }
        }
    }

    /// A portion in the queue of a direction.
    private struct Turn {
        var count: Int
        var end: Duration
        var network: Int
    }

    private func turn(_ rest: Int, _ direction: Direction) -> Turn? {
        let now = clock.now()
        return state.withLock { state in
            guard let profile = state.profile else { return nil }
            let count = min(rest, Self.portion(of: profile, direction))
            let rate = direction == .down ? profile.down : profile.up
            let free = direction == .down ? state.free.down : state.free.up
            let end = max(free, now - Self.portion) + .nanoseconds(Int64(count) * 1_000_000_000 / Int64(rate))
            if direction == .down { state.free.down = end } else { state.free.up = end }
            var turn = Turn(count: count, end: end, network: state.network)
            // A lost portion occupies the link, and its transfer waits for the retransmission.
            if profile.loss > 0, Double.random(in: 0..<1, using: &state.random) < profile.loss {
                turn.end += max(Self.retransmission, profile.roundTrip)
            }
            return turn
        }
    }

    /// - Returns: whether the portion has passed; false if the network has changed.
    private func isOver(_ turn: Turn) async throws -> Bool {
        while true {
            let wait = turn.end - clock.now()
            guard wait > .zero else { return true }
            try await clock.sleep(min(wait, Self.longestSleep))
            guard state.withLock({ $0.network == turn.network }) else { return false }
        }
    }

    private static func portion(of profile: LinkProfile, _ direction: Direction) -> Int {
        let rate = direction == .down ? profile.down : profile.up
        return max(smallestPortion, Int(Double(rate) * (portion / .seconds(1))))
    }
}

/// The clock of a shaper.
struct ShapingClock: Sendable {
    /// The time since an arbitrary start.
    let now: @Sendable () -> Duration
    let sleep: @Sendable (Duration) async throws -> Void

    static let continuous = {
        let clock = ContinuousClock()
        let start = clock.now
        return ShapingClock(now: { clock.now - start }, sleep: { try await clock.sleep(for: $0) })
    }()
}
