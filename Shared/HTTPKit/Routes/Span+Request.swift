public import Contracts
import HTTPTypes
import Hummingbird
public import Telemetry

extension Span {
    /// The span of a request up to the head of its answer, with the attributes of OpenTelemetry's semantic conventions for
    /// HTTP. The path of a provider's push has a device token, so the span has only the route.
    init(
        _ request: Request, _ status: Int, _ context: ServiceContext, parent: UInt64?,
        start: ContinuousClock.Instant
    ) {
        let route = context.endpointPath.flatMap { $0.hasPrefix("/") ? $0 : nil }
        self.init(
            request: request.method.rawValue, route: route, status: status, context.traceparent, parent: parent,
            start: start)
        if let route, !route.contains("{token}") {
            attributes.append(("url.path", .text(String(request.uri.path.prefix(1024)))))
        }
        if let address = context.channel.clientAddress?.ipAddress {
            attributes.append(("client.address", .text(address)))
        }
    }

    /// The span of a request.
    ///
    /// - Parameter route: the pattern of the path; nil if no route matches.
    public init(
        request method: String, route: String?, status: Int, _ context: Traceparent, parent: UInt64?,
        start: ContinuousClock.Instant
    ) {
        self.init(
            route.map { "\(method) \($0)" } ?? method, .server, context, parent: parent, start: start,
            attributes: [
                ("http.request.method", .text(method)), ("http.response.status_code", .number(status)),
            ], isFailed: status >= 500)
        if let route { attributes.append(("http.route", .text(route))) }
    }
}

/// The event that a stream delivers, for the trace.
public struct DeliveredEvent: Sendable, Hashable {
    private let name: String
    private let parent: Traceparent

    /// - Returns: nil if the trace of the event is not recorded.
    public init?(_ event: Event) {
        // A fast path: most events have no trace.
        guard let text = event.traceparent, let context = Traceparent(text), context.isSampled else { return nil }
        name = event.type
        parent = context.ofEvent(event.id.lowerHalf)
    }

    /// The span from the read of the event to the write on the connection.
    func span(start: ContinuousClock.Instant) -> Span {
        Span(
            "deliver \(name)", .producer, parent.child(), parent: parent.spanID, start: start,
            attributes: [("messaging.operation.type", .text("send")), ("messaging.operation.name", .text("deliver"))])
    }
}
