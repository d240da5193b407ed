public import Postgres

/// What is known of which events are where, without reading them.
public protocol LogOutline: Sendable {
    /// The parts of spans that may hold what a filter's types, services and times want, each partition's in the order's
    /// direction. Every wanted event that is there is in one of them, or lies behind the last of `atMost`.
    func stretches(
        of spans: [LogSpan], _ filter: EventFilter, _ order: EventOrder, atMost: Int
    ) async throws(PostgresError) -> [LogSpan]
}

/// Offsets of one partition: above `low`, up to `high`.
public struct LogSpan: Sendable, Equatable {
    public var partition: Int
    public var low: Int
    public var high: Int

    public init(partition: Int, low: Int, high: Int) {
        self.partition = partition
        self.low = low
        self.high = high
    }

    /// What is left of a partition from a place on; nil where nothing is.
    init?(_ partition: Int, _ offset: Int, _ order: EventOrder, _ bounds: (head: Int, droppedTo: Int)) {
        self.partition = partition
        switch order {
        case .oldest: (low, high) = (offset, bounds.head)
        case .newest: (low, high) = (bounds.droppedTo, offset)
        }
        guard low < high else { return nil }
    }

    /// Its first so many offsets in an order's direction.
    func first(_ count: Int, _ order: EventOrder) -> LogSpan {
        switch order {
        case .oldest: LogSpan(partition: partition, low: low, high: min(high, low + count))
        case .newest: LogSpan(partition: partition, low: max(low, high - count), high: high)
        }
    }

    /// The place behind it, in an order's direction.
    func end(_ order: EventOrder) -> Int { order == .oldest ? high : low }
}

/// What is read in one statement, and the place that it leads to.
struct LogReach {
    /// So many stretches of each partition at first: most questions are answered by few.
    static let first = 2
    /// So many at most, after doubling.
    static let most = 32

    /// So many offsets between two parts are rather walked through than looked up.
    static let between = 512

    var spans: [LogSpan] = []
    var place: LogVector = [:]

    /// Where it ends before a partition does: there the last offset of it.
    func frontiers(_ rest: [LogSpan], _ order: EventOrder) -> [(partition: Int, offset: Int)] {
        rest.compactMap { span in
            guard let place = place[span.partition], place != span.end(order) else { return nil }
            return (span.partition, order == .oldest ? place : place + 1)
        }
    }

    /// Adds a part behind those of its partition. Two with little between them are read as one, no further than is wanted of both.
    private mutating func append(_ part: LogSpan, _ order: EventOrder) {
        if let last = spans.last, last.partition == part.partition {
            let between = order == .oldest ? part.low - last.high : last.low - part.high
            if (0...Self.between).contains(between) {
                spans[spans.count - 1].low = min(last.low, part.low)
                spans[spans.count - 1].high = max(last.high, part.high)
                return
            }
        }
        spans.append(part)
    }

    /// The whole of spans, one of each partition.
    init(all spans: [LogSpan], _ order: EventOrder) {
        self.spans = spans
        for span in spans { place[span.partition] = span.end(order) }
    }

    /// The stretches in which something may be, not more of a partition than a window is wide. What lies between them is
    /// passed over, and so is what lies behind the last where there are fewer than were asked for.
    init(_ rest: [LogSpan], _ wanted: [LogSpan], _ order: EventOrder, atMost count: Int, window: Int) {
        let found = Dictionary(grouping: wanted, by: \.partition)
        for span in rest {
            let stretches = found[span.partition] ?? []
            var left = window
            for stretch in stretches where left > 0 {
                let part = stretch.first(left, order)
                left -= part.high - part.low
                append(part, order)
                place[span.partition] = part.end(order)
            }
            if left > 0, stretches.count < count { place[span.partition] = span.end(order) }
        }
    }
}
