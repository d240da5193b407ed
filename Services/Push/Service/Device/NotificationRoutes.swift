import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import Machines
import OrderedCollections
import PushCore
import Records
import ServiceKit

/// The routes that open notifications and list their history.
struct NotificationRoutes: Sendable {
    let commands: Commands<PushMachine>
    let store: PushStore

    func add(to table: inout RouteTable) {
        table.add(
            .post, "/v1/devices/{device}/notifications/{notification}/presentation",
            "Returns the options of `willPresent` of an app on screen, and acknowledges the notification",
            body: PresentationDocument.self,
            .refuses(
                [
                    PushRefusal.deviceNotRegistered, .notificationNotOffered("…"), .appNotRunning(.suspended),
                    .extensionRunning("…"),
                    .unsupported(.userNotificationCenter, on: Generations.standard[.ios9]),
                ].map(\.problem))
        ) { document, call in
            let id = try call.identifier("notification")
            return try await commands.submit(.present(notification: id, options: document.options), call)
        }
        table.add(
            .post, "/v1/devices/{device}/notifications/{notification}/content",
            "Returns the content that the service extension of an app made of a notification",
            body: NotificationContent.self,
            .refuses(
                [
                    PushRefusal.deviceNotRegistered, .extensionNotRunning("…"),
                    .unsupported(.notificationServiceExtension, on: Generations.standard[.ios9]),
                ].map(\.problem))
        ) { content, call in
            let id = try call.identifier("notification")
            return try await commands.submit(.modify(notification: id, content), call) { ModificationDocument($1) }
        }
        table.add(
            .post, "/v1/devices/{device}/notifications/{notification}/opened",
            "Opens a notification that the device shows and brings its app to the foreground",
            .refuses([PushRefusal.deviceNotRegistered, .deviceOff, .notificationNotShown("…")].map(\.problem))
        ) { call in
            let id = try call.identifier("notification")
            return try await commands.submit(.open(notification: id), call)
        }
        addResponses(&table)
        table.add(
            .get, "/v1/devices/{device}/apps/{app}/notifications",
            "The notifications of an app, newest first, each with its latest status",
            .parameters(
                RouteParameter(
                    "status", in: .query, "Only notifications with this latest status", ConsoleStatus.schema),
                .number("limit", 1...200, "The largest number of notifications; 50 by default"),
                .cursor),
            .refuses([PushRefusal.deviceNotRegistered.problem, .invalidQuery])
        ) { call in
            let (limit, cursor) = try call.page()
            let status = try call.request.query("status", of: ConsoleStatus.self)
            let app = try call.app
            _ = try await commands.device(call) { _ in true }
            // An uninstalled app still has a history.
            let page = try await store.notifications(
                of: call.device, app: app, status: status, before: cursor, limit: limit)
            return Reply(call.marked(page))
        }
    }
}

// Categories, and the user's responses.
extension NotificationRoutes {
    private func addResponses(_ table: inout RouteTable) {
        table.add(
            .post, "/v1/devices/{device}/notifications/{notification}/response",
            "Responds to a notification that the device shows, as its user: opens it, chooses an action, or dismisses it",
            body: NotificationResponse.self,
            .refuses(
                [
                    PushRefusal.deviceNotRegistered, .deviceOff, .notificationNotShown("…"), .actionUnknown("…"),
                    .deviceLocked("…"), .textMissing("…"), .textUnexpected("…"),
                    .unsupported(.notificationActions, on: Generations.standard[.ios7]),
                ].map(\.problem))
        ) { response, call in
            let id = try call.identifier("notification")
            return try await commands.submit(.respond(notification: id, response), call)
        }
        let path = "/v1/devices/{device}/apps/{app}/notification-categories"
        table.add(
            .put, path, "Sets all notification categories of a running app", body: CategoriesDocument.self,
            .refuses(
                [
                    PushRefusal.deviceNotRegistered, .appNotInstalled("…"), .appNotRunning(.suspended),
                    .noRoomForCategories, .unsupported(.notificationActions, on: Generations.standard[.ios7]),
                ].map(\.problem))
        ) { document, call in
            let app = try call.app
            let command = PushCommand.setCategories(app: app, document.categories)
            return try await commands.submit(command, call) { aggregate, _ in
                CategoriesDocument(categories: aggregate.state.apps[app]?.categories ?? [])
            }
        }
        table.add(
            .get, path, "The notification categories of an app",
            .refuses([PushRefusal.deviceNotRegistered, .appNotInstalled("…")].map(\.problem))
        ) { call in
            let app = try call.app
            let device = try await commands.device(call) { $0.apps[app] != nil }
            guard let record = device.aggregate.state.apps[app] else { throw PushRefusal.appNotInstalled(app).problem }
            return Reply(CategoriesDocument(categories: record.categories))
        }
    }
}

extension Request {
    /// Returns a query parameter; nil if it is absent.
    ///
    /// - Throws: `invalid_query` with the allowed values.
    func query<W: WireEnum>(_ name: String, of type: W.Type) throws(Problem) -> W? {
        guard let text = uri.queryParameters[name[...]] else { return nil }
        guard let word = W(rawValue: String(text)) else {
            let words = W.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalidQuery.with(detail: "\(name) must be one of: \(words)")
        }
        return word
    }
}
