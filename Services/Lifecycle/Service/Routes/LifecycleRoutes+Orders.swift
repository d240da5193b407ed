import AsyncAlgorithms
import Contracts
import EventLog
import Hummingbird
import LifecycleMachine
import OrderedCollections
import Records
import Runtime
import ServiceKit
import ServiceLifecycle

// Orders: what the devices are told to do, as streams of server-sent events and by long-polling.
extension LifecycleRoutes {
    func addOrders(_ table: inout RouteTable) {
        table.add(
            .get, "/v1/devices/{device}/orders",
            "The device's orders from now on, or after Last-Event-ID; with ?wait=30 the next few of them as a document",
            access: .caller,
            parameters: [
                .number("wait", 0...60, "Seconds to wait for an order; without it the answer is a stream"),
                RouteParameter(
                    "after", in: .query, "The `next` of the last answer, where no Last-Event-ID can be sent",
                    ["type": "string", "pattern": "^[0-9]+:[0-9]+$"]),
                .lastEventID,
            ],
            response: OrderList.self, text: .events(example: Example.orderStream),
            problems: .ofDevice() + [.invalidQuery, .beyondRetention, .placeBeyondLog], example: Example.orders
        ) { request, context in
            let id = try context.parameters.identifier("device")
            _ = try await registered(request, context)
            let key = AggregateKey.device(id)
            let after = try await start(request, of: key)
            guard request.uri.queryParameters["wait"] != nil else {
                // The new stream ends the device's former one.
                try context.requireCaller(.operate)
                return try stream(id, after: after, context)
            }
            let wait = try request.query("wait", in: 0...60, default: 30)
            return Response(try await poll(key, after: after, wait: .seconds(wait), context))
        }
        table.add(
            .get, "/v1/fleets/{fleet}/orders",
            "The orders of all devices of a fleet over one connection, of all partitions or of those in ?partitions=0,1",
            access: .caller,
            parameters: [
                RouteParameter(
                    "partitions", in: .query, "Numbers of partitions with commas; all of them without it",
                    ["type": "string", "pattern": "^[0-9]+(,[0-9]+)*$"]),
                .lastEventID,
            ],
            text: .events(example: Example.fleetOrderStream),
            problems: [.invalidHeader, .invalidQuery, .beyondRetention, .placeBeyondLog]
        ) { request, context in
            let fleet = try context.parameters.identifier("fleet")
            try context.requireCaller(.read).requireFleet(fleet)
            let start = try await start(request)
            let members = try await FleetMembers.load(of: fleet, at: start, commands.runtime.states)
            return Response(
                events: FleetOrders(tail, after: start, members: members), on: context, metrics: metrics)
        }
    }

    /// Where the client wants its device's orders resumed: by `Last-Event-ID`, or `?after=` where it can't set headers.
    private func resumePoint(_ request: Request, _ key: AggregateKey) throws(Problem) -> Int? {
        let partition = key.partition(of: tail.partitions)
        if let point = try request.resumePoint() {
            guard let offset = point.offsets[partition] else {
                throw .invalidHeader.because("Last-Event-ID must be of this device's stream.")
            }
            return Int(offset)
        }
        guard let text = request.uri.queryParameters["after"] else { return nil }
        guard let offset = ResumePoint(String(text))?.offsets[partition] else {
            throw .invalidQuery.because("after must be the `next` of a former answer.")
        }
        return Int(offset)
    }

    /// Where a device's orders begin: after the place that the client has, or now.
    private func start(_ request: Request, of key: AggregateKey) async throws -> Int {
        let partition = key.partition(of: tail.partitions)
        guard let after = try resumePoint(request, key) else { return try await tail.heads()[partition, default: 0] }
        try await tail.requireInLog([partition: after])
        return after
    }

    /// Live until another stream of the same device begins.
    private func stream(_ device: String, after: Int, _ context: ServiceContext) throws -> Response {
        let told = tail.events(of: .device(device), after: after).compactMap { Order($0)?.serverSentEvent }
        let replaced = streams.begin(device)
        let steps = merge(told.map(Step.order), replaced.map { Step.end })
        // Declared to throw because its base may; it does not.
        let untilReplaced = try steps.prefix { step in if case .end = step { false } else { true } }
        let events = untilReplaced.compactMap { step in if case .order(let event) = step { event } else { nil } }
        return Response(events: events, on: context, metrics: metrics)
    }

    /// The orders that the log has already; where it has none, the first that comes within the time.
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
                // The rest of the page is for the next answer.
                last = event.offset
                break
            }
        }
        if items.isEmpty, let order = try await context.waiting({ try await first(of: key, after: last, within: wait) })
        {
            items = [order.order]
            last = order.offset
        }
        return OrderList(items: items, next: "\(key.partition(of: tail.partitions)):\(last)")
    }

    /// The first order after an offset; nil where none comes in time, and when the service shuts down.
    private func first(
        of key: AggregateKey, after offset: Int, within wait: Duration
    ) async throws -> (order: Order, offset: Int)? {
        try await withThrowingTaskGroup(of: (order: Order, offset: Int)?.self) { group in
            group.addTask {
                for try await event in tail.events(of: key, after: offset) {
                    if let order = Order(event) { return (order, event.offset) }
                }
                return nil
            }
            group.addTask {
                try? await cancelWhenGracefulShutdown { try await Task.sleep(for: wait) }
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    /// Where a fleet's stream begins, by partition: after `Last-Event-ID`, or now.
    private func start(_ request: Request) async throws -> [Int: Int] {
        let point = try request.resumePoint()
        var start = try await tail.heads()
        if let text = request.uri.queryParameters["partitions"] {
            let asked = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
            guard asked.allSatisfy({ $0.map { start[$0] != nil } ?? false }) else {
                throw Problem.invalidQuery.because("partitions must be numbers from 0 to \(tail.partitions - 1)")
            }
            start = start.filter { asked.contains($0.key) }
        }
        guard let point else { return start }
        let resumed = point.offsets.mapValues { Int($0) }.filter { start[$0.key] != nil }
        try await tail.requireInLog(resumed)
        return start.merging(resumed) { _, resumed in resumed }
    }
}

private enum Step: Sendable {
    case order(ServerSentEvent)
    case end
}

extension Caller {
    /// Lets operators on, and the fleet's own token.
    ///
    /// - Throws: `not_found`: another's fleet is as if it were not there.
    func requireFleet(_ fleet: String) throws(Problem) {
        switch self {
        case .operator: return
        case .fleet(let own): guard own == fleet else { throw .notFound }
        case .device: throw .notFound
        }
    }
}
