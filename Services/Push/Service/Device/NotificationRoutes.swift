import Contracts
import HTTPTypes
import Hummingbird
import Machines
import PushMachine
import Records
import ServiceKit

/// What becomes of notifications on their device, and what became of them.
struct NotificationRoutes: Sendable {
    let commands: Commands<PushMachine>
    let history: NotificationHistory

    func add(to table: inout RouteTable) {
        table.add(
            .post, "/v1/devices/{device}/notifications/{notification}/opened",
            "The user opened a notification that the device shows: its app comes on screen", status: .noContent,
            problems: [PushRefusal.deviceNotRegistered, .deviceOff, .notificationNotShown("…")].map(\.problem)
        ) { request, context in
            let id = try context.parameters.identifier("notification")
            return try await commands.submit(
                .open(notification: id), to: key(context), request, context, status: .noContent
            ) { _, _ in [] }
        }
        table.add(
            .get, "/v1/devices/{device}/apps/{app}/notifications",
            "The notifications of an app, newest first, each with the last word on it",
            parameters: [
                RouteParameter("status", in: .query, "Only those whose last word it is", ConsoleStatus.schema),
                .number("limit", 1...200, "At most so many; 50 where it is missing"),
                .number("cursor", 1...Int.max, "The `next` of the former answer: what comes after it"),
            ],
            response: NotificationPage.self, problems: [PushRefusal.deviceNotRegistered.problem, .invalidQuery]
        ) { request, context in
            let limit = try request.query("limit", in: 1...200, default: 50)
            let cursor = try request.query("cursor", in: 1...Int.max, default: .max)
            let status = try request.query("status", of: ConsoleStatus.self)
            let app = try context.parameters.identifier("app")
            let key = try key(context)
            guard let found = try await commands.read(key, request, context), found.aggregate.state.isKnown else {
                throw PushRefusal.deviceNotRegistered.problem
            }
            // What is uninstalled has a history, too.
            return Response(
                try await history.page(key, app: app, status: status, before: cursor, limit: limit))
        }
    }

    private func key(_ context: ServiceContext) throws -> AggregateKey {
        .device(try context.parameters.identifier("device"))
    }
}

extension Request {
    /// A word of the query; nil where it is missing.
    ///
    /// - Throws: `invalid_query`, with the words that there are.
    func query<W: Word>(_ name: String, of type: W.Type) throws(Problem) -> W? {
        guard let text = uri.queryParameters[name[...]] else { return nil }
        guard let word = W(rawValue: String(text)) else {
            let words = W.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalidQuery.because("\(name) must be one of: \(words)")
        }
        return word
    }
}
