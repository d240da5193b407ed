import AsyncAlgorithms
import HTTPTypes
public import Hummingbird
public import NIOCore
import ServiceLifecycle
public import Telemetry
public import Timeline

/// One server-sent event (HTML standard, section 9.2).
public struct ServerSentEvent: Sendable, Hashable {
    /// The position for `Last-Event-ID`: `partition:offset`, comma-separated for several partitions.
    public var id: String?
    /// The type of the event.
    public var event: String?
    /// Any text; each line becomes a `data:` line. If it is nil, clients store the id and dispatch no event.
    public var data: String?
    /// The event of the log that it delivers, if its trace is recorded.
    public var delivered: DeliveredEvent?
    /// The suite time of the event of the log that it delivers.
    public var occurredAt: Instant?

    /// Creates an event.
    public init(
        id: String? = nil, event: String? = nil, data: String? = nil, delivers delivered: DeliveredEvent? = nil,
        occurredAt: Instant? = nil
    ) {
        self.occurredAt = occurredAt
        self.id = id
        self.event = event
        self.data = data
        self.delivered = delivered
    }

    /// The text on the wire.
    public var text: String {
        var text = ""
        if let id { text += "id: \(id)\n" }
        if let event { text += "event: \(event)\n" }
        if let data {
            for line in Self.lines(data) { text += "data: \(line)\n" }
        }
        return text + "\n"
    }

    /// Splits lines at CR, LF or both. Other line ends, such as U+0085 and U+2028, are text to clients.
    private static func lines(_ text: String) -> [Substring] {
        guard text.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D }) else { return [text[...]] }
        return text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r" || $0 == "\r\n" }
    }
}

extension Response {
    /// Creates a stream of server-sent events, with the back-pressure of the connection.
    ///
    /// It ends with the sequence, when the caller's token is revoked, and when the service shuts down. An error of the
    /// sequence closes the connection, so that the client reconnects with `Last-Event-ID`.
    ///
    /// - Parameters:
    ///   - events: the events. Those of one element are sent with one write.
    ///   - context: the context of the request.
    ///   - heartbeat: the interval of comments, which show both sides that the connection is alive.
    ///   - patience: the longest time for a write; then the connection is closed, so that a slow client holds nothing.
    ///   - onSent: called for each event after its write.
    public init<Events: AsyncSequence & Sendable>(
        events: Events, on context: ServiceContext, metrics: Metrics? = nil, heartbeat: Duration = .seconds(15),
        patience: TimeAmount = .seconds(30), onSent: (@Sendable (ServerSentEvent) -> Void)? = nil
    ) where Events.Element == [ServerSentEvent], Events.AsyncIterator: SendableMetatype {
        let signals = chain(events.map(Signal.events), [Signal.end].async)
        let (channel, voiding, incarnation) = (context.channel, context.admission?.voiding, context.incarnation)
        let tracer = context.tracer
        let beats = AsyncTimerSequence(interval: heartbeat, clock: .continuous).map { _ in Signal.heartbeat }
        let body = ResponseBody { writer in
            metrics?.add(to: .streamsOpen)
            defer { metrics?.add(-1, to: .streamsOpen) }
            func write(_ text: String) async throws {
                let limit = channel.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
                defer { limit.cancel() }
                try await writer.write(ByteBuffer(string: text))
            }
            // Without a token that can be revoked, this stream never has an element.
            let revoked = (voiding?() ?? AsyncStream<Void> { _ in }).map { Signal.end }
            try await write(": open\n\n")
            signals: for try await signal in merge(signals, beats, revoked).cancelOnGracefulShutdown() {
                switch signal {
                case .events(let events):
                    var text = ""
                    for var event in events {
                        event.id = event.id.map(incarnation.marked)
                        text += event.text
                    }
                    let start = ContinuousClock.now
                    try await write(text)
                    if let onSent { events.forEach(onSent) }
                    tracer?.record(events.compactMap { $0.delivered?.span(start: start) })
                case .heartbeat: try await write(": heartbeat\n\n")
                case .end: break signals
                }
            }
            try await writer.finish(nil)
        }
        self.init(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: body)
    }

    /// Creates a stream of server-sent events that are sent one by one.
    public init<Events: AsyncSequence & Sendable>(
        events: Events, on context: ServiceContext, metrics: Metrics? = nil, heartbeat: Duration = .seconds(15),
        patience: TimeAmount = .seconds(30), onSent: (@Sendable (ServerSentEvent) -> Void)? = nil
    ) where Events.Element == ServerSentEvent, Events.AsyncIterator: SendableMetatype {
        self.init(
            events: events.map { [$0] }, on: context, metrics: metrics, heartbeat: heartbeat, patience: patience,
            onSent: onSent)
    }
}

private enum Signal: Sendable {
    case events([ServerSentEvent])
    case heartbeat
    case end
}
