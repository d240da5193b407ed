import Contracts
import EventLog
import Foundation
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import Records
import Telemetry
import Timeline

/// The event log over HTTP: pages, the live stream, single events with their causes, and the timeline of a device.
struct EventRoutes: Sendable {
    /// The maximum number of events that a causal chain reads of one correlation.
    static let chainLimit = 2000

    let queries: LogQueries
    let store: OpsStore
    let tail: LogTail
    let metrics: Metrics

    func add(to table: inout RouteTable) {
        table.add(
            .get, "/v1/events", "Lists events of all services", .scope(.read),
            .parameters(EventQuery.filters + EventQuery.paging),
            .refuses([.invalidQuery, .beyondRetention, .positionBeyondLog, .notFound, .notAcceptable] + Problem.ofLog),
            .unknownQuery(.refusedByHandler)
        ) { call in
            let query = try EventQuery(call)
            let form = try EventForm(call.request)
            let page = try await page(query)
            return form.response(page, query, call, searchedTo: try await searchedTo(page, query))
        }
        table.add(
            .get, "/v1/events/stream", "Streams new events as server-sent events, after Last-Event-ID if present",
            .scope(.read), .parameters(EventQuery.filters + [.lastEventID]),
            .refuses([.invalidQuery, .invalidHeader, .beyondRetention, .positionBeyondLog] + Problem.ofLog),
            .unknownQuery(.refusedByHandler)
        ) { try await stream($0) }
        table.add(
            .get, "/v1/events/{id}", "Returns an event by its id, or by its position partition:offset", .scope(.read),
            .refuses([.earlierIncarnation] + Problem.ofLog)
        ) { call in Response(json: try await event(call).cloudEvent) }
        table.add(
            .get, "/v1/events/{id}/causes",
            "Lists the causes and the effects of an event, over all services, and why a notification waited or ended",
            .scope(.read), .refuses([.earlierIncarnation] + Problem.ofLog)
        ) { call in
            let event = try await event(call)
            let reasons = PushReasons(queries: queries, store: store)
            return try await asking {
                let chain = try await queries.chain(of: event, limit: Self.chainLimit)
                return Response(json: chain.document(try await reasons.reasons(of: event)))
            }
        }
        table.add(
            .get, "/v1/devices/{device}/timeline", "Lists the events of a device, with the summary of each event type",
            .scope(.read), .parameters(EventQuery.ofDevice),
            .refuses([.invalidQuery, .beyondRetention, .positionBeyondLog] + Problem.ofLog),
            .unknownQuery(.refusedByHandler)
        ) { call in
            let query = try EventQuery(call, device: call.identifier("device"))
            let page = try await page(query)
            let entries = page.events.map { TimelineEntry($0, call.context.incarnation) }
            return Reply(Page(entries, next: query.next(page, call)))
        }
    }

    private func stream(_ call: Call) async throws -> Response {
        let query = try EventQuery(call)
        let position = try call.request.encodedPosition()?.position
        let start: PositionVector
        do { start = try await asking { try await queries.start(of: query.filter, after: position) } } catch let
            problem as Problem where problem.code == Problem.invalidQuery.code
        {
            throw Problem.invalidHeader.with(detail: "Last-Event-ID is not a position of this log")
        }
        // After the start, so that the stream sees every device that joins later.
        let devices: FleetDevices? =
            if let fleet = query.fleet { try await asking { try await store.currentDevices(of: fleet) } } else { nil }
        let feed = EventFeed(tail: tail, filter: query.filter, devices: devices, start: start)
        return Response(events: feed, on: call.context, metrics: metrics)
    }

    /// - Throws: `not_found` if the log has no event of the device.
    private func page(_ query: EventQuery) async throws -> EventPage {
        try await asking {
            if query.fleet != nil { try await store.countAllEvents() }
            let page = try await queries.page(query.filter, query.order, from: query.cursor, limit: query.limit)
            // A client with a cursor has read a page before, so the device exists.
            guard page.events.isEmpty, query.cursor == nil, let key = query.filter.key else { return page }
            guard try await queries.knows(key) else {
                throw Problem.notFound.with(detail: "the log has no event of device \(key.device ?? key.description)")
            }
            return page
        }
    }

    /// Returns the suite time up to which the pages so far have searched a text; nil without a text or a next page.
    private func searchedTo(_ page: EventPage, _ query: EventQuery) async throws -> Instant? {
        guard query.filter.text != nil, !page.isComplete else { return nil }
        return try await asking { try await queries.searched(to: page.next, query.order) }
    }

    /// - Throws: `not_found` if the log does not have the event; `earlier_incarnation`.
    private func event(_ call: Call) async throws -> Event {
        let id = try call.identifier("id")
        let found = try await asking { () -> Event? in
            if let id = UUID(uuidString: id) { return try await queries.event(id: id) }
            guard let plain = try call.context.incarnation.position(id), let position = plain.first else { return nil }
            return try await queries.event(partition: position.key, offset: position.value)
        }
        guard let found else { throw Problem.notFound.with(detail: "the log has no event with this id or position") }
        return found
    }
}

extension CausalChain {
    /// `{"causes":[…],"complete":true,"effects":[…],"event":…,"reasons":[…]}`
    fileprivate func document(_ reasons: [PushReason]) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("causes") { $0.array(causes) { $0.append(raw: $1.cloudEvent) } }
            json.member("complete") { $0.append(raw: (isComplete ? "true" : "false").utf8) }
            json.member("effects") { $0.array(effects) { $0.append(raw: $1.cloudEvent) } }
            json.member("event") { $0.append(raw: event.cloudEvent) }
            json.member("reasons") { $0.array(reasons) { $0.append(raw: $1.jsonBytes) } }
        }
        return json.bytes
    }
}
