import Contracts
import EventLog
import Foundation
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import NIOCore
import OrderedCollections
import Postgres
import Records
import Reports
import Timeline

/// Reports of time ranges: what became of pushes, and what the devices and apps did.
struct ReportRoutes: Sendable {
    /// The most events of a range. Reading them takes about ten seconds.
    static let mostEvents = 5_000_000

    let store: OpsStore
    let queries: LogQueries

    func add(to table: inout RouteTable) {
        table.add(
            .get, "/v1/reports",
            "Returns a report of a time range: pushes with reasons, wakes, refreshes, transfers and states of apps",
            .scope(.read), .parameters(ReportQuery.parameters), .answers(Report.self),
            .text(TextContent("text/csv", example: Report().pushesCSV)), .bytes("text/html"),
            .refuses([.invalidQuery, .notAcceptable] + Problem.ofLog), .unknownQuery(.refusedByHandler)
        ) { call in
            let query = try ReportQuery(call, now: try await asking { try await store.now() })
            return try Self.response(try await asking { try await report(query) }, query.form)
        }
    }

    private static func response(_ report: Report, _ form: ReportForm) throws -> Response {
        var headers: HTTPFields = [.cacheControl: "no-store"]
        let body: [UInt8]
        switch form {
        case .json:
            headers[.contentType] = form.rawValue
            body = report.jsonBytes
        case .html:
            headers[.contentType] = "text/html; charset=utf-8"
            headers[.contentSecurityPolicy] = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
            body = Array(try ReportPage().html(report).utf8)
        case .csv:
            headers[.contentType] = "text/csv; charset=utf-8; header=present"
            body = Array(report.pushesCSV.utf8)
        }
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: body)))
    }

    func report(_ query: ReportQuery) async throws -> Report {
        // Zero counted: other processes are counting the rest.
        while case let (counted, left) = try await store.countEvents(), counted > 0, left > 0 {
            try Task.checkCancellation()
        }
        let spans = try await store.spans(from: query.from, until: query.to)
        let events = spans.reduce(0) { $0 + $1.high - $1.low }
        guard events <= Self.mostEvents else {
            throw Problem.query([
                FieldError(
                    pointer: "/from",
                    detail: "gives a range of about \(events) events; the maximum is \(Self.mostEvents). "
                        + "Choose a shorter range")
            ])
        }
        let devices = try await store.devices(ofFleet: query.fleet, registeredBefore: query.to)
        let apps = try await store.apps(ofFleet: query.fleet, at: query.from, partitions: queries.partitions)
        var zones: [String: TimeZone] = [:]
        var known: [String: TimeZone?] = [:]
        for case (let key, let name?) in devices {
            let zone = known[name] ?? TimeZone(identifier: name)
            known[name] = .some(zone)
            zones[key] = zone
        }
        var figures = LogFigures(
            from: query.from, until: query.to, states: apps.compactMapValues { $0 }, zones: zones)
        for span in spans {
            try await store.add(span, from: query.from, until: query.to, fleet: query.fleet, to: &figures)
            try Task.checkCancellation()
        }
        let networks = try await store.networks(
            of: figures.bytesOfUnknownNetwork.keys.sorted(), at: query.from, partitions: queries.partitions)
        figures.finish(networks: networks)
        let pushes = try await store.pushes(query)

        var report = Report()
        report.begin = query.from
        report.origin = .log
        report.until = query.to
        report.add(Self.commonZone(devices.map(\.value)), known)
        report.devices = devices.count
        report.lateAfter = query.lateAfter
        report.name = query.fleet.map { "Fleet \($0)" } ?? "All devices"
        let names = Set(apps.keys.map(\.app)).union(figures.apps.keys).union(pushes.apps.keys).subtracting([""])
            .sorted()
        report.apps = names.map { (figures.apps[$0] ?? AppFigures()).document(of: $0, pushes: pushes.apps[$0] ?? []) }
        report.add(figures)
        report.pushes = try await pushes.worst.asyncMap { try await history(of: $0) }
        return report
    }

    /// Returns the time zone of most devices. A device without one has UTC.
    private static func commonZone(_ names: [String?]) -> String {
        var counts: [String: Int] = [:]
        for name in names { counts[name ?? "UTC", default: 0] += 1 }
        return counts.min { (-$0.value, $0.key) < (-$1.value, $1.key) }?.key ?? "UTC"
    }

    /// Returns the history of a notification with the events that led to its outcome.
    private func history(of push: OpsStore.WorstPush) async throws -> PushHistory {
        var history = push.history
        guard let last = try await queries.event(id: push.event) else { return history }
        let reasons = PushReasons(queries: queries, store: store)
        for event in try await store.steps(of: push, upTo: last.offset) {
            // A newer program may have written an event that this one can't read.
            guard let known = try? PushEvent(type: event.type, version: event.version, data: event.data),
                let status = known.status
            else { continue }
            var cause: Event?
            if let id = event.causation { cause = try await queries.event(id: id) }
            history.steps.append(
                PushStep(
                    at: event.time, status, cause: cause?.source == PushEvent.source ? nil : cause,
                    try await reasons.explanations(of: event, known).map { PushStepReason($0.kind, $0.event) }))
        }
        return history
    }
}

extension Report {
    fileprivate mutating func add(_ name: String, _ zones: [String: TimeZone?]) {
        let zone = zones[name] ?? nil
        timeZone = zone == nil ? "UTC" : name
        offsets = [ReportOffset](from: begin, until: until) { instant in
            let date = Date(timeIntervalSince1970: Double(instant.milliseconds) / 1000)
            return .seconds(Int64(zone?.secondsFromGMT(for: date) ?? 0))
        }
    }

    fileprivate mutating func add(_ figures: LogFigures) {
        bytes = OrderedDictionary(sorting: figures.bytes)
        events = figures.events
        openingsByHour = figures.openings
        refreshAndTaskMillijoules = figures.energy
        refreshesByHour = figures.refreshes
        states = figures.states.history
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
