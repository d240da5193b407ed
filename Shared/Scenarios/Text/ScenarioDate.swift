import Records
import Timeline

/// A date such as `2026-11-23`, from 1970-01-02 to 2200-12-31.
public struct ScenarioDate: TextValue {
    public let daysSinceEpoch: Int

    /// Monday, 23 November 2026: the first day of a scenario that names none.
    public static let usual = ScenarioDate(days: 20_780)
    public static let form = "a date such as 2026-11-23, from 1970-01-02 to 2200-12-31"
    public static let pattern =
        "(?:19[7-9][0-9]|20[0-9]{2}|21[0-9]{2}|2200)-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    public static var placeholder: ScenarioDate { .usual }

    /// 2200-12-31.
    private static let last = 84_370

    private init(days: Int) { daysSinceEpoch = days }

    public init?(_ text: String) {
        let date: CivilDate? = TextScanner.whole(text) { scanner in
            guard let year = scanner.number(digits: 4...4), scanner.take("-"),
                let month = scanner.number(digits: 2...2), scanner.take("-"), let day = scanner.number(digits: 2...2)
            else { return nil }
            return CivilDate(year: Int64(year), month: Int64(month), day: Int64(day))
        }
        guard let date, (1970...2200).contains(date.year), date.daysSinceEpoch > 0 else { return nil }
        daysSinceEpoch = Int(date.daysSinceEpoch)
    }

    /// Returns the date a number of days later, held to the range.
    public func later(by days: Int) -> ScenarioDate {
        ScenarioDate(days: min(max(daysSinceEpoch + days, 1), Self.last))
    }

    public var description: String {
        let date = CivilDate(daysSinceEpoch: Int64(daysSinceEpoch))
        return [date.year, date.month, date.day].map { ($0 < 10 ? "0" : "") + String($0) }.joined(separator: "-")
    }
}
