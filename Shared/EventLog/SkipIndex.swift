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

    /// Creates the rest of a partition after an offset in the direction of the order.
    init(_ partition: Int, from offset: Int, _ order: EventOrder, _ bounds: (head: Int, droppedTo: Int)) {
        self.partition = partition
        (low, high) = order == .oldest ? (offset, bounds.head) : (bounds.droppedTo, offset)
    }

    var isEmpty: Bool { low >= high }

    /// Returns the first `count` offsets in the direction of the order.
    func first(_ count: Int, _ order: EventOrder) -> LogSpan {
        var span = self
        let count = min(count, high - low)
        if order == .oldest { span.high = low + count } else { span.low = high - count }
        return span
    }

    /// Returns the position before the span in the direction of the order.
    func start(_ order: EventOrder) -> Int { order == .oldest ? low : high }

    /// Returns the position after the span in the direction of the order.
    func end(_ order: EventOrder) -> Int { order == .oldest ? high : low }

    /// Removes the offsets up to a position.
    mutating func advance(to position: Int, _ order: EventOrder) {
        if order == .oldest { low = position } else { high = position }
    }

    /// Removes the offsets up to an event's.
    mutating func advance(past offset: Int, _ order: EventOrder) {
        advance(to: order == .oldest ? offset : offset - 1, order)
    }
}

/// The limits of a page with a filter by text.
public struct SearchLimits: Sendable {
    /// The most events that a statement reads.
    public var events = 20_000
    /// The time after which the page returns the events that it has. One statement may still follow.
    public var patience = Duration.milliseconds(120)

    public init() {}
}

/// A scan plan: the spans that one statement reads.
struct ScanPlan {
    /// The number of blocks of each partition in the first statement: most queries need few.
    static let first = 2
    /// The largest number of blocks of each partition, after doubling.
    static let most = 32

    /// Blocks separated by at most this many offsets are merged.
    static let between = 512

    var spans: [LogSpan] = []
    /// The offsets that remain after the plan, one span for each partition.
    var rest: [LogSpan] = []

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

    /// Reads blocks, at most `window` offsets of each partition, and skips the offsets between them. After the last
    /// block it skips to the end of the span, if there are fewer than `count` blocks.
    init(_ unread: [LogSpan], _ blocks: [LogSpan], _ order: EventOrder, atMost count: Int, window: Int) {
        let found = Dictionary(grouping: blocks, by: \.partition)
        for var span in unread {
            let blocks = found[span.partition] ?? []
            var left = window
            for block in blocks where left > 0 {
                let part = block.first(left, order)
                left -= part.high - part.low
                append(part, order)
                span.advance(to: part.end(order), order)
            }
            if left > 0, blocks.count < count { span.advance(to: span.end(order), order) }
            rest.append(span)
        }
    }
}
