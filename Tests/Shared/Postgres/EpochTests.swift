import Testing

@testable import Postgres

@Suite("Epoch conversion")
struct EpochTests {
    @Test(arguments: [Int64(0), 1, -1, -1_999, 946_684_800_000, 1_763_725_200_123, -62_135_596_800_000])
    func `milliseconds survive a round trip`(value: Int64) {
        #expect(Epoch.milliseconds(wire: Epoch.wire(milliseconds: value)) == value)
    }

    @Test func `microseconds are rounded down, also before 1970`() {
        let zero = Epoch.wire(milliseconds: 0)
        #expect(Epoch.milliseconds(wire: zero + 999) == 0)
        #expect(Epoch.milliseconds(wire: zero - 1) == -1)
        #expect(Epoch.milliseconds(wire: zero - 1_000) == -1)
        #expect(Epoch.milliseconds(wire: zero - 1_001) == -2)
    }

    @Test func `values out of range become infinite`() {
        #expect(Epoch.wire(milliseconds: .max) == .max)
        #expect(Epoch.wire(milliseconds: .min) == .min)
        #expect(Epoch.milliseconds(wire: .max) == .max)
        #expect(Epoch.wire(days: .max) == .max)
        #expect(Epoch.days(wire: Epoch.wire(days: .min)) == .min)
    }
}
