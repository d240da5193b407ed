/// The purpose of a random number. Each purpose has its own sequence, so a change of one does not change the others.
public enum RandomPurpose: UInt64, Sendable {
    case groups = 1, openings, forceQuits, periods, outages, updates, sends, audience, faults, handlers, answers
    case places = 32, accessories, samples, permissions, activities, continuedProcessing
}

extension SeededRandom {
    /// Creates the generator of one decision of a scenario.
    ///
    /// - Parameters:
    ///   - seed: the seed of the scenario.
    ///   - device: the index of the device; -1 for all devices.
    ///   - day: the day of the scenario, or a running number.
    ///   - item: the position in a list of the scenario.
    public init(seed: UInt64, _ purpose: RandomPurpose, device: Int, day: Int, item: Int = 0) {
        var mixed = SeededRandom(seed: seed ^ (purpose.rawValue &* 0x9fb2_1c65_1e98_df25))
        for key in [device, day, item] {
            mixed = SeededRandom(seed: mixed.next() ^ (UInt64(truncatingIfNeeded: key) &* 0xd134_2543_de82_ef95))
        }
        self = mixed
    }

    /// Returns true with the probability of the share.
    public mutating func holds(_ share: Percent) -> Bool {
        Int(next().multipliedFullWidth(by: 10_000).high) < share.basisPoints
    }

    /// Returns a uniformly distributed time from zero to `end`, without `end` itself.
    mutating func below(_ end: Int64) -> Int64 {
        end > 0 ? Int64(next().multipliedFullWidth(by: UInt64(end)).high) : 0
    }

    /// Returns a uniformly distributed difference from `-spread` to `spread`.
    mutating func difference(_ spread: Int64) -> Int64 { spread > 0 ? below(2 * spread + 1) - spread : 0 }
}
