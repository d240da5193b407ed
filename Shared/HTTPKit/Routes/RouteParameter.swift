public import Records
import Timeline

/// A parameter of a route in the API description, besides the body and the identifiers of the path.
public struct RouteParameter: Sendable {
    /// The location of a parameter.
    public enum Place: String, Sendable { case path, query, header }

    public let name: String
    public let place: Place
    public let summary: String
    /// The JSON Schema of the value.
    public let schema: JSON
    /// The range of a whole number; nil for other values.
    public private(set) var range: ClosedRange<Int>?
    /// Whether the value is a place in the log, which is of one incarnation.
    private(set) var isPlace = false

    /// Creates a parameter with any schema.
    public init(_ name: String, in place: Place, _ summary: String, _ schema: JSON) {
        self.name = name
        self.place = place
        self.summary = summary
        self.schema = schema
    }

    /// Returns a query parameter with a whole number.
    public static func number(_ name: String, _ range: ClosedRange<Int>, _ summary: String) -> RouteParameter {
        let schema: JSON = ["type": "integer", "minimum": .int(range.lowerBound), "maximum": .int(range.upperBound)]
        var parameter = RouteParameter(name, in: .query, summary, schema)
        parameter.range = range
        return parameter
    }

    /// Returns a query parameter with text.
    public static func text(_ name: String, _ summary: String) -> RouteParameter {
        RouteParameter(name, in: .query, summary, String.schema)
    }

    /// The place in the log at which a page begins. A route that has it refuses places of an earlier incarnation.
    public static let cursor: RouteParameter = {
        var parameter = RouteParameter.text("cursor", "The `next` of the previous page")
        parameter.isPlace = true
        return parameter
    }()

    /// Returns a query parameter with a time (RFC 3339).
    public static func moment(_ name: String, _ summary: String) -> RouteParameter {
        RouteParameter(name, in: .query, summary, Instant.schema)
    }

    /// Returns a path parameter with one of a few words.
    public static func word<W: WireEnum>(_ name: String, _ words: W.Type, _ summary: String) -> RouteParameter {
        RouteParameter(name, in: .path, summary, words.schema)
    }

    /// The partitions of a stream of many devices.
    public static let partitions = RouteParameter(
        "partitions", in: .query, "Partition numbers, separated by commas; all partitions if missing",
        ["type": "string", "pattern": "^[0-9]+(,[0-9]+)*$"])

    /// The header that resumes a stream of server-sent events.
    public static let lastEventID = RouteParameter(
        "Last-Event-ID", in: .header, "The id of the last event that the client received; the stream resumes after it",
        ["type": "string", "pattern": .string(EncodedPosition.pattern)])

    var openAPI: JSON {
        [
            "name": .string(name), "in": .string(place.rawValue), "required": .bool(place == .path),
            "description": .string(summary), "schema": schema,
        ]
    }
}

extension [RouteParameter] {
    /// The parameters of a list with pages.
    public static let pages: [RouteParameter] = [
        .number("limit", 1...200, "The most items of a page; 50 by default"),
        .cursor,
    ]
}

/// A text answer in the API description.
public struct TextContent: Sendable {
    /// The media type.
    public let type: String
    public let example: String

    /// Creates the description of a text answer.
    public init(_ type: String, example: String) {
        self.type = type
        self.example = example
    }

    /// Returns the description of a stream of server-sent events.
    public static func events(example: String) -> TextContent { TextContent("text/event-stream", example: example) }

    /// Returns the description of an answer in NDJSON.
    public static func lines(example: String) -> TextContent { TextContent(LineBatches.mediaType, example: example) }
}
