/// Conversions between PostgreSQL's epoch, 2000-01-01, and the Unix epoch, 1970-01-01. Values out of range become `infinity` or
/// `-infinity`, which convert back to the largest and smallest number.
enum Epoch {
    /// The days between the epochs.
    static let days = 10_957
    private static let microseconds: Int64 = 946_684_800_000_000

    static func wire(milliseconds: Int64) -> Int64 {
        let (micros, high) = milliseconds.multipliedReportingOverflow(by: 1000)
        let (value, low) = micros.subtractingReportingOverflow(microseconds)
        if high || low { return milliseconds > 0 ? .max : .min }
        return value
    }

    /// Rounds down to the millisecond, also before 1970.
    static func milliseconds(wire value: Int64) -> Int64 {
        if value == .max || value == .min { return value }
        let (micros, overflow) = value.addingReportingOverflow(microseconds)
        if overflow { return .max }
        return micros >= 0 ? micros / 1000 : -((999 - micros) / 1000)
    }

    static func wire(days value: Int) -> Int32 {
        let (shifted, overflow) = value.subtractingReportingOverflow(days)
        return overflow ? (value > 0 ? .max : .min) : Int32(clamping: shifted)
    }

    static func days(wire value: Int32) -> Int {
        switch value {
        case .max: .max
        case .min: .min
        default: Int(value) + days
        }
    }
}
