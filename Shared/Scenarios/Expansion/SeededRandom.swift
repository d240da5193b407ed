public import Timeline

/// A seeded random number generator: SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
/// 2014). The same seed gives the same numbers on every machine.
public struct SeededRandom: Sendable, Equatable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    /// Creates the generator of one of many devices. Adjacent indices give unrelated numbers.
    public init(seed: UInt64, index: Int) {
        var mixed = SeededRandom(seed: seed)
        self.init(seed: mixed.next() ^ (UInt64(truncatingIfNeeded: index) &* 0xd134_2543_de82_ef95))
        _ = next()
    }

    /// Returns the next number.
    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// Returns a uniformly distributed number of the range, with a bias below 2⁻⁴⁰ for the ranges used here.
    public mutating func number(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    /// Returns true with a probability of `share` percent.
    public mutating func percent(_ share: Int) -> Bool { number(0...99) < share }

    /// Returns a random item of a non-empty list.
    public mutating func pick<T>(_ items: [T]) -> T { items[number(0...(items.count - 1))] }

    /// Returns a random interval of the range, in whole milliseconds.
    public mutating func interval(_ range: ClosedRange<Interval>) -> Interval {
        .milliseconds(Int64(number(Int(range.lowerBound.milliseconds)...Int(range.upperBound.milliseconds))))
    }

    /// Returns a random time until the next event with this mean, from an exponential distribution in 16 steps. A table
    /// replaces the logarithm, whose last digit differs between C libraries.
    public mutating func wait(mean: Interval) -> Interval {
        .milliseconds(mean.milliseconds * Self.quantiles[number(0...15)] / 1000)
    }

    private static let quantiles: [Int64] = [
        32, 99, 170, 247, 330, 421, 520, 629, 753, 894, 1059, 1258, 1508, 1846, 2367, 3466,
    ]
}
