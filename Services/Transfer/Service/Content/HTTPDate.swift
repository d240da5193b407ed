import Timeline

/// Dates of HTTP (RFC 9110 section 5.6.7).
enum HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let longDays = ["Thurs", "Fri", "Satur", "Sun", "Mon", "Tues", "Wednes"].map { $0 + "day" }
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Returns a text such as `Sun, 06 Nov 1994 08:49:37 GMT`. Fractions of a second are cut off.
    static func text(_ instant: Instant) -> String {
        let instant = instant.heldToDocuments
        let seconds = Int(instant.milliseconds) / 1000
        // "1994-11-06T08:49:37.000Z"
        let parts = instant.description.split { !$0.isNumber }
        let weekday = days[seconds / 86400 % 7]
        let month = months[(Int(parts[1]) ?? 1) - 1]
        return "\(weekday), \(parts[2]) \(month) \(parts[0]) \(parts[3]):\(parts[4]):\(parts[5]) GMT"
    }

    /// Parses a date in the current format or one of the two obsolete formats, which recipients must accept.
    ///
    /// - Parameter now: determines the century of a two-digit year. A year more than 50 years ahead is in the past.
    /// - Returns: nil for an invalid date; the caller ignores its header.
    static func instant(_ text: String, now: Instant) -> Instant? {
        let parts = text.split(separator: " ").map { String($0) }
        switch parts.count {
        case 6 where parts[5] == "GMT" && days.contains { $0 + "," == parts[0] }:
            return instant(parts[3], parts[2], parts[1], parts[4])
        case 4 where parts[3] == "GMT" && longDays.contains { $0 + "," == parts[0] }:
            let date = parts[1].split(separator: "-")
            guard date.count == 3, date[2].count == 2, let year = Int(date[2]) else { return nil }
            let thisYear = Int(now.description.prefix(4)) ?? 0
            let recent = thisYear / 100 * 100 + year
            let full = recent > thisYear + 50 ? recent - 100 : recent
            return instant("\(full)", "\(date[1])", "\(date[0])", parts[2])
        case 5 where days.contains(parts[0]):
            return instant(parts[4], parts[1], parts[2].count == 1 ? "0" + parts[2] : parts[2], parts[3])
        default: return nil
        }
    }

    private static func instant(_ year: String, _ month: String, _ day: String, _ time: String) -> Instant? {
        guard let index = months.firstIndex(of: month) else { return nil }
        let number = index < 9 ? "0\(index + 1)" : "\(index + 1)"
        return Instant("\(year)-\(number)-\(day)T\(time)Z")
    }
}
