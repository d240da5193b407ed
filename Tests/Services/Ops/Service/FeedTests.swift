import AsyncHTTPClient
import Contracts
import EventLog
import HTTPKit
import NIOCore
import Postgres
import Records
import TestSupport
import Testing

@testable import OpsService

@Suite("The live feed", .tags(.database), .timeLimit(.minutes(5))) struct FeedTests {
    @Test func `a stream delivers new events and resumes without loss`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.append(to: "before")
            let (first, lastID) = try await fixture.follow("/v1/events/stream", 3) {
                for number in 0..<3 { try await fixture.append("x.y.z", to: "d\(number)", data: #"{"n":\#(number)}"#) }
            }
            // A stream without a position has no earlier events.
            #expect(Set(first.map { $0["data"]?["n"]?.int }) == [0, 1, 2])
            for number in 3..<6 { try await fixture.append("x.y.z", to: "d\(number)", data: #"{"n":\#(number)}"#) }
            let (missed, _) = try await fixture.follow("/v1/events/stream", 4, after: lastID) {
                try await fixture.append("x.y.z", to: "d1", data: #"{"n":6}"#)
            }
            #expect(Set(missed.map { $0["data"]?["n"]?.int }) == [3, 4, 5, 6])
        }
    }

    @Test func `a stream is filtered by device and type`() async throws {
        try await OpsFixture.run { fixture in
            let (events, _) = try await fixture.follow("/v1/events/stream?device=a&type=fetch.task.due", 2) {
                for type in ["fetch.task.due", "other.thing.pinged", "fetch.task.due"] {
                    try await fixture.append(type, to: "b")
                    try await fixture.append(type, to: "a")
                }
            }
            #expect(events.allSatisfy { $0["subject"] == "device:a" && $0["type"] == "fetch.task.due" })
        }
    }

    @Test func `a stream continues where a page with the oldest events first ends`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.append("x.y.z", to: "a", data: #"{"n":0}"#)
            let page = try await fixture.get("/v1/events?order=oldest")
            let position = try #require(page.headers["dormouse-position"])
            try await fixture.append("x.y.z", to: "a", data: #"{"n":1}"#)
            let (events, _) = try await fixture.follow("/v1/events/stream", 1, after: position) {}
            #expect(events.first?["data"]?["n"] == 1)
        }
    }

    @Test func `a position beyond the end of the log gets 410`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.append(to: "a")
            let answer = try await fixture.get("/v1/events/stream", ["Last-Event-ID": "0:99,1:0,2:0"])
            #expect(answer.status == 410 && answer.code == "position_beyond_log")
            #expect(answer.json["detail"]?.string?.contains("0:99") == true)
            for order in EventOrder.allCases {
                let place = PositionCursor(position: [0: 99, 1: 0, 2: 0], order: order).text
                let page = try await fixture.get("/v1/events?order=\(order.rawValue)&cursor=\(place)")
                #expect(page.status == 410 && page.code == "position_beyond_log", "\(order)")
            }
        }
    }

    @Test(arguments: ["nonsense", "0:0"]) func `an invalid Last-Event-ID is refused`(_ id: String) async throws {
        try await OpsFixture.run { fixture in
            let answer = try await fixture.get("/v1/events/stream", ["Last-Event-ID": id])
            #expect(answer.status == 400 && answer.code == "invalid_header")
        }
    }

    @Test func `a reader that stops reading gets cut as its last event`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.append("x.y.z", to: "a")
            var feed = fixture.feed().oneByOne()
            // The stream has caught up: from now on, events are buffered for it.
            _ = try #require(try await feed.next())
            var other = fixture.feed().oneByOne()
            _ = try #require(try await other.next())
            let count = LogTail.readerLimit * OpsFixture.partitions + 500
            try await fixture.append(count, to: "a")
            for _ in 0..<count { #expect(try await other.next()?.event == nil) }
            try await fixture.append("x.y.z", to: "a")
            #expect(try await other.next()?.event == nil)
            var last: ServerSentEvent?
            var ids: Set<String> = []
            while let event = try await feed.next() {
                if event.event == nil { #expect(ids.insert(event.id ?? "").inserted) }
                last = event
            }
            #expect(last?.event == "cut" && last?.data?.contains("slow_reader") == true)
            // The reader got every event before the cut, so it can resume after them.
            #expect(ids.count == count)
        }
    }

    /// A standby took over that had not got the last event.
    @Test func `a stream whose events are lost ends with that reason`() async throws {
        try await OpsFixture.run { fixture in
            var feed = fixture.feed().oneByOne()
            for _ in 0..<2 { try await fixture.append("x.y.z", to: "a") }
            var events = 0
            while events < 2 { if try #require(try await feed.next()).data != nil { events += 1 } }
            try await fixture.sql("UPDATE bus.partitions SET head = 1 WHERE head = 2")
            try await fixture.sql("DELETE FROM bus.events WHERE log_offset = 2")
            var last: ServerSentEvent?
            while let event = try await feed.next() { last = event }
            #expect(last?.event == "cut" && last?.data?.contains(#""code":"events_lost""#) == true)
        }
    }

    /// A reader that resumes at the position misses nothing, and does not read the other events again.
    @Test(arguments: ["type=lifecycle.device.revoked", "device=a&type=lifecycle.device.revoked"])
    func `the position of a stream advances without matching events`(_ query: String) async throws {
        try await OpsFixture.run(markInterval: .zero) { fixture in
            let path = "/v1/events/stream?" + query
            try await fixture.append("x.y.z", to: "a")
            let rows = try await fixture.owner.execute(
                Query(Statement("SELECT partition::int8, head FROM bus.partitions")))
            var heads: [Int: Int64] = [:]
            for (partition, head) in try rows.decode((Int, Int).self) where query.hasPrefix("type") || head > 0 {
                heads[partition] = Int64(head)
            }
            let partition = AggregateKey.device("a").partition(of: OpsFixture.partitions)
            // The stream reports its start, then its progress.
            let first = try await fixture.marks(path, until: EncodedPosition(heads).description) {}
            heads[partition] = 6
            let last = try await fixture.marks(path, until: EncodedPosition(heads).description) {
                for _ in 0..<5 { try await fixture.append("x.y.z", to: "a") }
            }
            #expect(first.count == 1 && last.count > 1)
            try await fixture.sql("INSERT INTO bus.retention (partition, dropped_to) VALUES (\(partition), 6)")
            let late = try await fixture.get(path, ["Last-Event-ID": first[0]])
            #expect(late.status == 410 && late.code == "beyond_retention")
            let (events, _) = try await fixture.follow(path, 1, after: last.last) {
                try await fixture.append("lifecycle.device.revoked", to: "a")
            }
            #expect(events.first?["type"] == "lifecycle.device.revoked")
        }
    }

    @Test func `a stream reports its position while it catches up`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.append(1200, to: "a")
            var filter = EventFilter()
            filter.types = ["rare.thing.happened"]
            var feed = fixture.feed(filter).oneByOne()
            let partition = AggregateKey.device("a").partition(of: OpsFixture.partitions)
            var places: [Int64?] = []
            while places.last != 1200 {
                let step = try #require(try await feed.next())
                #expect(step.data == nil)
                places.append(step.id.flatMap { EncodedPosition($0) }?.offsets[partition])
            }
            #expect(
                places == places.sorted { ($0 ?? 0) < ($1 ?? 0) } && places.count > 2
                    && Set(places).count == places.count)
        }
    }

    /// Retention may drop a day between the response head and the first read of the log.
    @Test func `a stream whose start is dropped before the first read gets cut`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.append(5, to: "a")
            var feed = fixture.feed().oneByOne()
            let partition = AggregateKey.device("a").partition(of: OpsFixture.partitions)
            try await fixture.sql("INSERT INTO bus.retention (partition, dropped_to) VALUES (\(partition), 3)")
            let first = try await feed.next()
            #expect(first?.event == "cut" && first?.data?.contains("beyond_retention") == true)
            #expect(try await feed.next() == nil)
        }
    }

    @Test func `events that wait are sent together`() async throws {
        try await OpsFixture.run { fixture in
            try await fixture.append(250, to: "a")
            var feed = fixture.feed().makeAsyncIterator()
            var parts: [Int] = []
            while parts.reduce(0, +) < 250 {
                parts.append(try #require(try await feed.next()).filter { $0.data != nil }.count)
            }
            #expect(parts.reduce(0, +) == 250 && parts.allSatisfy { $0 <= 100 } && parts.count <= 5, "\(parts)")
            // The live stream too: one pass reads them.
            try await fixture.append(50, to: "a")
            parts = []
            while parts.reduce(0, +) < 50 {
                parts.append(try #require(try await feed.next()).filter { $0.data != nil }.count)
            }
            #expect(parts.filter { $0 > 0 } == [50])
        }
    }

    @Test func `a stream refuses the parameters of paging`() async throws {
        try await OpsFixture.run { fixture in
            let answer = try await fixture.get("/v1/events/stream?limit=5&order=newest")
            #expect(answer.faults == ["/limit", "/order"])
        }
    }
}

/// The events of a feed one by one.
struct OneByOne {
    var parts: EventFeed.Iterator
    var rest: ArraySlice<ServerSentEvent> = []

    mutating func next() async throws -> ServerSentEvent? {
        while rest.isEmpty {
            guard let part = try await parts.next() else { return nil }
            rest = part[...]
        }
        return rest.popFirst()
    }
}

extension EventFeed {
    func oneByOne() -> OneByOne { OneByOne(parts: makeAsyncIterator()) }
}

extension OpsFixture {
    /// Returns the feed from the start of the log, without a connection that could buffer events.
    fileprivate func feed(_ filter: EventFilter = EventFilter()) -> EventFeed {
        var start: PositionVector = [:]
        for partition in 0..<Self.partitions { start[partition] = 0 }
        return EventFeed(tail: tail, filter: filter, start: start)
    }

    /// Appends `count` events of one device at once, with one wake-up.
    fileprivate func append(_ count: Int, to device: String) async throws {
        let key = AggregateKey.device(device)
        let partition = key.partition(of: Self.partitions)
        try await sql(
            """
            WITH moved AS (
                UPDATE bus.partitions SET head = head + \(count) WHERE partition = \(partition) RETURNING head)
            INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, time, correlationid, data)
            SELECT \(partition), head - \(count) + n, current_date, gen_random_uuid(), 'x', 'x.y.z', 1, '\(key)', 0,
                gen_random_uuid(), '{}' FROM moved, generate_series(1, \(count)) AS n
            """)
        try await sql("SELECT pg_notify('dormouse', 'other:\(partition)')")
    }

    /// Opens a stream without matching events, runs `body` after the first id, and reads until the id `last`.
    ///
    /// - Returns: all ids.
    fileprivate func marks(_ path: String, until last: String, _ body: () async throws -> Void) async throws -> [String]
    {
        let response = try await HTTPClient.shared.execute(request(path), timeout: .seconds(60))
        var text = ""
        var places: [String] = []
        for try await part in response.body {
            text += String(buffer: part)
            while let end = text.firstRange(of: "\n\n") {
                let block = text[..<end.lowerBound]
                text = String(text[end.upperBound...])
                guard !block.hasPrefix(":") else { continue }
                try #require(block.hasPrefix("id: ") && !block.contains("\n"))
                places.append(String(block.dropFirst(4)))
                if places.count == 1 { try await body() }
            }
            if places.last == last { break }
        }
        return places
    }

    /// Opens a stream, runs the body once it is open, and reads `count` events.
    func follow(
        _ path: String, _ count: Int, after id: String? = nil, _ body: () async throws -> Void
    ) async throws -> (events: [JSON], lastID: String) {
        let response = try await HTTPClient.shared.execute(
            request(path, "GET", id.map { ["Last-Event-ID": $0] } ?? [:]), timeout: .seconds(60))
        var text = ""
        var hasBegun = false
        var events: [JSON] = []
        var lastID = ""
        for try await part in response.body {
            text += String(buffer: part)
            if !hasBegun, text.contains(": open\n\n") {
                hasBegun = true
                try await body()
            }
            while let end = text.firstRange(of: "\n\n") {
                for line in text[..<end.lowerBound].split(separator: "\n") {
                    if line.hasPrefix("id: ") { lastID = String(line.dropFirst(4)) }
                    if line.hasPrefix("data: ") { events.append(try JSON(parsing: Array(line.dropFirst(6).utf8))) }
                }
                text = String(text[end.upperBound...])
            }
            if events.count >= count { break }
        }
        return (events, lastID)
    }
}
