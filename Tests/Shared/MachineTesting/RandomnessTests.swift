import Testing

@testable import MachineTesting

@Suite("Seeded randomness")
struct RandomnessTests {
    /// The published test vector of SplitMix64 for the seed 1234567.
    @Test func `the seeded numbers are those of SplitMix64`() {
        var generator = seededRandom(1_234_567)
        let numbers = (0..<5).map { _ in generator.next() }
        #expect(
            numbers == [
                6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
                4_593_380_528_125_082_431, 16_408_922_859_458_223_821,
            ])
    }

    @Test func `a failed property test names its seed`() async throws {
        struct TooLarge: Error {}
        var tried: [UInt64] = []
        let failing = seededRandom(12)
        var failure: PropertyFailed?
        do {
            try await propertyTest(seedsFrom: 10, count: 5) { random in
                let number = random.next()
                tried.append(number)
                var expected = failing
                if number == expected.next() { throw TooLarge() }
            }
        } catch let caught as PropertyFailed {
            failure = caught
        }
        #expect(tried.count == 3)
        #expect(failure?.seed == 12)
        #expect(failure?.description.contains("DORMOUSE_SEED=12") == true)
        #expect(failure?.reason is TooLarge)
    }

    @Test func `a given seed is the only one that runs`() {
        #expect(seeds(from: 3, count: 3, asked: nil) == [3, 4, 5])
        #expect(seeds(from: 3, count: 3, asked: "99") == [99])
        #expect(seeds(from: 3, count: 3, asked: "7-9") == [7, 8, 9])
        #expect(seeds(from: 3, count: 2, asked: "9-7") == [3, 4])
        #expect(seeds(from: 3, count: 2, asked: "ninety") == [3, 4])
    }
}
