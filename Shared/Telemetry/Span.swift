/// A finished operation of a trace, in the terms of OpenTelemetry
/// (https://opentelemetry.io/docs/specs/otel/trace/api/#span).
public struct Span: Sendable {
    /// The role of the operation. The raw values are those of OTLP.
    public enum Kind: Int, Sendable {
        case `internal` = 1
        case server, client, producer, consumer
    }

    /// The value of an attribute.
    public enum Value: Sendable, Equatable {
        case text(String)
        case number(Int)
    }

    public var name: String
    public var kind: Kind
    /// The trace, and the id of the span itself.
    public var context: Traceparent
    /// The id of the span that caused it; nil for the first one of a trace.
    public var parent: UInt64?
    public var start: ContinuousClock.Instant
    public var end: ContinuousClock.Instant
    /// Names of OpenTelemetry's semantic conventions, or with the prefix `dormouse.`.
    public var attributes: [(name: String, value: Value)]
    /// Whether the operation failed by a fault of the service.
    public var isFailed: Bool

    /// Creates a span.
    public init(
        _ name: String, _ kind: Kind, _ context: Traceparent, parent: UInt64?, start: ContinuousClock.Instant,
        end: ContinuousClock.Instant = .now, attributes: [(name: String, value: Value)] = [], isFailed: Bool = false
    ) {
        self.name = name
        self.kind = kind
        self.context = context
        self.parent = parent
        self.start = start
        self.end = end
        self.attributes = attributes
        self.isFailed = isFailed
    }
}
