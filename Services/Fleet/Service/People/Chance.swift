public import Timeline

/// The dice of one device: SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). The same
/// seed throws the same dice on every machine.
public struct Chance: Sendable, Equatable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    /// The dice of one of many: neighbouring indices share nothing.
    public init(seed: UInt64, index: Int) {
        var mixed = Chance(seed: seed)
        self.init(seed: mixed.next() ^ (UInt64(truncatingIfNeeded: index) &* 0xd134_2543_de82_ef95))
        _ = next()
    }

    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// A number of the range, each as likely as the others (but for a bias below 2⁻⁴⁰ with the ranges used here).
    public mutating func number(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    /// True that often in a hundred.
    public mutating func percent(_ share: Int) -> Bool { number(0...99) < share }

    public mutating func pick<T>(_ items: [T]) -> T { items[number(0...(items.count - 1))] }

    /// A length of the range, to the millisecond.
    public mutating func interval(_ range: ClosedRange<Interval>) -> Interval {
        .milliseconds(Int64(number(Int(range.lowerBound.milliseconds)...Int(range.upperBound.milliseconds))))
    }

    /// The time until the next of events that come at random with this mean distance: an exponential distribution in 16
    /// steps. A table instead of a logarithm, whose last digit differs between C libraries.
    public mutating func wait(mean: Interval) -> Interval {
        .milliseconds(mean.milliseconds * Self.quantiles[number(0...15)] / 1000)
    }

    private static let quantiles: [Int64] = [
        32, 99, 170, 247, 330, 421, 520, 629, 753, 894, 1059, 1258, 1508, 1846, 2367, 3466,
    ]
}
