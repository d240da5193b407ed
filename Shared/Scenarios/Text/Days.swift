/// The days on which something happens: every day, weekdays (`mon-fri`, `sat,sun`), or days of the scenario (`day 3`,
/// `days 2-4`), which count from 1.
public enum Days: Hashable, Sendable {
    case every
    /// A set of weekdays: bit 0 is Monday.
    case weekdays(UInt8)
    /// Days of the scenario, from 1.
    case scenario(ClosedRange<Int>)

    /// Returns whether the days include a day.
    ///
    /// - Parameters:
    ///   - day: the day of the scenario, from 0.
    ///   - weekday: 0 for Monday to 6 for Sunday.
    public func include(day: Int, weekday: Int) -> Bool {
        switch self {
        case .every: true
        case .weekdays(let set): set & 1 << UInt8(weekday) != 0
        case .scenario(let range): range.contains(day + 1)
        }
    }

    static let pattern =
        "(?:(?:(?:mon|tue|wed|thu|fri|sat|sun)(?:-(?:mon|tue|wed|thu|fri|sat|sun))?"
        + "(?:,(?:mon|tue|wed|thu|fri|sat|sun)(?:-(?:mon|tue|wed|thu|fri|sat|sun))?)*"
        + "|day [0-9]{1,3}|days [0-9]{1,3}-[0-9]{1,3}) )?"
    private static let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

    /// Takes the days and the space after them; `every` if the text begins with something else.
    static func scan(_ scanner: inout TextScanner) -> Days {
        scanner.attempt { scanner in
            guard let days = scanScenario(&scanner) ?? scanWeekdays(&scanner), scanner.space() else { return nil }
            return days
        } ?? .every
    }

    private static func scanScenario(_ scanner: inout TextScanner) -> Days? {
        scanner.attempt { scanner in
            let isRange = scanner.take("days ")
            guard isRange || scanner.take("day "), let first = scanner.number(digits: 1...3), first > 0 else {
                return nil
            }
            guard isRange else { return .scenario(first...first) }
            guard scanner.take("-"), let last = scanner.number(digits: 1...3), last >= first else { return nil }
            return .scenario(first...last)
        }
    }

    private static func scanWeekdays(_ scanner: inout TextScanner) -> Days? {
        scanner.attempt { scanner in
            var set: UInt8 = 0
            repeat {
                guard let first = scanWeekday(&scanner) else { return nil }
                var last = first
                if scanner.take("-") {
                    guard let end = scanWeekday(&scanner) else { return nil }
                    last = end
                }
                // `sat-mon` continues after Sunday.
                let count = (last - first + 7) % 7
                for offset in 0...count { set |= 1 << UInt8((first + offset) % 7) }
            } while scanner.take(",")
            return .weekdays(set)
        }
    }

    private static func scanWeekday(_ scanner: inout TextScanner) -> Int? {
        names.firstIndex { scanner.take($0) }
    }

    /// The days with a space after them; empty for every day.
    var prefix: String {
        switch self {
        case .every: ""
        case .weekdays(let set):
            Self.names.indices.filter { set & 1 << UInt8($0) != 0 }.map { Self.names[$0] }.joined(separator: ",") + " "
        case .scenario(let range):
            range.count == 1
                ? "day \(range.lowerBound) " : "days \(range.lowerBound)-\(range.upperBound) "
        }
    }
}
