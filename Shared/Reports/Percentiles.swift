public import OrderedCollections
public import Timeline

extension [Interval] {
    /// Returns the smallest value that at least this share of a sorted list does not exceed (nearest rank); nil if the
    /// list is empty.
    public func percentile(_ percent: Int) -> Interval? {
        isEmpty ? nil : self[Swift.max(0, (count * percent + 99) / 100 - 1)]
    }

    /// The percentiles of a report; `p100` is the longest duration. Empty for an empty list.
    public var percentiles: OrderedDictionary<String, Interval> {
        let sorted = sorted()
        var values: OrderedDictionary<String, Interval> = [:]
        for percent in [50, 90, 95, 99, 100] { values["p\(percent)"] = sorted.percentile(percent) }
        return values
    }
}

extension [DelayCount] {
    /// Counts delays by their length.
    public init(_ delays: [Interval]) {
        var counts = Array<Int>(repeating: 0, count: DelayCount.ends.count + 1)
        for delay in delays { counts[DelayCount.ends.firstIndex { delay <= $0 } ?? DelayCount.ends.count] += 1 }
        self = zip(counts, DelayCount.ends.map(Optional.some) + [nil]).map { DelayCount($0, upTo: $1) }
    }
}

extension OrderedDictionary<String, Int> {
    /// Creates the counts in the order of their names.
    public init(sorting counts: [String: Int]) {
        self.init(uniqueKeysWithValues: counts.sorted { $0.key < $1.key })
    }
}
