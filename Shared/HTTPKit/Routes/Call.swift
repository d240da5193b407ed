public import Contracts
import EventLog
public import Hummingbird
public import Records

/// A request to a route, with its context and the identifiers of its path.
public struct Call: Sendable {
    public let route: Route
    public let request: Request
    public let context: ServiceContext

    /// The device in the path. It throws `invalid_identifier`.
    public var device: AggregateKey { get throws(Problem) { .device(try identifier("device")) } }
    /// The app in the path. It throws `invalid_identifier`.
    public var app: String { get throws(Problem) { try identifier("app") } }

    /// Returns an identifier of the path.
    ///
    /// - Throws: `invalid_identifier`.
    public func identifier(_ name: String) throws(Problem) -> String { try context.parameters.identifier(name) }

    /// Reads the body as a record. Unknown members are faults.
    ///
    /// - Throws: ``Problem``: `unsupported_media_type`, `body_too_large`, `malformed_json`, `invalid_document`, `busy`,
    ///   `too_many_in_flight`.
    public func document<R: Record>() async throws -> R { try await context.receiving { try await request.document() } }

    /// Returns a whole number of the query. The route has its range.
    ///
    /// - Throws: `invalid_query` if it is not a number or out of range.
    public func number(_ name: String, default standard: Int) throws(Problem) -> Int {
        guard let text = request.uri.queryParameters[name[...]] else { return standard }
        let range = route.range(of: name)
        guard let number = Int(text), range.contains(number) else {
            throw .invalidQuery.with(detail: "\(name) must be from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Reads `limit` and `cursor`.
    ///
    /// - Returns: the most items, and the offset before which the page begins.
    /// - Throws: `invalid_query`; `earlier_incarnation`.
    public func page(default limit: Int = 50) throws(Problem) -> (limit: Int, cursor: Int) {
        let limit = try number("limit", default: limit)
        guard let text = request.uri.queryParameters["cursor"] else { return (limit, .max) }
        guard let cursor = Int(LogIncarnation.plain(String(text))), cursor > 0 else {
            throw .invalidQuery.with(detail: "cursor must be the next of a page")
        }
        _ = try context.incarnation.unmarked(String(text))
        return (limit, cursor)
    }

    /// Returns a page of the log whose `next` names the incarnation.
    public func marked<Item>(_ page: Page<Item>) -> Page<Item> {
        Page(page.items, next: page.next.map(context.incarnation.marked))
    }
}
