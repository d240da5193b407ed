public import Postgres

/// A skip index: it finds blocks of offsets that may contain events, without reading the events.
public protocol SkipIndex: Sendable {
    /// Returns the blocks of spans that may contain events of a filter's types, services and times, each partition in
    /// the direction of the order. Every matching event is in one of them, or after the last of `atMost` blocks.
    ///
    /// - Parameter atMost: the most blocks of a partition.
    func blocks(
        of spans: [LogSpan], _ filter: EventFilter, _ order: EventOrder, atMost: Int
    ) async throws(PostgresError) -> [LogSpan]
}

/// A range of offsets of one partition: above `low`, up to `high`.
public struct LogSpan: Sendable, Equatable {
    public var partition: Int
    public var low: Int
    public var high: Int

    public init(partition: Int, low: Int, high: Int) {
        self.partition = partition
        self.low = low
        self.high = high
    }

    /// Creates the rest of a partition after an offset in the direction of the order; nil if it is empty.
    init?(_ partition: Int, _ offset: Int, _ order: EventOrder, _ bounds: (head: Int, droppedTo: Int)) {
        self.partition = partition
        switch order {
        case .oldest: (low, high) = (offset, bounds.head)
        case .newest: (low, high) = (bounds.droppedTo, offset)
        }
        guard low < high else { return nil }
    }

    /// Returns the first `count` offsets in the direction of the order.
    func first(_ count: Int, _ order: EventOrder) -> LogSpan {
        switch order {
        case .oldest: LogSpan(partition: partition, low: low, high: min(high, low + count))
        case .newest: LogSpan(partition: partition, low: max(low, high - count), high: high)
        }
    }

    /// Returns the position after the span in the direction of the order.
    func end(_ order: EventOrder) -> Int { order == .oldest ? high : low }
}

/// A scan plan: the spans that one statement reads, and the position after them.
struct ScanPlan {
    /// The number of blocks of each partition in the first statement: most queries need few.
    static let first = 2
    /// The largest number of blocks of each partition, after doubling.
    static let most = 32

    /// Blocks separated by at most this many offsets are merged.
    static let between = 512

    var spans: [LogSpan] = []
    var position: PositionVector = [:]

    /// Returns the watermarks: the last offset to read of each partition that is not read to its end.
    func watermarks(_ rest: [LogSpan], _ order: EventOrder) -> [(partition: Int, offset: Int)] {
        rest.compactMap { span in
            guard let position = position[span.partition], position != span.end(order) else { return nil }
            return (span.partition, order == .oldest ? position : position + 1)
        }
    }

    /// Appends a block after those of its partition, and merges it with the previous one if they are close.
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

    /// Reads whole spans, at most one of each partition.
    init(all spans: [LogSpan], _ order: EventOrder) {
        self.spans = spans
        for span in spans { position[span.partition] = span.end(order) }
    }

    /// Reads blocks, at most `window` offsets of each partition, and skips the offsets between them. After the last
    /// block it skips to the end of the span, if there are fewer than `count` blocks.
    init(_ rest: [LogSpan], _ wanted: [LogSpan], _ order: EventOrder, atMost count: Int, window: Int) {
        let found = Dictionary(grouping: wanted, by: \.partition)
        for span in rest {
            let blocks = found[span.partition] ?? []
            var left = window
            for block in blocks where left > 0 {
                let part = block.first(left, order)
                left -= part.high - part.low
                append(part, order)
                position[span.partition] = part.end(order)
            }
            if left > 0, blocks.count < count { position[span.partition] = span.end(order) }
        }
    }
}
