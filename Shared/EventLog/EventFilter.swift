public import Contracts
public import Foundation
import Postgres
public import Timeline

/// Which events somebody wants; what is not set does not matter.
public struct EventFilter: Sendable, Equatable {
    /// One of these types; empty for all.
    public var types: [String] = []
    /// Of one of these services; empty for all.
    public var services: [String] = []
    public var key: AggregateKey?
    public var app: String?
    /// Of this time by the suite's clock, or later.
    public var since: Instant?
    /// Before this time by the suite's clock.
    public var until: Instant?
    /// Everything that follows from the same outside input.
    public var correlation: UUID?

    public init() {}

    /// Whether an event is wanted, judged in memory as ``condition(_:)`` judges in the database.
    public func wants(_ event: Event) -> Bool {
        (types.isEmpty || types.contains(event.type)) && (services.isEmpty || services.contains(event.source))
            && (key == nil || key == event.key) && (app == nil || app == event.app)
            && since.map { event.time >= $0 } ?? true && until.map { event.time < $0 } ?? true
            && (correlation == nil || correlation == event.correlation)
    }

    /// Whether an index leads straight to the wanted events.
    var isIndexed: Bool { key != nil || correlation != nil }
    /// Whether an outline can tell where wanted events are not.
    var isOutlined: Bool { !types.isEmpty || !services.isEmpty || since != nil || until != nil }
    /// Whether every event is wanted.
    var isEmpty: Bool { self == EventFilter() }

    /// The condition on `e`, for the filters that are set, with their parameters appended.
    ///
    /// Where no index leads to the wanted events, a few stretches are walked through, in order and no further than the limit. In
    /// a `CASE` PostgreSQL can't think of anything else: it takes every event for equally wanted, and no index for a way.
    func condition(_ parameters: inout [Parameter]) -> String {
        var all: [String] = []
        func add(_ condition: String, _ parameter: Parameter) {
            parameters.append(parameter)
            all.append(condition.split(separator: "?").joined(separator: "$\(parameters.count)"))
        }
        if !types.isEmpty { add("e.type = ANY(?)", .texts(types)) }
        if !services.isEmpty { add("e.source = ANY(?)", .texts(services)) }
        if let key { add("e.key = ? ", .text(key.description)) }
        if let app { add("e.app = ? ", .text(app)) }
        if let since { add("e.time >= ? ", .int(Int(since.milliseconds))) }
        if let until { add("e.time < ? ", .int(Int(until.milliseconds))) }
        if let correlation { add("e.correlationid = ? ", .uuid(correlation)) }
        let text = all.joined(separator: " AND ")
        return all.isEmpty ? "" : isIndexed ? " AND \(text)" : " AND CASE WHEN \(text) THEN true END"
    }
}

/// Which end of the log a feed begins at.
public enum EventOrder: String, Sendable, CaseIterable {
    case oldest
    case newest
}

/// A place in the feed: for each partition of it the offset that it has come to. Oldest first, the last offset that was
/// told; newest first, the last that was not told yet.
public typealias LogVector = [Int: Int]

/// A part of the feed.
public struct EventPage: Sendable, Equatable {
    /// In order within a partition; across partitions by the time of appending, as far as they were read together.
    public var events: [Event]
    /// Where the next page begins.
    public var next: LogVector
    /// Whether that is the end of the feed, for now.
    public var isComplete: Bool
}

/// Why a question to the log has no answer.
public enum LogQueryError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The feed was left at a place that has been dropped since.
    case beyondRetention
    /// The place is not of this log.
    case foreignPlace
    /// The place is beyond the end of the log: the log was restored to an earlier point.
    case beyondLog(LogPlace, head: Int)

    public var description: String {
        switch self {
        case .beyondRetention: "the events from there on were dropped"
        case .foreignPlace: "this is no place of this log"
        case .beyondLog(let place, let head): "\(place) is beyond the end of the partition, \(head)"
        }
    }
}
