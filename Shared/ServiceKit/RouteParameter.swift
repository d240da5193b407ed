public import Records
import Timeline

/// Something that a route takes beside its document and the identifiers of its path, as the API description tells it.
public struct RouteParameter: Sendable {
    /// Where it stands.
    public enum Place: String, Sendable { case path, query, header }

    public let name: String
    public let place: Place
    public let summary: String
    /// JSON Schema of the value.
    public let schema: JSON

    public init(_ name: String, in place: Place, _ summary: String, _ schema: JSON) {
        self.name = name
        self.place = place
        self.summary = summary
        self.schema = schema
    }

    /// A whole number of the query.
    public static func number(_ name: String, _ range: ClosedRange<Int>, _ summary: String) -> RouteParameter {
        let schema: JSON = ["type": "integer", "minimum": .int(range.lowerBound), "maximum": .int(range.upperBound)]
        return RouteParameter(name, in: .query, summary, schema)
    }

    /// Returns a text parameter of the query.
    public static func text(_ name: String, _ summary: String) -> RouteParameter {
        RouteParameter(name, in: .query, summary, String.schema)
    }

    /// Returns a moment in the query, by RFC 3339.
    public static func moment(_ name: String, _ summary: String) -> RouteParameter {
        RouteParameter(name, in: .query, summary, Instant.schema)
    }

    /// A part of the path that is one of a few words.
    public static func word<W: Word>(_ name: String, _ words: W.Type, _ summary: String) -> RouteParameter {
        RouteParameter(name, in: .path, summary, words.schema)
    }

    /// Resumes a stream of server-sent events.
    public static let lastEventID = RouteParameter(
        "Last-Event-ID", in: .header, "The id of the last event that the client received; the stream resumes after it",
        ["type": "string", "pattern": .string(ResumePoint.pattern)])

    var openAPI: JSON {
        [
            "name": .string(name), "in": .string(place.rawValue), "required": .bool(place == .path),
            "description": .string(summary), "schema": schema,
        ]
    }
}

extension [RouteParameter] {
    /// The parameters of a list that is read page by page.
    public static let pages: [RouteParameter] = [
        .number("limit", 1...200, "The most items of a page; 50 by default"),
        .number("cursor", 1...Int.max, "The `next` of the previous page"),
    ]
}

/// What a route answers that is no JSON document, as the API description tells it.
public struct TextContent: Sendable {
    /// The media type.
    public let type: String
    public let example: String

    public init(_ type: String, example: String) {
        self.type = type
        self.example = example
    }

    /// Server-sent events.
    public static func events(example: String) -> TextContent { TextContent("text/event-stream", example: example) }
}
