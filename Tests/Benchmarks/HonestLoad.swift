import Attack
import TestSupport

/// The answers to honest callers in one measurement.
struct HonestLoad: Sendable {
    /// The limit of each answer, in seconds. A later one is a failure.
    private static let answerSeconds: Int64 = 30

    /// The accepted requests a second.
    let perSecond: Double
    /// The number of other requests, by their status or error.
    let failures: [String: Int]
    /// The times to the whole answers of accepted requests, sorted.
    private let times: [Duration]

    private struct Attempt: Sendable {
        let time: Duration
        /// The status or the error; nil for an accepted request.
        let failure: String?
    }

    /// Lets all callers send requests at once.
    ///
    /// - Parameters:
    ///   - rate: the requests a second of each caller; 0 sends the next one after each answer.
    static func run(_ callers: [HonestCaller], seconds: Int, rate: Int) async throws -> HonestLoad {
        let end = ContinuousClock.now + .seconds(seconds)
        let pause = rate > 0 ? Duration.seconds(1.0 / Double(rate)) : .zero
        let attempts = try await withThrowingTaskGroup(of: [Attempt].self) { group in
            for caller in callers { group.addTask { try await work(caller, until: end, pause: pause) } }
            return try await group.reduce(into: [Attempt]()) { $0 += $1 }
        }
        let accepted = attempts.filter { $0.failure == nil }
        let failures = Dictionary(grouping: attempts.compactMap(\.failure)) { $0 }.mapValues(\.count)
        return HonestLoad(
            perSecond: Double(accepted.count) / Double(seconds), failures: failures,
            times: accepted.map(\.time).sorted())
    }

    /// Returns a percentile of the times in milliseconds; NaN if no request was accepted.
    func milliseconds(_ share: Double) -> Double { nearestRank(times, share).map { $0 / .milliseconds(1) } ?? .nan }

    private static func work(
        _ caller: HonestCaller, until end: ContinuousClock.Instant, pause: Duration
    ) async throws -> [Attempt] {
        var attempts: [Attempt] = []
        var next = ContinuousClock.now
        while ContinuousClock.now < end {
            let begun = ContinuousClock.now
            let failure: String?
            do {
                let status = try await caller.send(within: answerSeconds).status
                failure = (200..<300).contains(status) ? nil : "\(status)"
            } catch { failure = "\(error)" }
            attempts.append(Attempt(time: begun.duration(to: .now), failure: failure))
            // The rate does not depend on the answers, unless they take longer than the pause.
            next = max(next + pause, .now)
            if pause > .zero { try await Task.sleep(until: next, clock: .continuous) }
        }
        return attempts
    }
}
