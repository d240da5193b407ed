import Contracts
import EventLog
import Foundation
import HTTPKit
import HTTPTypes
import Hummingbird
import Machines
import NIOCore
import PushCore
import Records
import Runtime
import ServiceKit
import ServiceLifecycle
import Telemetry
import Timeline

/// The connection of a device: a stream or polls.
struct NotificationStream: Sendable {
    let commands: Commands<PushMachine>
    let connections: Connections
    let tail: LogTail
    let metrics: Metrics
    let delays: DeliveryDelays

    /// The example in the API description.
    static let example = """
        : open

        id: 3:17
        event: notification
        data: {"apnsID":"0d4ed9a6-7b5f-4f10-a9a2-1f2f6f0a8f11","app":"com.example.app","collapseID":null,\
        "deliveredAt":"2026-11-21T07:40:00.000Z","fromStorage":false,"id":"000bba78-0000-8000-8000-000000000000",\
        "payload":{"aps":{"content-available":1}},"priority":5,"pushType":"background","quiet":false,\
        "silent":true,"willPresent":false}


        """

    /// Opens the stream. The device is connected while the body of the answer is being written, so an answer whose head
    /// fails connects nothing. The stream reads notifications from the log, so any replica can decide.
    ///
    /// - Parameter offset: the offset of the device's last event before the stream.
    func open(
        _ key: AggregateKey, _ state: PushMachine, after offset: Int, _ request: Request, _ context: ServiceContext
    ) throws -> Response {
        guard state.conditions.poweredOn else { throw PushRefusal.deviceOff.problem }
        guard state.conditions.network != .none else { throw PushRefusal.noNetwork.problem }
        let connection = UUID.random()
        let name = connection.lowercased
        // Skips deliveries to former connections: the machine delivers those notifications to this one again.
        let events = try tail.events(of: key, after: offset)
            .drop { !isBegin($0, of: name) }.prefix { !isEnd($0, of: name) }.compactMap { told($0) }
        var response = Response(events: events, on: context, metrics: metrics, onSent: delays.note)
        // Detecting that the client closes occupies the connection, so it serves no further request.
        response.headers[.connection] = "close"
        let inner = response.body
        let requester = context.requester
        let channel = context.channel
        response.body = ResponseBody { writer in
            try await connections.hold(connection, key, by: requester) {
                try await request.body.consumeWithCancellationOnInboundClose { _ in
                    try await inner.write(writer)
                    // The connection closes next, so its loop must send the last bytes first.
                    try await channel.eventLoop.submit {}.get()
                }
            }
        }
        return response
    }

    /// Returns the notifications that the device has not acknowledged. If there are none, waits for the next one.
    func poll(
        _ key: AggregateKey, after offset: Int, wait: Interval, _ context: ServiceContext
    ) async throws -> NotificationList {
        let command = PushCommand.poll(connection: UUID.random().lowercased, wait: wait)
        let answer = try await commands.submit(command, to: key, origin: context.requester.origin) { aggregate, _ in
            NotificationList(inFlight: aggregate.state).jsonBytes
        }
        let list = try NotificationList(jsonBytes: answer)
        guard list.items.isEmpty, wait > .zero,
            let event = try await context.waiting({
                try await tail.first(of: key, after: offset, within: .milliseconds(wait.milliseconds)) { event in
                    event.type == PushEvent.NotificationDelivered.type ? event : nil
                }
            }),
            let found = try await commands.runtime.state(key)
        else { return list }
        var waiting = NotificationList(inFlight: found.aggregate.state)
        // A wake granted in the meantime acknowledges a silent notification that the device has not received yet.
        if waiting.items.isEmpty, let document = NotificationDocument(event) { waiting.items = [document] }
        return waiting
    }
}

/// Whether an event begins a connection.
private func isBegin(_ event: Event, of connection: String) -> Bool {
    guard event.type == PushEvent.DeviceConnected.type else { return false }
    return (try? PushEvent.DeviceConnected(jsonBytes: event.data, lenient: true))?.connection == connection
}

/// Whether an event ends a connection: it was replaced, or the device lost its network.
private func isEnd(_ event: Event, of connection: String) -> Bool {
    guard event.type == PushEvent.DeviceDisconnected.type else { return false }
    return (try? PushEvent.DeviceDisconnected(jsonBytes: event.data, lenient: true))?.connection == connection
}

private func told(_ event: Event) -> ServerSentEvent? {
    NotificationDocument(event).map { document in
        ServerSentEvent(
            id: "\(event.partition):\(event.offset)", event: "notification",
            data: String(decoding: document.jsonBytes, as: UTF8.self), delivers: DeliveredEvent(event),
            occurredAt: event.time)
    }
}

extension NotificationDocument {
    /// The notification of a delivery event; nil for other events.
    init?(_ event: Event) {
        guard event.type == PushEvent.NotificationDelivered.type,
            let delivered = try? PushEvent.NotificationDelivered(jsonBytes: event.data, lenient: true)
        else { return nil }
        self.init(delivered, at: event.time)
    }
}
