import Contracts
import Synchronization

/// One device's network: what all its transfers in this process get through together.
///
/// Bytes pass in small portions, first come, first served, so transfers that run side by side share fairly.
final class Shaper: Sendable {
    enum Direction: Sendable { case down, up }

    /// A transfer sends or gets so much of a second at once, and so much may be made up for after a pause.
    static let portion = Duration.milliseconds(50)
    /// Least time-out after which what was lost is sent again (RFC 6298 section 2.4).
    static let retransmission = Duration.seconds(1)
    private static let smallestPortion = 1024
    /// Whoever waits longer looks after so much time whether the network is another one.
    private static let longestSleep = Duration.milliseconds(250)

    private struct State {
        var profile: LinkProfile?
        /// How often the device was heard to have changed its network.
        var heard = 0
        /// Counts the networks: what was waited for on one does not matter on the next.
        var network = 0
        /// When a direction is free again.
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

    /// The device is on another network, or on one without a shape; transfers under way feel it at once.
    func change(to shape: NetworkShape?) {
        let now = clock.now()
        state.withLock { state in
            state.heard += 1
            state.change(to: shape, now)
        }
    }

    /// Asks for something that tells what the network is like. What is heard of the network meanwhile is newer.
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

    /// Returns when the first byte can have come over a new connection.
    func connect() async throws {
        guard let delay = state.withLock({ $0.profile?.roundTrip }) else { return }
        try await clock.sleep(delay)
    }

    /// How many bytes are best passed at once.
    func portion(_ direction: Direction) -> Int {
        state.withLock { $0.profile.map { Self.portion(of: $0, direction) } ?? .max }
    }

    /// Returns when so many bytes have got through.
    func pass(_ count: Int, _ direction: Direction) async throws {
        var rest = count
        while rest > 0 {
            guard let turn = turn(rest, direction) else { return }
            if try await isOver(turn) { rest -= turn.count }
        }
    }

    /// A portion's place in the queue.
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
            // Lost on the way: the link has carried it, but this transfer waits until it is sent again.
            if profile.loss > 0, Double.random(in: 0..<1, using: &state.random) < profile.loss {
                turn.end += max(Self.retransmission, profile.roundTrip)
            }
            return turn
        }
    }

    /// - Returns: whether the portion has got through; not when the network is another one since.
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

/// What time a shaper goes by.
struct ShapingClock: Sendable {
    /// Since some moment.
    let now: @Sendable () -> Duration
    let sleep: @Sendable (Duration) async throws -> Void

    static let continuous = {
        let clock = ContinuousClock()
        let start = clock.now
        return ShapingClock(now: { clock.now - start }, sleep: { try await clock.sleep(for: $0) })
    }()
}
