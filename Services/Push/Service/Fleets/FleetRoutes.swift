import Contracts
import EventLog
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import Machines
import NIOCore
import PushCore
import Records
import Runtime
import ServiceKit
import Telemetry

/// A line that acknowledges a notification.
struct AcknowledgementLine: Record, DeviceLine {
    var device = ""
    /// The `apns-unique-id`.
    var notification = ""

    enum Constraints {
        static let device: Constraint<String> = .identifier
        static let notification: Constraint<String> = .identifier
    }
}

/// The routes of many devices: one connection for a fleet, and acknowledgements in lines.
struct FleetRoutes: Sendable {
    let commands: Commands<PushMachine>
    let connections: Connections
    let tail: LogTail
    let metrics: Metrics
    let delays: DeliveryDelays
    private let batches = LineBatches()

    init(
        commands: Commands<PushMachine>, connections: Connections, tail: LogTail, metrics: Metrics,
        delays: DeliveryDelays
    ) {
        self.delays = delays
        self.commands = commands
        self.connections = connections
        self.tail = tail
        self.metrics = metrics
    }

    func add(to table: inout RouteTable) {
        table.add(
            .get, "/v1/fleets/{fleet}/notifications/stream",
            "Connects all devices of a fleet by one stream, for all partitions or for those in ?partitions=0,1",
            .parameters(.partitions, .lastEventID), .text(.events(example: Self.streamExample)),
            .refuses([.invalidHeader, .invalidQuery, .beyondRetention, .positionBeyondLog])
        ) { try await stream($0) }
        table.add(
            .post, "/v1/fleets/{fleet}/notifications/ack", "Acknowledges the notifications of the lines",
            .lines(AcknowledgementLine.self), .text(.lines(example: Self.acknowledgementExample))
        ) { call in
            let fleet = try entered(call)
            try await commands.waitForPosition(call)
            return try await batches.answer(call, AcknowledgementLine.self) { line, number in
                try await commands.submit(
                    .acknowledge(notification: line.notification), of: (number, line), in: fleet, call
                ) { _, _ in line }
            }
        }
    }

    /// Returns the fleet in the path, if the caller may act for its devices.
    private func entered(_ call: Call) throws -> String {
        let fleet = try call.identifier("fleet")
        // The stream connects devices, so an operator's key needs the scope `operate`.
        try call.context.requireCaller(.operate).requireFleet(fleet)
        return fleet
    }

    /// Opens the stream. Its first line comes when all devices with a network are connected.
    private func stream(_ call: Call) async throws -> Response {
        let context = call.context
        let devices = FleetConnections(
            of: try entered(call), connections, by: context.requester)
        let start = try await tail.start(of: call.request)
        for partition in start.keys.sorted() {
            var last: AggregateKey?
            repeat {
                let page = try await commands.runtime.states.page(
                    of: partition, mentioning: devices.fleet, after: last)
                for (key, state) in page.states { devices.add(key, state) }
                last = page.last
            } while last != nil
        }
        let events = FleetNotifications(tail, after: start, devices)
        var response = Response(events: events, on: context, metrics: metrics, onSent: delays.note)
        // Detecting that the client closes occupies the connection, so it serves no further request.
        response.headers[.connection] = "close"
        let (inner, body, channel) = (response.body, call.request.body, context.channel)
        response.body = ResponseBody { writer in
            try await devices.hold(orEnd: { channel.close(promise: nil) }) {
                try await body.consumeWithCancellationOnInboundClose { _ in
                    try await devices.connectAll()
                    try await inner.write(writer)
                    // The connection closes next, so its loop must send the last bytes first.
                    try await channel.eventLoop.submit {}.get()
                }
            }
        }
        return response
    }

    private static let streamExample = """
        : open

        id: 0:9,3:17
        event: notification
        data: {"apnsID":"0d4ed9a6-7b5f-4f10-a9a2-1f2f6f0a8f11","app":"com.example.app","collapseID":null,\
        "deliveredAt":"2026-11-21T07:40:00.000Z","device":"phone-1","fromStorage":false,\
        "id":"000bba78-0000-8000-8000-000000000000","payload":{"aps":{"alert":"x"}},"priority":10,"pushType":"alert",\
        "quiet":false,"silent":false,"willPresent":false}


        """

    private static let acknowledgementExample = """
        {"device":"phone-1","line":1,"notification":"000bba78-0000-8000-8000-000000000000",\
        "position":"3:18","status":200}
        {"failed":0,"succeeded":1}

        """
}
