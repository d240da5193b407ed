import Contracts
import Records
import Testing
import Timeline

@testable import Scenarios

struct TextValueTests {
    @Test(arguments: [
        ("90s", 90_000), ("10m", 600_000), ("1h30m", 5_400_000), ("500ms", 500), ("7d", 604_800_000), ("0s", 0),
        ("1d2h3m4s5ms", 93_784_005), ("366d", 31_622_400_000),
    ])
    func `a duration is a sum of units`(text: String, milliseconds: Int64) throws {
        let span = try #require(TimeSpan(text))
        #expect(span.interval == .milliseconds(milliseconds))
        #expect(TimeSpan(span.description) == span)
    }

    @Test(arguments: [
        "", "10", "m", "10 m", "30m1h", "1h1h", "-1s", "1.5h", "367d", "9999999999s", "10m ", "१s", "1hm",
    ])
    func `a text that is no duration is refused`(text: String) { #expect(TimeSpan(text) == nil) }

    @Test(arguments: ["4s", "4s±2s", "1h±1h"])
    func `a spread duration keeps its text`(text: String) { #expect(SpreadSpan(text)?.description == text) }

    @Test func `a spread may be written in ASCII, and is at most the duration`() {
        #expect(SpreadSpan("4s+-2s") == SpreadSpan("4s±2s"))
        #expect(SpreadSpan("4s±5s") == nil)
        #expect(SpreadSpan("4s±") == nil)
    }

    @Test(arguments: [
        "07:30", "07:30±20m", "mon,tue,wed,thu,fri 07:30", "sat,sun 10:00±1h", "day 3 12:00", "days 2-4 00:00",
    ])
    func `a time on some days keeps its text`(text: String) { #expect(DailyTime(text)?.description == text) }

    @Test(arguments: [
        "24:00", "7:30", "07:60", "25:00", "07:30±13h", "mon- 07:00", "day 0 07:00", "days 4-2 07:00", "07",
    ])
    func `a text that is no time is refused`(text: String) { #expect(DailyTime(text) == nil) }

    @Test func `a range of weekdays continues after Sunday`() throws {
        let days = try #require(DailyTime("sat-mon 10:00")).days
        #expect((0..<7).filter { days.include(day: 0, weekday: $0) } == [0, 5, 6])
    }

    @Test(arguments: [
        ("23:00-06:30", true), ("09:00±10m-17:00", false), ("from 16:00", false), ("until 08:00", false),
        ("always", false), ("mon,fri 22:00-02:00", true),
    ])
    func `a period keeps its text and knows whether it passes midnight`(text: String, endsNextDay: Bool) throws {
        let period = try #require(DailyPeriod(text))
        #expect(period.description == text)
        #expect(period.endsNextDay == endsNextDay)
    }

    @Test(arguments: ["10:00-10:00", "10:00", "10:00-", "from", "24:00-08:00", "until 00:00"])
    func `a text that is no period is refused`(text: String) { #expect(DailyPeriod(text) == nil) }

    @Test(arguments: [
        "07:30±20m", "07:30 com.example.news for 2m±1m", "10 times 07:00-23:00", "3 times sat always com.example.mail",
        "07:30 for 20s",
    ])
    func `an opening keeps its text`(text: String) { #expect(Opening(text)?.description == text) }

    @Test(arguments: [
        "0 times always", "201 times always", "5 times 23:00-06:00", "07:30 for", "07:30  a", "07:30 a b",
    ])
    func `a text that is no opening is refused`(text: String) { #expect(Opening(text) == nil) }

    @Test(arguments: [("60%", 6000), ("2.5%", 250), ("0.05%", 5), ("100%", 10_000)])
    func `a share has two decimal places`(text: String, points: Int) {
        #expect(Percent(text)?.basisPoints == points)
        #expect(Percent(text)?.description == text)
    }

    @Test(arguments: ["101%", "60", "-1%", "1.234%", "%"])
    func `a text that is no share is refused`(text: String) { #expect(Percent(text) == nil) }

    @Test(arguments: [("512kB", 512_000), ("2GB", 2_000_000_000), ("1.5MB", 1_500_000), ("7B", 7)])
    func `a number of bytes has decimal units`(text: String, bytes: Int) { #expect(ByteCount(text)?.bytes == bytes) }

    @Test func `a cellular network is expensive`() {
        #expect(NetworkText("lte")?.network.expensive == true)
        #expect(NetworkText("lte constrained")?.network.constrained == true)
        #expect(NetworkText("wifi")?.network.expensive == false)
        #expect(NetworkText("wifi expensive")?.description == "wifi expensive")
    }

    @Test func `shares of a mix add up to 100 percent`() {
        #expect(
            throws: DocumentError([
                FieldError(pointer: "", detail: "must have shares that add up to 100 %, not to 90.0 %")
            ])
        ) {
            try Mix<HandlerResult>(json: ["newData": 60, "noData": "30%"])
        }
    }

    @Test func `a mix is drawn by its shares`() throws {
        let mix = try Mix<HandlerResult>(json: ["newData": 75, "failed": 25])
        #expect(mix.value(at: 0) == .failed)
        #expect(mix.value(at: .max / 4) == .failed)
        #expect(mix.value(at: .max / 4 + 2) == .newData)
        #expect(mix.value(at: .max) == .newData)
        #expect(mix.principal == .newData)
    }

    @Test func `random texts never trap a parser`() {
        var random = SeededRandom(seed: 1)
        let pieces = [
            "0", "7", "30", "99999999999", ":", "±", "+-", "-", " ", "mon", "fri", ",", "day ", "days ", "from ",
            "until ",
            "always", "times ", "for ", "m", "h", "s", "ms", "d", "%", ".", "below ", "group ", "é", "🦫", "wifi",
            "kB/s",
        ]
        for _ in 0..<20_000 {
            let text = (0..<random.number(0...8)).map { _ in random.pick(pieces) }.joined()
            if let value = TimeSpan(text) { #expect(TimeSpan(value.description) == value) }
            if let value = DailyTime(text) { #expect(DailyTime(value.description) == value) }
            if let value = DailyPeriod(text) { #expect(DailyPeriod(value.description) == value) }
            if let value = Opening(text) { #expect(Opening(value.description) == value) }
            if let value = LowPowerRule(text) { #expect(LowPowerRule(value.description) == value) }
            if let value = NetworkPeriod(text) { #expect(NetworkPeriod(value.description) == value) }
            if let value = Percent(text) { #expect(Percent(value.description) == value) }
            _ = (Audience(text), ByteCount(text), ByteRate(text), ZoneName(text), ScenarioDate(text))
        }
    }
}
