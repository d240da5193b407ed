public import Contracts
public import Foundation
import Postgres
public import Timeline

/// A filter of events. Every set property must match.
public struct EventFilter: Sendable, Equatable {
    /// The types; empty for all.
    public var types: [String] = []
    /// The services; empty for all.
    public var services: [String] = []
    /// The aggregate.
    public var key: AggregateKey?
    /// The app.
    public var app: String?
    /// The start of the time range, in suite time.
    public var since: Instant?
    /// The end of the time range, in suite time, exclusive.
    public var until: Instant?
    /// The correlation id.
    public var correlation: UUID?
    /// The set of the aggregates; nil for all.
    public var members: AggregateSet?
    /// A condition of a service on each event; nil for none.
    public var property: EventProperty?
    /// A text that the type, the subject or the data contains, in any case of letters; nil for all events.
    public var text: String?

    public init() {}

    /// Returns whether an event matches, by the same rules as ``condition(_:)`` except for ``members``, ``property`` and
    /// ``text``.
    public func wants(_ event: Event) -> Bool {
        (types.isEmpty || types.contains(event.type)) && (services.isEmpty || services.contains(event.source))
            && (key == nil || key == event.key) && (app == nil || app == event.app)
            && since.map { event.time >= $0 } ?? true && until.map { event.time < $0 } ?? true
            && (correlation == nil || correlation == event.correlation)
    }

    /// Whether a database index finds the matching events.
    var isIndexed: Bool { key != nil || correlation != nil }
    /// Whether a skip index can exclude blocks.
    var hasSkipIndex: Bool { !types.isEmpty || !services.isEmpty || since != nil || until != nil }
    /// Whether every event matches.
    var isEmpty: Bool { self == EventFilter() }

    /// Returns the SQL condition on `e`, and appends its parameters.
    ///
    /// Without an index the query must scan a few blocks in order, up to the limit. The `CASE` hides the condition from
    /// PostgreSQL's planner, so that it does not choose another plan by its estimates.
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
        if let members { add("(e.partition, e.key) IN (\(members.query))", .text(members.name)) }
        if let property { add(property.condition, .text(property.value)) }
        // The last condition: it costs the most.
        if let text { add(Self.contains(text), .text(text)) }
        let conditions = all.joined(separator: " AND ")
        return all.isEmpty ? "" : isIndexed ? " AND \(conditions)" : " AND CASE WHEN \(conditions) THEN true END"
    }

    /// Returns the condition that an event contains a text. PostgreSQL changes the case of ASCII letters several times
    /// faster in the collation `C`, which ignores other letters.
    private static func contains(_ text: String) -> String {
        let collation = text.utf8.allSatisfy { $0 < 0x80 } ? #" COLLATE "C""# : ""
        let event = "concat_ws(' ', e.type, e.key || coalesce('/' || e.app, ''), e.data)"
        return "strpos(lower(\(event)\(collation)), lower(? \(collation))) > 0"
    }
}

/// A set of aggregates that a table of a service lists.
public struct AggregateSet: Sendable, Equatable {
    /// The query of the partitions and keys, with `?` for the name of the set.
    public var query: String
    public var name: String

    public init(_ name: String, query: String) {
        self.name = name
        self.query = query
    }
}

/// A condition on a property of an event that a service computes in SQL.
public struct EventProperty: Sendable, Equatable {
    /// The condition on the row `e`, with `?` for the value.
    public var condition: String
    public var value: String

    public init(_ value: String, condition: String) {
        self.value = value
        self.condition = condition
    }
}

/// The order of a feed.
public enum EventOrder: String, Sendable, CaseIterable {
    case oldest
    case newest
}

/// A position in the feed: an offset for each of its partitions. Oldest first, it is the last returned offset; newest
/// first, the next offset to return.
public typealias PositionVector = [Int: Int]

/// A page of the feed.
public struct EventPage: Sendable, Equatable {
    /// The events: by offset within a partition, by append time across partitions. Across pages, filters without a
    /// database index keep only the order of each partition.
    public var events: [Event]
    /// The position of the next page.
    public var next: PositionVector
    /// Whether the feed has no more events now.
    public var isComplete: Bool
}

/// The reason why a query of the log has no result.
public enum LogQueryError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Retention has dropped events after the position.
    case beyondRetention
    /// The position is not of this log.
    case foreignPosition
    /// The position is after the end of the log: the log was restored to an earlier point.
    case beyondLog(LogPosition, head: Int)

    public var description: String {
        switch self {
        case .beyondRetention: "retention dropped events after the position; start again without it"
        case .foreignPosition: "the position is not of this log"
        case .beyondLog(let position, let head): "position \(position) is beyond the end of the partition, \(head)"
        }
    }
}
