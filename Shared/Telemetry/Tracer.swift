import Synchronization

/// Keeps the spans of a process until they are exported.
///
/// A span of a request belongs to the trace of the client, or begins one. An event of the log carries the trace context of
/// the request that caused it, so the services continue the trace from the log. They follow the decision of its first
/// service whether it is recorded.
public final class Tracer: Sendable {
    /// The most spans that wait; further ones are dropped.
    public static let capacity = 8192

    /// The share of the new traces that is recorded, from 0 to 1.
    private let share: Double
    private let waiting = Mutex<[Span]>([])
    private let dropped: MetricSeries

    /// - Parameter share: the share of the traces that begin here which is recorded, from 0 to 1.
    public init(share: Double, metrics: Metrics = Metrics()) {
        self.share = share
        dropped = metrics.series(of: .spansDropped, ["reason": "queue_full"])
    }

    /// Returns a new trace, which is recorded or not.
    public func newTrace() -> Traceparent {
        let trace = Traceparent.random()
        return trace.fraction < share ? trace : trace.unsampled()
    }

    /// Adds a span, or drops it if too many wait. The span of a trace that is not recorded is ignored.
    public func record(_ span: Span) { record([span]) }

    /// Adds spans of recorded traces.
    public func record(_ spans: [Span]) {
        let sampled = spans.filter(\.context.isSampled)
        guard !sampled.isEmpty else { return }
        let taken = waiting.withLock { waiting in
            let taken = min(sampled.count, max(0, Self.capacity - waiting.count))
            waiting += sampled.prefix(taken)
            return taken
        }
        if taken < sampled.count { dropped.add(Double(sampled.count - taken)) }
    }

    /// The number of spans that wait.
    public var count: Int { waiting.withLock(\.count) }

    /// Removes the oldest spans.
    public func take(_ limit: Int) -> [Span] {
        waiting.withLock { waiting in
            let taken = Array(waiting.prefix(limit))
            waiting.removeFirst(taken.count)
            return taken
        }
    }
}

extension Traceparent {
    /// Returns the span of an event in the trace of the request that caused it.
    ///
    /// The id comes from the id of the event. So an event names its span, and the span of the event that caused it,
    /// without a place in the log.
    ///
    /// - Parameter id: the lower half of the event's id.
    public func ofEvent(_ id: UInt64) -> Traceparent { replacingSpanID(by: id) }
}
