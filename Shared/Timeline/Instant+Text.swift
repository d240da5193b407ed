extension Instant: CustomStringConvertible {
    /// RFC 3339 in UTC with milliseconds, for example `2026-11-21T07:40:00.000Z`.
    public var description: String {
        let (days, millisecond) = milliseconds.dividedFloored(by: 86_400_000)
        let date = CivilDate(daysSinceEpoch: days)
        var text: [UInt8] = []
        text.reserveCapacity(24)
        text.append(digits: date.year, 4)
        text.append(UInt8(ascii: "-"))
        text.append(digits: date.month, 2)
        text.append(UInt8(ascii: "-"))
        text.append(digits: date.day, 2)
        text.append(UInt8(ascii: "T"))
        text.append(digits: millisecond / 3_600_000, 2)
        text.append(UInt8(ascii: ":"))
        text.append(digits: millisecond / 60_000 % 60, 2)
        text.append(UInt8(ascii: ":"))
        text.append(digits: millisecond / 1000 % 60, 2)
        text.append(UInt8(ascii: "."))
        text.append(digits: millisecond % 1000, 3)
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    /// Parses RFC 3339 with any offset and any number of fractional digits, of which it keeps three. Nil for other text
    /// and for instants outside of ``documented``.
    public init?(_ text: String) {
        var rest = Substring(text).utf8
        guard let year = rest.digits(4), rest.take("-"), let month = rest.digits(2), rest.take("-"),
            let day = rest.digits(2), rest.take("T") || rest.take("t") || rest.take(" "), let hour = rest.digits(2),
            rest.take(":"), let minute = rest.digits(2), rest.take(":"), let second = rest.digits(2),
            let date = CivilDate(year: year, month: month, day: day), hour < 24, minute < 60, second < 60
        else { return nil }
        var fraction: Int64 = 0
        if rest.take(".") {
            var scale: Int64 = 100
            guard let first = rest.digits(1) else { return nil }
            fraction = first * scale
            while let digit = rest.digits(1) {
                scale /= 10
                fraction += digit * scale
            }
        }
        var offset: Int64 = 0
        if !(rest.take("Z") || rest.take("z")) {
            let sign: Int64 = rest.take("-") ? -1 : 1
            guard sign < 0 || rest.take("+"), let hours = rest.digits(2), rest.take(":"), let minutes = rest.digits(2),
                hours < 24, minutes < 60
            else { return nil }
            offset = sign * (hours * 60 + minutes)
        }
        let seconds = date.daysSinceEpoch * 86400 + hour * 3600 + (minute - offset) * 60 + second
        self.init(milliseconds: seconds * 1000 + fraction)
        guard rest.isEmpty, Instant.documented.contains(self) else { return nil }
    }
}

/// A date of the proleptic Gregorian calendar, by the days-from-civil algorithm (eras of 400 years from March).
public struct CivilDate: Sendable, Hashable {
    public let year: Int64
    public let month: Int64
    public let day: Int64

    /// Creates the date from days since 1970-01-01.
    public init(daysSinceEpoch days: Int64) {
        let shifted = days + 719_468
        let (era, dayOfEra) = shifted.dividedFloored(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Creates a date; nil if the calendar does not have it.
    public init?(year: Int64, month: Int64, day: Int64) {
        guard (1...12).contains(month), (1...31).contains(day) else { return nil }
        self.year = year
        self.month = month
        self.day = day
        guard CivilDate(daysSinceEpoch: daysSinceEpoch) == self else { return nil }
    }

    /// The days since 1970-01-01.
    public var daysSinceEpoch: Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = shiftedYear.dividedFloored(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

extension Int64 {
    func dividedFloored(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

extension [UInt8] {
    fileprivate mutating func append(digits number: Int64, _ width: Int) {
        var divisor: Int64 = 1
        for _ in 1..<width { divisor *= 10 }
        while divisor > 0 {
            append(UInt8(truncatingIfNeeded: 0x30 + number / divisor % 10))
            divisor /= 10
        }
    }
}

extension Substring.UTF8View {
    fileprivate mutating func digits(_ count: Int) -> Int64? {
        var number: Int64 = 0
        var rest = self
        for _ in 0..<count {
            guard let byte = rest.popFirst(), (0x30...0x39).contains(byte) else { return nil }
            number = number * 10 + Int64(byte - 0x30)
        }
        self = rest
        return number
    }

    fileprivate mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard let byte = first, UInt32(byte) == character.value else { return false }
        removeFirst()
        return true
    }
}
