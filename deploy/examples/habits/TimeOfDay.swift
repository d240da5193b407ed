/// A minute of the day in local time.
struct TimeOfDay: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The minutes since midnight, from 0 to 1439.
    let minutes: Int

    init(_ hour: Int, _ minute: Int) { minutes = (hour * 60 + minute) % 1440 }

    /// Parses `07:30` and `7:30`. Returns nil for other texts.
    init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...2).contains(parts[0].count), parts[1].count == 2,
            parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
            let hour = Int(parts[0]), let minute = Int(parts[1]), hour < 24, minute < 60
        else { return nil }
        self.init(hour, minute)
    }

    static func < (left: TimeOfDay, right: TimeOfDay) -> Bool { left.minutes < right.minutes }

    var description: String { Self.twoDigits(minutes / 60) + ":" + Self.twoDigits(minutes % 60) }

    static func twoDigits(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
}
