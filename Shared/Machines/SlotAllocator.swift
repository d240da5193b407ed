public import Timeline

/// A time slot that an aggregate has reserved.
public struct ReservedSlot: Sendable, Hashable {
    /// The time of the slot.
    public var at: Instant
    /// The ceiling at the time of the reservation; nil without one.
    public var ceiling: Int?

    /// Creates a reservation.
    public init(at: Instant, ceiling: Int?) {
        self.at = at
        self.ceiling = ceiling
    }
}

/// The time slots of one partition. Each can be reserved once, so the suite never exceeds its ceiling in a second.
///
/// The slots of all partitions interleave: slot k of partition p is slot k × partitions + p of the suite. Every second
/// has as many slots as the ceiling. So no partition needs to know the reservations of another one.
public struct SlotAllocator: Sendable {
    /// The slots of the suite in a second; nil if every millisecond can be used any number of times.
    public let ceiling: Int?
    /// The number of this partition.
    public let partition: Int
    /// The number of partitions.
    public let partitions: Int
    /// The reserved slots by number: bitmaps of ``pageSize`` slots. It is never iterated, so its order does not matter.
    private var pages: [Int64: [UInt64]] = [:]
    /// The pages that changed since the last ``forgetChanges()``.
    public private(set) var changed: Set<Int64> = []

    /// The number of slots in a page.
    public static let pageSize: Int64 = 4096
    private static let words = Int(pageSize / 64)

    /// - Parameter ceiling: slots in a second, clamped to 1 to 1,000; nil for no limit.
    public init(ceiling: Int?, partition: Int = 0, partitions: Int = 1) {
        self.ceiling = ceiling.map { min(max($0, 1), 1000) }
        self.partition = partition
        self.partitions = max(1, partitions)
    }

    // MARK: Numbers

    /// The last time with a slot number. It prevents overflow, because numbers come from products of logged times and
    /// stored pages.
    private static let horizon = Instant(milliseconds: Int64.max / 4096)

    /// Returns the time of slot `number` of this partition.
    private func moment(_ number: Int64, _ ceiling: Int) -> Instant {
        Instant(milliseconds: (number * Int64(partitions) + Int64(partition)) * 1000 / Int64(ceiling))
    }

    /// Returns the number of the last slot at or before a time; -1 if there is none.
    private func number(notAfter moment: Instant, _ ceiling: Int) -> Int64 {
        let moment = min(max(.epoch, moment), Self.horizon)
        let ofSuite = ((moment.milliseconds + 1) * Int64(ceiling) - 1) / 1000
        let own = ofSuite - Int64(partition)
        return own < 0 ? -1 : own / Int64(partitions)
    }

    /// Returns the number of the slot at a time; nil if this ledger has no slot there, as after a change of the
    /// ceiling.
    private func number(of moment: Instant, _ ceiling: Int) -> Int64? {
        let number = number(notAfter: moment, ceiling)
        return number >= 0 && self.moment(number, ceiling) == moment ? number : nil
    }

    private static func place(_ number: Int64) -> (page: Int64, word: Int, bit: UInt64) {
        (number / pageSize, Int(number % pageSize / 64), UInt64(number % 64))
    }

    // MARK: Free slots

    /// Returns the last free slot between two times, both included.
    public func last(from start: Instant, upTo end: Instant) -> Instant? {
        guard let ceiling else { return start <= end ? end : nil }
        var number = number(notAfter: end, ceiling)
        while number >= 0 {
            let (page, word, bit) = Self.place(number)
            // The bits of the word up to this slot.
            let free = ~(pages[page]?[word] ?? 0) & (UInt64.max >> (63 - bit))
            if free != 0 {
                let found = moment(number - Int64(bit) + Int64(63 - free.leadingZeroBitCount), ceiling)
                return found >= start ? found : nil
            }
            number -= Int64(bit) + 1
            if moment(number + 1, ceiling) < start { return nil }
        }
        return nil
    }

    /// Returns the first free slot at or after a time.
    public func first(from start: Instant) -> Instant {
        guard let ceiling else { return start }
        var number = number(notAfter: start - .milliseconds(1), ceiling) + 1
        while true {
            let (page, word, bit) = Self.place(number)
            guard let words = pages[page] else { return moment(number, ceiling) }
            let free = ~words[word] & (UInt64.max << bit)
            if free != 0 {
                return moment(number - Int64(bit) + Int64(free.trailingZeroBitCount), ceiling)
            }
            number += 64 - Int64(bit)
        }
    }

    // MARK: Reserving

    /// Updates the ledger when the reservations of an aggregate change. Past slots stay reserved, so a late decision
    /// can't reuse them. Reservations under another ceiling are ignored.
    @usableFromInline package mutating func replace(
        _ former: [ReservedSlot], by latter: [ReservedSlot], at now: Instant
    ) {
        guard let ceiling, former != latter else { return }
        let kept = Set(former).intersection(latter)
        for held in former where held.at > now && held.ceiling == ceiling && !kept.contains(held) {
            if let number = number(of: held.at, ceiling) { set(number, taken: false) }
        }
        for held in latter where held.ceiling == ceiling && !kept.contains(held) {
            if let number = number(of: held.at, ceiling) { set(number, taken: true) }
        }
    }

    private mutating func set(_ number: Int64, taken: Bool) {
        let (page, word, bit) = Self.place(number)
        if taken {
            pages[page, default: Array(repeating: 0, count: Self.words)][word] |= 1 << bit
        } else {
            pages[page]?[word] &= ~(1 << bit)
            // Empty pages are removed, so slots far in the future leave nothing behind.
            if pages[page]?.allSatisfy({ $0 == 0 }) == true { pages[page] = nil }
        }
        changed.insert(page)
    }

    // MARK: Storing

    /// Returns the stored form of a page: its words in little-endian order. Empty if nothing is reserved.
    public func page(_ page: Int64) -> [UInt8] {
        (pages[page] ?? []).flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) } }
    }

    /// Restores a stored page.
    ///
    /// - Returns: false if the bytes or the number are invalid.
    public mutating func restore(_ page: Int64, _ bytes: [UInt8]) -> Bool {
        let last = Self.horizon.milliseconds / Self.pageSize / Int64(partitions)
        guard bytes.count == Self.words * 8, (0...last).contains(page) else { return false }
        pages[page] = (0..<Self.words).map { word in
            (0..<8).reduce(0) { $0 | UInt64(bytes[word * 8 + $1]) << (8 * UInt64($1)) }
        }
        return true
    }

    /// Marks all pages as stored.
    public mutating func forgetChanges() { changed.removeAll(keepingCapacity: true) }

    /// Returns the end time of a page.
    public func end(of page: Int64) -> Instant {
        ceiling.map { moment((page + 1) * Self.pageSize, $0) } ?? .epoch
    }

    /// Returns whether a page ended before a time.
    public func hasPages(before moment: Instant) -> Bool { pages.keys.contains { end(of: $0) < moment } }

    /// Removes the pages that ended before a time.
    public mutating func drop(before moment: Instant) { pages = pages.filter { end(of: $0.key) >= moment } }
}
