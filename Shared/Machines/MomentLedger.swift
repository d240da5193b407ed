public import Timeline

/// A moment that an aggregate holds.
public struct HeldMoment: Sendable, Hashable {
    public var at: Instant
    /// The ceiling under which it was taken; nil where there was none.
    public var ceiling: Int?

    public init(at: Instant, ceiling: Int?) {
        self.at = at
        self.ceiling = ceiling
    }
}

/// The moments of one partition of which each can be taken once, so that the whole suite never takes more than its ceiling a
/// second.
///
/// The moments of all partitions interleave: moment k of partition p is the (k × partitions + p)-th of the suite, of which
/// every second holds exactly as many as the ceiling says. No partition has to know what another one takes.
public struct MomentLedger: Sendable {
    /// How many moments a second the suite has; nil where every millisecond is one that can be taken any number of times.
    public let ceiling: Int?
    public let partition: Int
    public let partitions: Int
    /// The moments that are taken, by their numbers: bitmaps of ``pageSize`` moments each. Looked up, never walked through.
    private var pages: [Int64: [UInt64]] = [:]
    /// The pages that have changed since the ledger was made.
    public private(set) var changed: Set<Int64> = []

    /// Moments of a page.
    public static let pageSize: Int64 = 4096
    private static let words = Int(pageSize / 64)

    /// - Parameter ceiling: from 1 to 1,000 a second; nil for none.
    public init(ceiling: Int?, partition: Int = 0, partitions: Int = 1) {
        self.ceiling = ceiling.map { min(max($0, 1), 1000) }
        self.partition = partition
        self.partitions = max(1, partitions)
    }

    // MARK: Numbers

    /// The last moment with a number. Numbers are products of times from the log and from stored pages, so they could
    /// overflow.
    private static let horizon = Instant(milliseconds: Int64.max / 4096)

    /// When moment `number` of this partition is.
    private func moment(_ number: Int64, _ ceiling: Int) -> Instant {
        Instant(milliseconds: (number * Int64(partitions) + Int64(partition)) * 1000 / Int64(ceiling))
    }

    /// The last moment that is not after another; -1 where there is none.
    private func number(notAfter moment: Instant, _ ceiling: Int) -> Int64 {
        let moment = min(max(.epoch, moment), Self.horizon)
        let ofSuite = ((moment.milliseconds + 1) * Int64(ceiling) - 1) / 1000
        let own = ofSuite - Int64(partition)
        return own < 0 ? -1 : own / Int64(partitions)
    }

    /// The number of a moment; nil for what is none of this ledger's, as after a change of the ceiling.
    private func number(of moment: Instant, _ ceiling: Int) -> Int64? {
        let number = number(notAfter: moment, ceiling)
        return number >= 0 && self.moment(number, ceiling) == moment ? number : nil
    }

    private static func place(_ number: Int64) -> (page: Int64, word: Int, bit: UInt64) {
        (number / pageSize, Int(number % pageSize / 64), UInt64(number % 64))
    }

    // MARK: What is free

    /// The last free moment between two others, both included.
    public func last(from start: Instant, upTo end: Instant) -> Instant? {
        guard let ceiling else { return start <= end ? end : nil }
        var number = number(notAfter: end, ceiling)
        while number >= 0 {
            let (page, word, bit) = Self.place(number)
            // Everything of the word that is not after it.
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

    /// The first free moment that is not before another.
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

    // MARK: Taking

    /// What has changed in the moments that an aggregate holds. Those that have come stay taken: whoever is late can't take them
    /// once more. Those of another ceiling are none of this ledger.
    package mutating func replace(_ former: [HeldMoment], by latter: [HeldMoment], at now: Instant) {
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
            // In which nothing is taken is no page: dates far off leave nothing behind.
            if pages[page]?.allSatisfy({ $0 == 0 }) == true { pages[page] = nil }
        }
        changed.insert(page)
    }

    // MARK: Storing

    /// A page in its stored form: its words, the lowest byte first. Empty where nothing is taken.
    public func page(_ page: Int64) -> [UInt8] {
        (pages[page] ?? []).flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) } }
    }

    /// Takes in a stored page.
    ///
    /// - Returns: false for bytes that are no page.
    public mutating func restore(_ page: Int64, _ bytes: [UInt8]) -> Bool {
        let last = Self.horizon.milliseconds / Self.pageSize / Int64(partitions)
        guard bytes.count == Self.words * 8, (0...last).contains(page) else { return false }
        pages[page] = (0..<Self.words).map { word in
            (0..<8).reduce(0) { $0 | UInt64(bytes[word * 8 + $1]) << (8 * UInt64($1)) }
        }
        return true
    }

    /// Everything up to now is stored.
    public mutating func forgetChanges() { changed.removeAll(keepingCapacity: true) }

    /// When a page is over.
    public func end(of page: Int64) -> Instant {
        ceiling.map { moment((page + 1) * Self.pageSize, $0) } ?? .epoch
    }

    /// Whether there are pages that are over by a moment.
    public func hasPages(before moment: Instant) -> Bool { pages.keys.contains { end(of: $0) < moment } }

    /// Lets go of the pages that are over by a moment.
    public mutating func drop(before moment: Instant) { pages = pages.filter { end(of: $0.key) >= moment } }
}
