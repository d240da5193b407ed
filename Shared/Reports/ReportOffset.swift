public import Records
public import Timeline

/// An offset of the time zone of a report from UTC.
public struct ReportOffset: Record, Equatable {
    /// The first instant with the offset. The first offset of a report applies before its instant too.
    public var from = Instant.epoch
    public var seconds = 0

    public init() {}
}

extension [ReportOffset] {
    /// Finds the offsets of a time zone in a range of time.
    ///
    /// - Parameter offset: returns the offset at an instant. Two changes are at least a day apart.
    public init(from begin: Instant, until end: Instant, _ offset: (Instant) -> Interval) {
        self = []
        func add(_ value: Interval, from instant: Instant) {
            var entry = ReportOffset()
            entry.from = instant
            entry.seconds = Int(value.milliseconds / 1000)
            append(entry)
        }
        var (at, last) = (begin, offset(begin))
        add(last, from: begin)
        while at < end {
            let next = Swift.min(at + .days(1), end)
            let new = offset(next)
            if new != last {
                var (before, after) = (at, next)
                while after - before > .seconds(1) {
                    let middle = before + .seconds((after - before).milliseconds / 2000)
                    if offset(middle) == last { before = middle } else { after = middle }
                }
                add(new, from: after)
                last = new
            }
            at = next
        }
    }
}

/// The clock of a report's time zone: UTC without offsets.
struct LocalClock {
    let zone: String?
    let offsets: [ReportOffset]

    func offset(at instant: Instant) -> Interval {
        let entry = offsets.last { $0.from <= instant } ?? offsets.first
        return .seconds(Int64(entry?.seconds ?? 0))
    }

    /// The date and the time to a second.
    func second(_ instant: Instant) -> String {
        String((instant + offset(at: instant)).description.prefix(19)).replacing("T", with: " ")
    }

    /// The date and the time to a minute.
    func minute(_ instant: Instant) -> String { String(second(instant).prefix(16)) }

    /// The element `time` with the local time as its text, and with UTC as its value.
    func element(_ instant: Instant) -> String {
        #"<time datetime="\#(instant.description)">\#(second(instant))</time>"#
    }

    /// A sentence that names the zone and its offsets.
    var sentence: String {
        guard let zone, offsets.contains(where: { $0.seconds != 0 }) else { return "Times are UTC." }
        let parts = offsets.enumerated().map { index, entry in
            index == 0 ? Self.text(entry.seconds) : "\(Self.text(entry.seconds)) from \(minute(entry.from))"
        }
        return "Times are those of \(zone): \(parts.joined(separator: ", "))."
    }

    /// Returns the multiples of a length on the local clock in a range.
    func marks(each length: Interval, from begin: Instant, until end: Instant) -> [Instant] {
        var local = (begin + offset(at: begin)).milliseconds
        local = (local + length.milliseconds - 1) / length.milliseconds * length.milliseconds
        var marks: [Instant] = []
        while true {
            let naive = Instant(milliseconds: local)
            let mark = naive - offset(at: naive - offset(at: naive))
            guard mark < end else { return marks }
            if mark >= begin { marks.append(mark) }
            local += length.milliseconds
        }
    }

    private static func text(_ seconds: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let minutes = abs(seconds) / 60
        return "UTC\(seconds < 0 ? "-" : "+")\(two(minutes / 60)):\(two(minutes % 60))"
    }
}
