import Contracts
import Synchronization
import TestSupport
import Testing

@testable import TransferService

/// Bandwidth, latency and loss of shaped networks.
@Suite struct Shaping {
    @Test(arguments: [
        (NetworkShape.edge, Shaper.Direction.down, 30_000), (.edge, .up, 25_000), (.thirdGeneration, .down, 97_500),
        (.thirdGeneration, .up, 41_250), (.lte, .down, 6_250_000), (.lte, .up, 1_250_000),
        (.fifthGeneration, .down, 37_500_000), (.wifi, .up, 4_125_000),
    ])
    func `the rate is that of the profile`(shape: NetworkShape, direction: Shaper.Direction, rate: Int) async throws {
        let time = VirtualTime()
        let shaper = Shaper(shape, clock: time.clock)
        for second in 1...10 {
            // In several chunks.
            for part in 0..<5 { try await shaper.pass(rate / 5 + (part == 0 ? rate % 5 : 0), direction) }
            let late = (time.now - .seconds(second)) / .microseconds(1)
            #expect(abs(late) < 10)
        }
    }

    @Test func `the two directions do not share bandwidth`() async throws {
        let time = VirtualTime()
        let shaper = Shaper(.edge, clock: time.clock)
        try await shaper.pass(30_000, .down)
        #expect(time.now == .seconds(1))
        try await shaper.pass(shaper.portion(.up), .up)
        #expect(time.now == .seconds(1), "the other direction was idle")
    }

    @Test func `a new connection takes one round trip`() async throws {
        let time = VirtualTime()
        try await Shaper(.edge, clock: time.clock).connect()
        #expect(time.now == .milliseconds(840))
    }

    @Test func `an idle network saves up at most one portion`() async throws {
        let time = VirtualTime()
        let shaper = Shaper(.edge, clock: time.clock)
        try await time.sleep(.seconds(60))
        try await shaper.pass(30_000, .down)
        #expect(time.now == .seconds(61) - Shaper.portion)
    }

    @Test func `without a shape nothing waits`() async throws {
        let time = VirtualTime()
        let shaper = Shaper(nil, clock: time.clock)
        try await shaper.connect()
        for _ in 0..<100 { try await shaper.pass(1 << 20, .down) }
        #expect(time.now == .zero && time.sleeps == 0)
        #expect(shaper.portion(.up) == .max)
    }

    @Test func `concurrent transfers get equal shares`() async throws {
        let time = VirtualTime(sleepers: 3)
        let shaper = Shaper(.thirdGeneration, clock: time.clock)
        let counts = Counts()
        // The sizes of their chunks differ.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (transfer, chunk) in [4_000, 65_536, 16_384].enumerated() {
                group.addTask {
                    defer { time.leave() }
                    while time.now < .seconds(30) {
                        try await shaper.pass(chunk, .down)
                        counts.all.withLock { $0[transfer] += chunk }
                    }
                }
            }
            try await group.waitForAll()
        }
        let all = counts.all.withLock(\.self)
        let fair = 97_500 * 10
        for count in all { #expect(abs(count - fair) < fair / 5, "\(all)") }
        let total: Int = all.reduce(0, +)
        #expect(total <= 4 * fair)
    }

    private final class Counts: Sendable { let all = Mutex([0, 0, 0]) }

    @Test func `a change of network takes effect at once`() async throws {
        let time = VirtualTime(sleepers: 2)
        let shaper = Shaper(.edge, clock: time.clock)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { time.leave() }
                try await shaper.pass(30_000 * 3600, .down)
            }
            group.addTask {
                defer { time.leave() }
                try await time.sleep(.seconds(10))
                shaper.change(to: .wifi)
                try await time.sleep(.seconds(5))
                shaper.change(to: nil)
            }
            try await group.waitForAll()
        }
        #expect(time.now >= .seconds(15) && time.now < .seconds(16), "the first network needs an hour")
    }

    /// A transfer in a long queue must not wait for the time that the former network would take.
    @Test func `a queue ends with its network`() async throws {
        let time = VirtualTime(sleepers: 101)
        let shaper = Shaper(.edge, clock: time.clock)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    defer { time.leave() }
                    try await shaper.pass(shaper.portion(.down), .down)
                }
            }
            group.addTask {
                defer { time.leave() }
                try await time.sleep(.seconds(1))
                shaper.change(to: nil)
            }
            try await group.waitForAll()
        }
        #expect(time.now >= .seconds(1) && time.now < .milliseconds(1500), "the first network needs 5 s")
    }

    @Test func `transfers share the network of their own device only`() async throws {
        let shapers = Shapers()
        let (phone, tablet) = (AggregateKey.device("phone"), AggregateKey.device("tablet"))
        await shapers.share(phone) { first in
            shapers.change(phone, to: .edge)
            let edge = first.portion(.up)
            await shapers.share(phone) { #expect($0 === first && $0.portion(.up) == edge) }
            await shapers.share(tablet) { other in
                shapers.change(tablet, to: .edge)
                #expect(other !== first)
                shapers.change(phone, to: .fifthGeneration)
                #expect(first.portion(.up) > edge && other.portion(.up) == edge)
            }
        }
        await shapers.share(phone) { #expect($0.portion(.up) == .max, "an unused shaper is dropped") }
    }

    /// One portion in ten waits for its retransmission. The link continues meanwhile.
    @Test func `a lost portion costs a retransmission timeout`() async throws {
        let (portions, portion) = (2000, 6250)
        func time(seed: UInt64) async throws -> Duration {
            let time = VirtualTime()
            let shaper = Shaper(.lossy, clock: time.clock, random: seededRandom(seed))
            #expect(shaper.portion(.down) == portion)
            for _ in 0..<portions { try await shaper.pass(portion, .down) }
            return time.now
        }
        let once = try await time(seed: 7)
        #expect(try await time(seed: 7) == once, "the same seed gives the same losses")
        #expect(try await time(seed: 8) != once)
        // A portion takes 50 ms. A loss costs the timeout and one portion, of which the idle time makes up one.
        let losses = (once - .milliseconds(50 * portions)) / .seconds(1)
        #expect((0.07...0.13).contains(losses / Double(portions)), "\(losses)")
    }
}

/// A clock that advances only while all its tasks sleep.
final class VirtualTime: Sendable {
    private struct State {
        var now = Duration.zero
        var sleepers: Int
        var sleeps = 0
        var waiting: [(until: Duration, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state: Mutex<State>

    /// - Parameter sleepers: The number of tasks that use the clock.
    init(sleepers: Int = 1) { state = Mutex(State(sleepers: sleepers)) }

    var now: Duration { state.withLock(\.now) }
    var sleeps: Int { state.withLock(\.sleeps) }
    var clock: ShapingClock { ShapingClock(now: { self.now }, sleep: { try await self.sleep($0) }) }

    func sleep(_ duration: Duration) async throws {
        await withCheckedContinuation { continuation in
            wake { state in
                state.sleeps += 1
                state.waiting.append((state.now + duration, continuation))
            }
        }
        try Task.checkCancellation()
    }

    /// Removes one task from the clock.
    func leave() { wake { $0.sleepers -= 1 } }

    private func wake(_ change: (inout State) -> Void) {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            change(&state)
            guard state.waiting.count == state.sleepers,
                let first = state.waiting.indices.min(by: { state.waiting[$0].until < state.waiting[$1].until })
            else { return nil }
            let sleeper = state.waiting.remove(at: first)
            state.now = max(state.now, sleeper.until)
            return sleeper.continuation
        }
        next?.resume()
    }
}
