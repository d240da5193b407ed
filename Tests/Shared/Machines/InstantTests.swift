import Contracts
import Testing
import Timeline

@Suite struct InstantTests {
    @Test(arguments: [
        ("1970-01-01T00:00:00.000Z", Int64(0)), ("2026-11-21T07:40:00.123Z", 1_795_246_800_123),
        ("2000-02-29T23:59:59.999Z", 951_868_799_999), ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ])
    func `an instant converts between text and milliseconds`(text: String, milliseconds: Int64) {
        #expect(Instant(text)?.milliseconds == milliseconds)
        #expect(Instant(milliseconds: milliseconds).description == text)
    }

    @Test func `time zone offsets and fractions are parsed`() {
        #expect(Instant("2026-11-21T08:40:00.1239+01:00") == Instant("2026-11-21T07:40:00.123Z"))
        #expect(Instant("2026-11-21T07:40:00Z") == Instant("2026-11-21T07:40:00.000Z"))
    }

    @Test(arguments: [
        "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-11-21", "2026-11-21T24:00:00Z", "2026-11-21T07:40:00",
        "2026-11-21T07:40:00.Z", "2026-11-21T07:40:00Zx", "1969-12-31T23:59:59Z", "",
    ])
    func `an invalid instant is refused`(text: String) { #expect(Instant(text) == nil) }

    @Test func `every day of four centuries survives a round trip`() {
        for day in Int64(0)..<146_097 {
            let instant = Instant(milliseconds: day * 86_400_000)
            #expect(Instant(instant.description) == instant)
        }
    }

    @Test func `virtual time follows its rate`() {
        let setting = ClockSetting(
            isVirtual: true, realEpoch: Instant(milliseconds: 1000), virtualEpoch: Instant(milliseconds: 500_000),
            rate: 60)
        #expect(setting.instant(atReal: Instant(milliseconds: 2000)) == Instant(milliseconds: 560_000))
        #expect(setting.real(at: Instant(milliseconds: 560_000)) == Instant(milliseconds: 2000))
        var frozen = setting
        frozen.rate = 0
        #expect(frozen.instant(atReal: Instant(milliseconds: 9000)) == frozen.virtualEpoch)
        #expect(frozen.real(at: frozen.virtualEpoch + .seconds(1)) == nil)
    }

    @Test func `a sum ends at the last instant that documents may contain`() {
        let last = Instant.documented.upperBound
        #expect(last + .milliseconds(1) == last)
        #expect(last - .days(1) + .days(2) == last)
        #expect(Instant(last.description) == last)
        #expect(last + .milliseconds(-1) < last)
    }

    @Test func `time arithmetic saturates`() {
        let last = Instant(milliseconds: .max)
        let first = Instant(milliseconds: .min)
        #expect(last + .milliseconds(1) == last)
        #expect(first - .milliseconds(1) == first)
        #expect(first - last == .milliseconds(.min))
        #expect(last - first == .milliseconds(.max))
        #expect(Interval.days(.max) == .milliseconds(.max))
        #expect(Interval.days(.min) == .milliseconds(.min))
        #expect(Interval.milliseconds(.min) * -1 == .milliseconds(.max))
        #expect(Interval.seconds(1e300) == .milliseconds(.max))
        #expect(Interval.seconds(-Double.infinity) == .milliseconds(.min))
        #expect(Interval.seconds(Double.nan) == .zero)
        #expect(last.heldToDocuments == Instant.documented.upperBound)
        #expect(first.heldToDocuments == .epoch)
        var setting = ClockSetting(isVirtual: true, realEpoch: .epoch, virtualEpoch: .epoch, rate: 100_000)
        #expect(setting.instant(atReal: last) == Instant.documented.upperBound)
        setting.rate = 0.001
        #expect(setting.real(at: last) == Instant.documented.upperBound)
    }

    @Test func `a virtual clock ends at the last instant`() {
        let last = Instant(milliseconds: .max)
        var setting = ClockSetting(isVirtual: true, realEpoch: .epoch, virtualEpoch: .epoch, rate: 100_000)
        #expect(setting.instant(atReal: last) == Instant.documented.upperBound)
        setting.rate = 0.001
        #expect(setting.real(at: last) == Instant.documented.upperBound)
    }

    @Test func `keys keep their partition and spread evenly`() {
        #expect((0..<6).map { AggregateKey.device("d\($0)").partition(of: 16) } == [12, 15, 6, 1, 0, 3])
        let spread = (0..<16000).reduce(into: [Int](repeating: 0, count: 16)) {
            $0[AggregateKey.device("device-\($1)").partition(of: 16)] += 1
        }
        #expect(spread.allSatisfy { (800...1200).contains($0) })
    }
}
