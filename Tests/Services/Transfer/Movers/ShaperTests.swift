import Contracts
import Synchronization
import TestSupport
import Testing

@testable import TransferService

/// Bytes take the time that their network takes.
@Suite struct Shaping {
    @Test(arguments: [
        (NetworkShape.edge, Shaper.Direction.down, 30_000), (.edge, .up, 25_000), (.thirdGeneration, .down, 97_500),
        (.thirdGeneration, .up, 41_250), (.lte, .down, 6_250_000), (.lte, .up, 1_250_000),
        (.fifthGeneration, .down, 37_500_000), (.wifi, .up, 4_125_000),
    ])
    func aSecondTakesWhatItsProfileSays(shape: NetworkShape, direction: Shaper.Direction, rate: Int) async throws {
        let time = VirtualTime()
        let shaper = Shaper(shape, clock: time.clock)
        for second in 1...10 {
            // In chunks as they come.
            for part in 0..<5 { try await shaper.pass(rate / 5 + (part == 0 ? rate % 5 : 0), direction) }
            let late = (time.now - .seconds(second)) / .microseconds(1)
            #expect(abs(late) < 10)
        }
    }

    @Test func directionsAreApart() async throws {
        let time = VirtualTime()
        let shaper = Shaper(.edge, clock: time.clock)
        try await shaper.pass(30_000, .down)
        #expect(time.now == .seconds(1))
        try await shaper.pass(shaper.portion(.up), .up)
        #expect(time.now == .seconds(1), "the other direction was idle")
    }

    @Test func aNewConnectionTakesARoundTrip() async throws {
        let time = VirtualTime()
        try await Shaper(.edge, clock: time.clock).connect()
        #expect(time.now == .milliseconds(840))
    }

    @Test func whatWasNotUsedIsMadeUpForAMomentOnly() async throws {
        let time = VirtualTime()
        let shaper = Shaper(.edge, clock: time.clock)
        try await time.sleep(.seconds(60))
        try await shaper.pass(30_000, .down)
        #expect(time.now == .seconds(61) - Shaper.portion)
    }

    @Test func withoutAShapeNothingWaits() async throws {
        let time = VirtualTime()
        let shaper = Shaper(nil, clock: time.clock)
        try await shaper.connect()
        for _ in 0..<100 { try await shaper.pass(1 << 20, .down) }
        #expect(time.now == .zero && time.sleeps == 0)
        #expect(shaper.portion(.up) == .max)
    }

    @Test func transfersShareFairly() async throws {
        let time = VirtualTime(sleepers: 3)
        let shaper = Shaper(.thirdGeneration, clock: time.clock)
        let counts = Counts()
        // However differently their bytes come in.
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

    @Test func anotherNetworkIsFeltAtOnce() async throws {
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
        #expect(time.now >= .seconds(15) && time.now < .seconds(16), "an hour at the first network's pace")
    }

    /// Whoever waits in a long queue does not wait on for what the last network would have taken.
    @Test func aQueueEndsWithItsNetwork() async throws {
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
        #expect(time.now >= .seconds(1) && time.now < .milliseconds(1500), "5 s at the first network's pace")
    }

    @Test func aDevicesTransfersShareItsNetworkWithNobodyElse() async throws {
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
        await shapers.share(phone) { #expect($0.portion(.up) == .max, "nobody had a use for the old one") }
    }

    /// One portion in ten waits for its retransmission; the link itself goes on.
    @Test func lossCostsTimeOuts() async throws {
        let (portions, portion) = (2000, 6250)
        func time(seed: UInt64) async throws -> Duration {
            let time = VirtualTime()
            let shaper = Shaper(.lossy, clock: time.clock, random: seededRandom(seed))
            #expect(shaper.portion(.down) == portion)
            for _ in 0..<portions { try await shaper.pass(portion, .down) }
            return time.now
        }
        let once = try await time(seed: 7)
        #expect(try await time(seed: 7) == once, "the same seed, the same losses")
        #expect(try await time(seed: 8) != once)
        // 50 ms each; a loss costs the time-out and one portion's time, of which the pause makes up one.
        let losses = (once - .milliseconds(50 * portions)) / .seconds(1)
        #expect((0.07...0.13).contains(losses / Double(portions)), "\(losses)")
    }
}

/// Time that passes only while all who live by it sleep.
final class VirtualTime: Sendable {
    private struct State {
        var now = Duration.zero
        var sleepers: Int
        var sleeps = 0
        var waiting: [(until: Duration, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state: Mutex<State>

    /// - Parameter sleepers: how many tasks live by it.
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

    /// One of them is done.
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
