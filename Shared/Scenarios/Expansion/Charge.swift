import Timeline

/// The charge of a battery, in whole numbers, so that it is equal on every machine.
struct Charge: Sendable, Hashable {
    /// Hundredths of a percent, in parts of 1/3,600,000: a rate per hour moves it by whole parts in a millisecond.
    private var parts: Int64

    private static let partsOfPoint: Int64 = 3_600_000
    private static let lowest = 100 * partsOfPoint
    private static let highest = 10_000 * partsOfPoint
    /// A report is due at each multiple of 10 %.
    private static let step = 1000 * partsOfPoint

    /// Creates a charge from 1 to 100 %.
    init(_ level: Percent) { parts = max(Self.lowest, Int64(level.basisPoints) * Self.partsOfPoint) }

    var level: Percent { Percent(basisPoints: Int((parts + Self.partsOfPoint / 2) / Self.partsOfPoint)) }

    func isBelow(_ threshold: Percent) -> Bool { parts < Int64(threshold.basisPoints) * Self.partsOfPoint }

    /// Moves the charge by a rate in hundredths of a percent per hour.
    mutating func move(rate: Int, _ time: Interval) {
        let moved = parts + Int64(rate) * time.milliseconds
        parts = min(max(moved, Self.lowest), Self.highest)
    }

    /// Returns the time to the next multiple of 10 %; nil if the charge does not reach one.
    func timeToNextReport(rate: Int) -> Interval? {
        if rate > 0 {
            guard parts < Self.highest else { return nil }
            return time(to: (parts / Self.step + 1) * Self.step - parts, Int64(rate))
        }
        let next = (parts - 1) / Self.step * Self.step
        guard rate < 0, next >= Self.step else { return nil }
        return time(to: parts - next, Int64(-rate))
    }

    /// Returns the time until the charge is below a level; nil if it does not fall, or is below already.
    func timeToFall(below threshold: Percent, rate: Int) -> Interval? {
        let limit = Int64(threshold.basisPoints) * Self.partsOfPoint
        guard rate < 0, parts >= limit, limit > Self.lowest else { return nil }
        return time(to: parts - limit + 1, Int64(-rate))
    }

    private func time(to distance: Int64, _ rate: Int64) -> Interval { .milliseconds((distance + rate - 1) / rate) }
}
