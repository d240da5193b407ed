import Contracts
import EventLog
import Foundation
import HTTPKit
import Hummingbird
import Records
import Timeline

/// The query of a request to the feed. It reports all invalid parameters, not only the first.
struct EventQuery {
    static let filters = ["type", "service", "device", "app", "since", "until", "cause"]
    static let paging = ["order", "limit", "cursor"]

    static let ofDevice = filters.filter { $0 != "device" } + paging

    private(set) var filter = EventFilter()
    private(set) var order = EventOrder.newest
    private(set) var limit = 100
    private(set) var cursor: PositionVector?
    private var faults: [FieldError] = []

    /// - Parameters:
    ///   - names: the parameters of the route.
    ///   - device: the device in the path.
    /// - Throws: `invalid_query` with each invalid parameter.
    init(_ request: Request, _ names: [String], device: String? = nil) throws(Problem) {
        var cursorText: String?
        var seen: Set<String> = []
        for (key, value) in request.uri.queryParameters {
            let (name, text) = (String(key), String(value))
            if !names.contains(name) {
                refuse(name, "is not a parameter of this route; the parameters are \(names.joined(separator: ", "))")
            } else if !seen.insert(name).inserted {
                refuse(name, "must not be repeated")
            } else if name == "cursor" {
                cursorText = text
            } else {
                read(name, text)
            }
        }
        if let device { filter.key = .device(device) }
        if let since = filter.since, let until = filter.until, since >= until { refuse("until", "must be after since") }
        if let cursorText {
            cursor = PositionCursor(cursorText, order)?.position
            if cursor == nil { refuse("cursor", "must be the next of a page in the same order") }
        }
        guard faults.isEmpty else {
            throw .query(faults)
        }
    }

    /// The parameters for the API description.
    static func described(_ names: [String]) -> [RouteParameter] {
        names.map { name in
            switch name {
            case "type": .text(name, "Only events of these types, separated by commas")
            case "service": .text(name, "Only events of these services, separated by commas")
            case "device", "app": .text(name, "Only events of this \(name)")
            case "since": .moment(name, "Only events at or after this time")
            case "until": .moment(name, "Only events before this time")
            case "cause": .text(name, "Only events with this correlation id")
            case "order": .text(name, "`oldest` or `newest` first; newest by default")
            case "limit": .number(name, 1...1000, "The maximum number of events; 100 by default")
            default: .text(name, "The `next` of the previous page")
            }
        }
    }

    private mutating func refuse(_ name: String, _ detail: String) {
        // The response must not echo arbitrary text of the request.
        faults.append(FieldError(pointer: isIdentifier(name) ? "/\(name)" : "", detail: detail))
    }

    private mutating func read(_ name: String, _ text: String) {
        switch name {
        case "type": filter.types = words(name, text, KnownNames.fault(ofTypes:))
        case "service": filter.services = words(name, text, KnownNames.fault(ofServices:))
        case "device": filter.key = identifier(name, text).map { .device($0) }
        case "app": filter.app = identifier(name, text)
        case "since": filter.since = instant(name, text)
        case "until": filter.until = instant(name, text)
        case "cause":
            filter.correlation = UUID(uuidString: text)
            if filter.correlation == nil { refuse(name, "must be a correlation id: a UUID") }
        case "order":
            if let order = EventOrder(rawValue: text) {
                self.order = order
            } else {
                refuse(name, "must be oldest or newest")
            }
        case "limit":
            if let limit = Int(text), (1...1000).contains(limit) {
                self.limit = limit
            } else {
                refuse(name, "must be from 1 to 1000")
            }
        default: break
        }
    }

    /// Reads a list separated by commas.
    private mutating func words(_ name: String, _ text: String, _ fault: ([String]) -> String?) -> [String] {
        let words = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard words.count <= 50, words.allSatisfy(isIdentifier) else {
            refuse(name, "must be 1 to 50 identifiers, separated by commas")
            return []
        }
        if let fault = fault(words) { refuse(name, fault) }
        return words
    }

    private mutating func identifier(_ name: String, _ text: String) -> String? {
        guard isIdentifier(text) else {
            refuse(name, "must be an identifier: 1 to 128 of A-Z a-z 0-9 . _ : -")
            return nil
        }
        return text
    }

    private mutating func instant(_ name: String, _ text: String) -> Instant? {
        guard let instant = Instant(text) else {
            refuse(name, "must be a date and time by RFC 3339, for example 2026-11-21T07:40:00.000Z")
            return nil
        }
        return instant
    }
}
