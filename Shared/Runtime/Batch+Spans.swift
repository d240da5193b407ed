import Contracts
import Telemetry

extension Batch {
    /// Returns the spans of the events that belong to recorded traces, from the decision to the commit.
    ///
    /// The span of an event that another event caused is a child of that event's span. The first event is a child of the
    /// request.
    func spans() -> [Span] { events.compactMap(span) }

    private func span(of event: Event) -> Span? {
        // A fast path: most events have no trace.
        guard let text = event.traceparent, let context = Traceparent(text), context.isSampled else { return nil }
        let isCaused = event.causation != nil
        var span = Span(
            event.type, isCaused ? .consumer : .producer, context.ofEvent(event.id.lowerHalf),
            parent: event.causation?.lowerHalf ?? context.spanID, start: start,
            attributes: [
                ("messaging.system", .text("dormouse")), ("messaging.destination.name", .text("bus.events")),
                ("messaging.destination.partition.id", .text(String(partition))),
                ("messaging.operation.type", .text(isCaused ? "process" : "send")),
                ("messaging.message.id", .text(event.id.lowercased)), ("dormouse.key", .text(event.key.description)),
            ])
        if let app = event.app { span.attributes.append(("dormouse.app", .text(app))) }
        return span
    }
}
