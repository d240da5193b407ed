import Contracts

/// A page of the feed while it is read. It is pure: the caller reads the events.
struct FeedPager {
    let order: EventOrder
    let limit: Int
    /// The offsets of each partition that are not in the page yet.
    private var rest: [Int: LogSpan]
    /// The events with their sort times.
    private var events: [(time: Int, event: Event)] = []

    init(_ order: EventOrder, limit: Int, _ spans: [LogSpan]) {
        self.order = order
        self.limit = limit
        rest = Dictionary(uniqueKeysWithValues: spans.map { ($0.partition, $0) })
    }

    /// The number of events that the page can still get.
    var left: Int { limit - events.count }

    /// The offsets to read next; none if the page is ready.
    var unread: [LogSpan] {
        left > 0 ? rest.values.filter { !$0.isEmpty }.sorted { $0.partition < $1.partition } : []
    }

    /// The position after the page. It skips offsets without a match.
    var position: PositionVector { rest.mapValues { $0.start(order) } }

    /// The page. Its events are sorted by append time, then by partition, and those of one partition by offset.
    var page: EventPage {
        let sign = order == .oldest ? 1 : -1
        var latest: [Int: Int] = [:]
        let ranked = events.map { time, event in
            let time = max(sign * time, latest[event.partition] ?? .min)
            latest[event.partition] = time
            return (rank: (time, sign * event.partition, sign * event.offset), event: event)
        }
        return EventPage(
            events: ranked.sorted { $0.rank < $1.rank }.map(\.event), next: position,
            isComplete: rest.values.allSatisfy(\.isEmpty))
    }

    /// Adds the result of a read.
    ///
    /// - Parameters:
    ///   - read: the first events of the plan by sort time. More events than ``left`` show that the plan has more.
    ///   - matched: the partitions with a matching event in the plan.
    mutating func receive(_ read: [(time: Int, event: Event)], matched: Set<Int>, _ plan: ScanPlan) {
        let isCut = read.count > left
        for (time, event) in read.prefix(left) {
            events.append((time, event))
            rest[event.partition]?.advance(past: event.offset, order)
        }
        for span in plan.rest where !isCut || !matched.contains(span.partition) { rest[span.partition] = span }
    }
}
