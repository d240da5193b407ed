import AsyncAlgorithms
import Contracts
import EventLog
import HTTPKit
import Hummingbird
import Identity
import LifecycleCore
import OrderedCollections
import Records
import Runtime
import ServiceKit
import ServiceLifecycle

// Orders to devices, as server-sent events and by long polling.
extension LifecycleRoutes {
    func addOrders(_ table: inout RouteTable) {
        table.add(
            .get, "/v1/devices/{device}/orders",
            "Streams the orders of a device from now on, or after Last-Event-ID; ?wait=30 returns the next page instead",
            .parameters(
                .number("wait", 0...60, "Seconds to wait for an order; if missing, the answer is a stream"),
                RouteParameter(
                    "after", in: .query, "The `next` of the last answer, for clients that can't send Last-Event-ID",
                    ["type": "string", "pattern": "^([0-9a-f]{12}\\.)?[0-9]+:[0-9]+$"]),
                .lastEventID),
            .answers(OrderList.self), .text(.events(example: Example.orderStream)),
            .refuses(.ofDevice() + [.invalidQuery, .beyondRetention, .positionBeyondLog]), .example(Example.orders)
        ) { try await orders($0) }
        table.add(
            .get, "/v1/fleets/{fleet}/orders",
            "Streams the orders of all devices of a fleet, for all partitions or for those in ?partitions=0,1",
            .parameters(
                .partitions, .lastEventID),
            .text(.events(example: Example.fleetOrderStream)),
            .refuses([.invalidHeader, .invalidQuery, .beyondRetention, .positionBeyondLog])
        ) { call in
            let fleet = try call.identifier("fleet")
            try call.context.requireCaller(.read).requireFleet(fleet)
            let start = try await tail.start(of: call.request)
            let members = try await FleetMembers.load(of: fleet, at: start, commands.runtime.states)
            let events = FleetOrders(tail, after: start, members: members)
            let stream = Response(events: events, on: call.context, metrics: metrics)
            return listed.isTimeVirtual && mayAnswer(call) ? list(.fleet(fleet), stream, call) : stream
        }
    }

    /// Streams the orders of a device, or waits for the next page.
    private func orders(_ call: Call) async throws -> Response {
        let isBuiltIn = try await registered(call).state.registration?.simulate?.answersItself == true
        let after = try await start(call, of: call.device)
        guard call.request.uri.queryParameters["wait"] != nil else {
            // The new stream ends the device's former one.
            try call.context.requireCaller(.operate)
            let stream = try stream(call.identifier("device"), after: after, call.context)
            return listed.isTimeVirtual || isBuiltIn ? list(.device(try call.device), stream, call) : stream
        }
        let wait = try call.number("wait", default: 30)
        if mayAnswer(call) { try await listed.note(call.device, pollsFor: .seconds(wait)) }
        return Response(try await poll(call.device, after: after, wait: .seconds(wait), call.context))
    }

    /// Whether the caller may answer orders. Advances wait for no other caller, and built-in devices stay built in.
    private func mayAnswer(_ call: Call) -> Bool { (try? call.context.requireCaller(.operate)) != nil }

    /// Returns the offset in `Last-Event-ID`, or in `?after=` for clients that can't set headers.
    private func encodedPosition(_ call: Call, _ key: AggregateKey) throws(Problem) -> Int? {
        let partition = key.partition(of: tail.partitions)
        if let point = try call.request.encodedPosition() {
            guard let offset = point.offsets[partition] else {
                throw .invalidHeader.with(detail: "Last-Event-ID must be an id of this device's stream.")
            }
            return Int(offset)
        }
        guard let text = call.request.uri.queryParameters["after"] else { return nil }
        let plain = try call.context.incarnation.unmarked(String(text))
        guard let offset = EncodedPosition(plain)?.offsets[partition] else {
            throw .invalidQuery.with(detail: "`after` must be the `next` of an earlier answer.")
        }
        return Int(offset)
    }

    /// Returns the start of a device's orders: the client's position, or the head.
    private func start(_ call: Call, of key: AggregateKey) async throws -> Int {
        let partition = key.partition(of: tail.partitions)
        guard let after = try encodedPosition(call, key) else {
            return try await tail.heads()[partition, default: 0]
        }
        try await tail.requireInLog([partition: after])
        return after
    }

    /// Streams orders until another stream of the same device begins.
    private func stream(_ device: String, after: Int, _ context: ServiceContext) throws -> Response {
        let orders = tail.events(of: .device(device), after: after).compactMap { Order($0)?.serverSentEvent(of: $0) }
        let replaced = streams.begin(device)
        let steps = merge(orders.map(Step.order), replaced.map { Step.end })
        // `prefix` is declared as throwing because its base may throw. This base never throws.
        let untilReplaced = try steps.prefix { step in if case .end = step { false } else { true } }
        let events = untilReplaced.compactMap { step in if case .order(let event) = step { event } else { nil } }
        return Response(events: events, on: context, metrics: metrics)
    }

    /// Lists a stream while it is being written.
    private func list(_ subject: OrderStreamStore.Subject, _ stream: Response, _ call: Call) -> Response {
        var response = stream
        // Detecting that the client closes occupies the connection, so it serves no further request.
        response.headers[.connection] = "close"
        let inner = response.body
        let (request, channel) = (call.request, call.context.channel)
        response.body = ResponseBody { writer in
            try await listed.hold(subject) {
                try await request.body.consumeWithCancellationOnInboundClose { _ in
                    try await inner.write(writer)
                    // The connection closes next, so its loop must send the last bytes first.
                    try await channel.eventLoop.submit {}.get()
                }
            }
        }
        return response
    }

    /// Returns the orders in the log. If there are none, it waits for the first one.
    private func poll(
        _ key: AggregateKey, after: Int, wait: Duration, _ context: ServiceContext
    ) async throws -> OrderList {
        var items: [Order] = []
        var last = after
        var isAtHead = false
        while !isAtHead, items.count < OrderList.limit {
            let page = try await tail.page(of: key, after: last)
            (last, isAtHead) = (page.position, page.isAtHead)
            for (event, order) in page.events.compactMap({ event in Order(event).map { (event, $0) } }) {
                items.append(order)
                guard items.count == OrderList.limit else { continue }
                // The next answer has the rest of the page.
                last = event.offset
                break
            }
        }
        if items.isEmpty,
            let found = try await context.waiting({
                try await tail.first(of: key, after: last, within: wait) { event in
                    Order(event).map { ($0, event.offset) }
                }
            })
        {
            (items, last) = ([found.0], found.1)
        }
        let next = "\(key.partition(of: tail.partitions)):\(last)"
        return OrderList(items: items, next: context.incarnation.marked(next))
    }
}

private enum Step: Sendable {
    case order(ServerSentEvent)
    case end
}
