import Contracts
import EventLog
import Foundation
import HTTPKit
import Hummingbird
import Records
import Timeline

/// The query of a request to the feed. It reports all invalid parameters, not only the first.
struct EventQuery {
    static let filters: [RouteParameter] = [
        .text("type", "Only events of these types, separated by commas"),
        .text("service", "Only events of these services, separated by commas"),
        .text("fleet", "Only events of the devices that are or were in this fleet"),
        .text("device", "Only events of this device"), .text("app", "Only events of this app"),
        .moment("since", "Only events at or after this time"), .moment("until", "Only events before this time"),
        .text("cause", "Only events with this correlation id"),
    ]
    static let paging: [RouteParameter] = [
        .text(
            "label",
            "Only events with this label: the reason of a wake, a refusal or an end, the status of a notification, the "
                + "error of a transfer. A `*` at the end matches any rest"),
        .text(
            "text",
            "Only events whose type, subject or data contains this text of 1 to 200 characters. The case of letters does "
                + "not matter. A page has the events that were found in a short time; `next` continues the search"),
        .text("order", "`oldest` or `newest` first; newest by default"),
        .number("limit", 1...1000, "The maximum number of events; 100 by default"),
        .cursor,
        .text("after", "Instead of a cursor: the `Dormouse-Position` of an earlier page, with the oldest first"),
    ]
    /// The timeline of a device does not tell positions.
    static let ofDevice =
        filters.filter { !["device", "fleet"].contains($0.name) } + paging.filter { $0.name != "after" }

    let filter: EventFilter
    let fleet: String?
    let order: EventOrder
    let limit: Int
    let cursor: PositionVector?

    /// - Parameter device: the device in the path.
    /// - Throws: `invalid_query` with each invalid parameter; `earlier_incarnation`.
    init(_ call: Call, device: String? = nil) throws(Problem) {
        var query = QueryReader(call)
        query.refuseRepeats()
        var filter = EventFilter()
        filter.types = query.words("type", KnownNames.fault(ofTypes:))
        filter.services = query.words("service", KnownNames.fault(ofServices:))
        filter.key = (device ?? query.identifier("device")).map { .device($0) }
        filter.app = query.identifier("app")
        fleet = query.identifier("fleet")
        filter.members = fleet.map { OpsStore.devices(of: $0) }
        filter.since = query.instant("since")
        filter.until = query.instant("until")
        filter.correlation = query.value("cause", "must be a correlation id: a UUID") { UUID(uuidString: $0) }
        filter.property = query.label()
        filter.text = query.printable("text", 1...200)
        if let since = filter.since, let until = filter.until, since >= until {
            query.refuse("until", "must be after since")
        }
        let order = query.value("order", "must be oldest or newest") { EventOrder(rawValue: $0) } ?? .newest
        limit = query.number("limit") ?? 100
        let next = query.value("cursor", "must be the next of a page in the same order") {
            PositionCursor(LogIncarnation.plain($0), order)?.position
        }
        let after = query.value("after", "must be the Dormouse-Position of a page, with order=oldest") {
            order == .oldest ? EncodedPosition(LogIncarnation.plain($0))?.position : nil
        }
        if next != nil, after != nil { query.refuse("after", "must not be sent with a cursor") }
        cursor = next ?? after
        (self.filter, self.order) = (filter, order)
        try query.finish()
        try query.refuseEarlierIncarnations(in: ["cursor", "after"], call)
    }

    /// Returns the cursor of the page after a page; nil after the last one.
    func next(_ page: EventPage, _ call: Call) -> String? {
        guard !page.isComplete else { return nil }
        return call.context.incarnation.marked(PositionCursor(position: page.next, order: order).text)
    }
}

extension QueryReader {
    /// Refuses parameters whose place in the log is of an earlier incarnation.
    ///
    /// - Throws: `earlier_incarnation`.
    func refuseEarlierIncarnations(in names: [String], _ call: Call) throws(Problem) {
        for place in names.compactMap(text) { _ = try call.context.incarnation.unmarked(place) }
    }
    /// Reads a list separated by commas.
    fileprivate mutating func words(_ name: String, _ fault: ([String]) -> String?) -> [String] {
        let words = value(name, "must be 1 to 50 identifiers, separated by commas") { text in
            let words = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            return words.count <= 50 && words.allSatisfy(isIdentifier) ? words : nil
        }
        if let fault = words.flatMap(fault) { refuse(name, fault) }
        return words ?? []
    }

    /// Reads the label by which events of a type are counted separately.
    fileprivate mutating func label() -> EventProperty? {
        guard let text = printable("label", 1...128) else { return nil }
        guard text.hasSuffix("*") else { return EventProperty(text, condition: "ops.label(e.type, e.data) = ? ") }
        return EventProperty(String(text.dropLast()), condition: "starts_with(ops.label(e.type, e.data), ? )")
    }

    /// Reads a text. PostgreSQL has no character NUL, so control characters are refused.
    fileprivate mutating func printable(_ name: String, _ lengths: ClosedRange<Int>) -> String? {
        value(name, "must be \(lengths.lowerBound) to \(lengths.upperBound) printable characters") { text in
            lengths.contains(text.unicodeScalars.count)
                && text.unicodeScalars.allSatisfy({ $0.properties.isPrintable }) ? text : nil
        }
    }

    mutating func instant(_ name: String) -> Instant? {
        value(name, "must be a date and time by RFC 3339, for example 2026-11-21T07:40:00.000Z") { Instant($0) }
    }
}

extension Unicode.Scalar.Properties {
    fileprivate var isPrintable: Bool {
        switch generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
