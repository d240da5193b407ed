import Contracts
import Foundation
import TestSupport
import Testing
import Timeline

@testable import EventLog

@Suite("Pages of the feed") struct FeedPagerTests {
    @Test(arguments: EventOrder.allCases, 1...20)
    func `pages of whole reads are in the order of append times`(_ order: EventOrder, seed: UInt64) {
        var log = Log(seed: seed)
        let found = log.pages(order) { log in
            Int.random(in: 1...30, using: &log.random)
        } window: { _ in
            .max
        }
        #expect(found.map(\.id) == log.sorted(order).map(\.id))
    }

    @Test(arguments: EventOrder.allCases, 1...20)
    func `pages of partial reads have every event once, and each partition by offset`(_ order: EventOrder, seed: UInt64)
    {
        var log = Log(seed: seed)
        let found = log.pages(order) { log in
            Int.random(in: 1...30, using: &log.random)
        } window: { log in
            Int.random(in: 1...50, using: &log.random)
        }
        let wanted = log.sorted(order)
        #expect(found.count == wanted.count)
        for partition in 0..<5 {
            #expect(found.filter { $0.partition == partition } == wanted.filter { $0.partition == partition })
        }
    }

    @Test(arguments: EventOrder.allCases, 1...20)
    func `a page that ends before its limit can be continued`(_ order: EventOrder, seed: UInt64) {
        var log = Log(seed: seed)
        let found = log.pages(order, reads: 1) { _ in
            10
        } window: { log in
            Int.random(in: 1...50, using: &log.random)
        }
        #expect(Set(found.map(\.id)) == Set(log.sorted(order).map(\.id)) && found.count == log.sorted(order).count)
    }

    @Test func `a full page skips offsets of partitions without a match`() {
        let spans = (0...2).map { LogSpan(partition: $0, low: 0, high: 100) }
        var pager = FeedPager(.oldest, limit: 2, spans)
        #expect(pager.unread == spans && pager.left == 2)
        let plan = ScanPlan(spans, spans, .oldest, atMost: 1, window: 60)
        pager.receive(
            [(10, Log.event(0, 1)), (20, Log.event(0, 2)), (30, Log.event(0, 9))], matched: [0, 1], plan)
        #expect(pager.page.next == [0: 2, 1: 0, 2: 60] && !pager.page.isComplete)
        #expect(pager.page.events.map(\.offset) == [1, 2] && pager.unread.isEmpty)
    }

    @Test func `a page continues after the scanned offsets`() {
        let spans = [LogSpan(partition: 0, low: 0, high: 100)]
        var pager = FeedPager(.newest, limit: 10, spans)
        pager.receive([(10, Log.event(0, 90))], matched: [0], ScanPlan(spans, spans, .newest, atMost: 1, window: 60))
        #expect(pager.unread == [LogSpan(partition: 0, low: 0, high: 40)])
        pager.receive([], matched: [], ScanPlan(pager.unread, [], .newest, atMost: 1, window: 60))
        #expect(pager.page.isComplete && pager.page.next == [0: 0])
    }

    @Test func `a page sorts the events of several reads by append time`() {
        let spans = [0, 1].map { LogSpan(partition: $0, low: 0, high: 2) }
        var pager = FeedPager(.oldest, limit: 10, spans)
        let first = ScanPlan(spans, spans, .oldest, atMost: 1, window: 1)
        pager.receive([(10, Log.event(0, 1)), (50, Log.event(1, 1))], matched: [0, 1], first)
        let second = ScanPlan(pager.unread, pager.unread, .oldest, atMost: 1, window: 1)
        // The clock went back before the last event of the second partition.
        pager.receive([(15, Log.event(1, 2)), (40, Log.event(0, 2))], matched: [0, 1], second)
        #expect(pager.page.events.map { [$0.partition, $0.offset] } == [[0, 1], [0, 2], [1, 1], [1, 2]])
    }
}

/// A log in memory. Some events match the filter; partitions have different rates.
private struct Log {
    var random: SplitMix64
    private var partitions: [[Entry]] = []

    private typealias Entry = (event: Event, time: Int, matches: Bool)

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        for partition in 0..<Int.random(in: 1...5, using: &random) {
            var time = 0
            let pace = Int.random(in: 1...20, using: &random)
            let oneOf = Int.random(in: 1...10, using: &random)
            partitions.append(
                (0..<Int.random(in: 0...200, using: &random)).map { offset in
                    time += Int.random(in: 0...pace, using: &random)
                    return (Self.event(partition, offset + 1), time, Int.random(in: 0..<oneOf, using: &random) == 0)
                })
        }
    }

    static func event(_ partition: Int, _ offset: Int) -> Event {
        var event = Event(
            id: UUID(), source: "x", type: "x.y.z", version: 1, key: .device("a"), app: nil, time: .epoch,
            correlation: UUID(), causation: nil, traceparent: nil, data: [])
        (event.partition, event.offset) = (partition, offset)
        return event
    }

    /// Returns all matching events by append time.
    func sorted(_ order: EventOrder) -> [Event] {
        sorted(partitions.flatMap { $0.filter(\.matches) }, order).map(\.event)
    }

    private func sorted(_ entries: [Entry], _ order: EventOrder) -> [Entry] {
        let all = entries.sorted {
            ($0.time, $0.event.partition, $0.event.offset) < ($1.time, $1.event.partition, $1.event.offset)
        }
        return order == .oldest ? all : all.reversed()
    }

    /// Reads all pages.
    ///
    /// - Parameters:
    ///   - reads: the most reads of a page.
    ///   - limit: the most events of a page.
    ///   - window: the most offsets of each partition that a read scans.
    mutating func pages(
        _ order: EventOrder, reads: Int = .max, limit: (inout Log) -> Int, window: (inout Log) -> Int
    ) -> [Event] {
        var position = PositionVector(
            uniqueKeysWithValues: partitions.enumerated().map { ($0, order == .oldest ? 0 : $1.count) })
        var found: [Event] = []
        while true {
            let spans = position.map { LogSpan($0, from: $1, order, (head: partitions[$0].count, droppedTo: 0)) }
            var pager = FeedPager(order, limit: limit(&self), spans)
            var count = 0
            while !pager.unread.isEmpty, count < reads {
                count += 1
                let plan = ScanPlan(pager.unread, pager.unread, order, atMost: 1, window: window(&self))
                let matches = plan.spans.flatMap { partitions[$0.partition][$0.low..<$0.high].filter(\.matches) }
                pager.receive(
                    sorted(matches, order).prefix(pager.left + 1).map { ($0.time, $0.event) },
                    matched: Set(matches.map(\.event.partition)), plan)
            }
            found += pager.page.events
            position = pager.page.next
            if pager.page.isComplete { return found }
        }
    }
}
