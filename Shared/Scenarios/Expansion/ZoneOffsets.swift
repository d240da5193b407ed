import Foundation
import Timeline

/// The offsets of a time zone in a range of time.
///
/// This type asks Foundation only for offsets at instants. Foundation takes them from its own database in the program,
/// not from files of the machine. So a build gives equal offsets on every machine.
struct ZoneOffsets: Sendable {
    /// The instants from which an offset applies, in order. The first applies before its instant too.
    private var changes: [(from: Instant, offset: Interval)] = []

    /// - Parameter range: the instants that the offsets are needed for, in steps of a day.
    init(_ zone: ZoneName, _ range: ClosedRange<Instant>) {
        let zone = TimeZone(identifier: zone.name) ?? .gmt
        func offset(_ instant: Instant) -> Interval {
            let date = Date(timeIntervalSince1970: Double(instant.milliseconds) / 1000)
            return .seconds(Int64(zone.secondsFromGMT(for: date)))
        }
        var at = range.lowerBound
        var last = offset(at)
        changes.append((at, last))
        while at < range.upperBound {
            let next = at + .days(1)
            let new = offset(next)
            if new != last {
                var (before, after) = (at, next)
                while after - before > .seconds(1) {
                    let middle = before + .seconds((after - before).milliseconds / 2000)
                    if offset(middle) == last { before = middle } else { after = middle }
                }
                changes.append((after, new))
                last = new
            }
            at = next
        }
    }

    /// Returns the offset from UTC at an instant.
    func offset(at instant: Instant) -> Interval {
        var index = changes.count - 1
        while index > 0, changes[index].from > instant { index -= 1 }
        return changes[index].offset
    }

    /// Returns the instant of a local time, given as the time since 1970-01-01T00:00 on the local clock.
    ///
    /// A time that occurs twice means its first occurrence. A time that a change to summer time skips means the instant
    /// that is as long after the change.
    func instant(ofLocal local: Interval) -> Instant {
        let naive = Instant.epoch + local
        let before = offset(at: naive - .days(1))
        let early = naive - before
        if offset(at: early) == before { return early }
        let after = offset(at: naive + .days(1))
        return offset(at: naive - after) == after ? naive - after : early
    }
}
