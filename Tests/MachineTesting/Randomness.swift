import Foundation

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014): the same seed gives the
/// same numbers on every machine.
public struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// A generator that starts from `seed`.
    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

/// A generator that depends only on the seed.
public func seededRandom(_ seed: UInt64) -> SplitMix64 { SplitMix64(seed: seed) }

/// A property did not hold for a seed.
public struct PropertyFailed: Error, CustomStringConvertible {
    /// The seed that fails.
    public let seed: UInt64
    /// The error of the property.
    public let reason: any Error

    public init(seed: UInt64, reason: any Error) {
        self.seed = seed
        self.reason = reason
    }

    public var description: String { "seed \(seed) (run only this seed with DORMOUSE_SEED=\(seed)): \(reason)" }
}

/// Checks a property for the seeds `first`, `first + 1` and so on.
///
/// The environment variable `DORMOUSE_SEED` selects other seeds: one, such as `7`, or a range, such as `100-200`.
///
/// The property fails by throwing. Use `#require` in it: an `#expect` would neither stop the run nor name the seed.
/// - Parameters:
///   - first: the first seed.
///   - count: the number of seeds.
///   - property: receives a new generator with the seed.
/// - Throws: ``PropertyFailed`` for the first failing seed, which is also printed.
public func propertyTest(
    seedsFrom first: UInt64 = 1, count: Int = 100, isolation: isolated (any Actor)? = #isolation,
    _ property: (inout SplitMix64) async throws -> Void
) async throws {
    for seed in seeds(from: first, count: count, asked: ProcessInfo.processInfo.environment["DORMOUSE_SEED"]) {
        var generator = SplitMix64(seed: seed)
        do {
            try await property(&generator)
        } catch {
            let failure = PropertyFailed(seed: seed, reason: error)
            print(failure)
            throw failure
        }
    }
}

/// The seeds of a property test. A value of `DORMOUSE_SEED` that is not a number is ignored.
public func seeds(from first: UInt64, count: Int, asked: String?) -> [UInt64] {
    let range = asked.map { $0.split(separator: "-").compactMap { UInt64($0) } } ?? []
    if let low = range.first, let high = range.last, range.count == 2, low <= high { return Array(low...high) }
    if let seed = asked.flatMap({ UInt64($0) }) { return [seed] }
    return (0..<UInt64(count)).map { first &+ $0 }
}
