import Timeline

/// Dates of HTTP (RFC 9110 section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The text of a moment; what is less than a second is cut off.
    static func text(_ instant: Instant) -> String {
        let seconds = Int(instant.milliseconds) / 1000
        // "1994-11-06T08:49:37.000Z"
        let parts = instant.description.split { !$0.isNumber }
        let weekday = days[seconds / 86400 % 7]
        let month = months[(Int(parts[1]) ?? 1) - 1]
        return "\(weekday), \(parts[2]) \(month) \(parts[0]) \(parts[3]):\(parts[4]):\(parts[5]) GMT"
    }

    /// The moment that a text names; nil where it is not in today's form, which is the only one that is sent any more.
    static func instant(_ text: some StringProtocol) -> Instant? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let month = months.firstIndex(of: String(parts[2])) else {
            return nil
        }
        let number = month < 9 ? "0\(month + 1)" : "\(month + 1)"
        return Instant("\(parts[3])-\(number)-\(parts[1])T\(parts[4])Z")
    }
}
