import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import Machines
import OrderedCollections
import PushMachine
import Records
import ServiceKit
import Timeline

/// The routes of devices and their apps.
struct DeviceRoutes: Sendable {
    let commands: Commands<PushMachine>
    let stream: NotificationStream
    let store: PushStore
    let clock: any SuiteClock
    let policy: PushPolicy

    func add(to table: inout RouteTable) {
        addApps(&table)
        addDevices(&table)
    }

    private func addApps(_ table: inout RouteTable) {
        let app = "/v1/devices/{device}/apps/{app}"
        table.add(
            .put, app + "/registration", "Registers an app and returns its device token",
            request: RegistrationDocument.self,
            response: TokenDocument.self,
            problems: refusals(.deviceNotRegistered, .appNotInstalled("…")) + [.unknownChannel]
        ) { request, context in
            let app = try context.parameters.identifier("app")
            let document = try await request.document(as: RegistrationDocument.self)
            try await prepare(document, app, request, context)
            let command = PushCommand.register(app: app, document.environment, channels: document.channels)
            return try await commands.submit(command, to: key(context), request, context) { aggregate, _ in
                aggregate.state.apps[app]?.registration.map { TokenDocument($0).jsonBytes } ?? []
            }
        }
        table.add(
            .delete, app + "/registration", "Invalidates the device token of an app", status: .noContent,
            problems: refusals(.deviceNotRegistered, .appNotInstalled("…"), .notRegistered("…"))
        ) { request, context in
            let app = try context.parameters.identifier("app")
            return try await commands.submit(
                .unregister(app: app), to: key(context), request, context, status: .noContent
            ) { _, _ in [] }
        }
        table.add(
            .get, app + "/explain", "Explains an app's budget and power state, and forecasts a push of each type",
            response: Explanation.self, problems: refusals(.deviceNotRegistered, .appNotInstalled("…"))
        ) { request, context in
            let app = try context.parameters.identifier("app")
            let found = try await device(request, context)
            guard let record = found.aggregate.state.apps[app] else { throw PushRefusal.appNotInstalled(app).problem }
            let explanation = Explanation(app, record, found.aggregate, at: max(clock.now, found.aggregate.now), policy)
            // No ETag: the explanation changes with time alone.
            return Response(explanation)
        }
    }

    private func addDevices(_ table: inout RouteTable) {
        let device = "/v1/devices/{device}"
        table.add(
            .get, device + "/notifications",
            "Connects the device by a stream of server-sent events, or polls with `wait`",
            parameters: [.number("wait", 0...60, "Polls instead: one answer within this number of seconds")],
            response: NotificationList.self, text: .events(example: NotificationStream.example),
            problems: refusals(.deviceNotRegistered, .deviceOff, .noNetwork) + [.invalidQuery]
        ) { request, context in
            // The stream connects the device, so an operator's key needs the scope `operate`.
            try context.requireCaller(.operate)
            let found = try await self.device(request, context)
            let key = try key(context)
            guard request.uri.queryParameters["wait"] != nil else {
                return try stream.open(key, found.aggregate.state, after: found.version, request, context)
            }
            let wait = try request.query("wait", in: 0...60, default: 30)
            return Response(
                try await stream.poll(key, after: found.version, wait: .seconds(Int64(wait)), context))
        }
        table.add(
            .post, device + "/notifications/{notification}/ack", "Acknowledges a notification", status: .noContent,
            problems: refusals(.deviceNotRegistered)
        ) { request, context in
            let id = try context.parameters.identifier("notification")
            return try await commands.submit(
                .acknowledge(notification: id), to: key(context), request, context, status: .noContent
            ) { _, _ in [] }
        }
        table.add(
            .post, device + "/keep-alive", "Sends a heartbeat and returns the notifications that it released",
            response: NotificationList.self, problems: refusals(.deviceNotRegistered, .notConnected)
        ) { request, context in
            try await commands.submit(.keepAlive, to: key(context), request, context) { aggregate, events in
                var list = NotificationList()
                for case .notificationDelivered(let event) in events {
                    list.items.append(NotificationDocument(event, at: aggregate.now))
                }
                return list.jsonBytes
            }
        }
        table.add(
            .put, device + "/throttle", "Switches the silent budget on or off", request: ThrottleDocument.self,
            response: ThrottleDocument.self, problems: refusals(.deviceNotRegistered)
        ) { request, context in
            let document = try await request.document(as: ThrottleDocument.self)
            return try await commands.submit(.setThrottle(document.enabled), to: key(context), request, context) {
                aggregate, _ in
                var answer = ThrottleDocument()
                answer.enabled = aggregate.state.isThrottled
                return answer.jsonBytes
            }
        }
        table.add(
            .get, "/v1/notifications/{notification}",
            "The timeline of a notification, by `apns-unique-id` or `apns-id`",
            response: TimelineDocument.self, problems: [.invalidHeader, .behind, .positionBeyondLog]
        ) { request, context in
            let id = try context.parameters.identifier("notification")
            var own: AggregateKey?
            if case .device(let device, _) = try context.requireCaller() { own = .device(device) }
            guard let timeline = try await store.timeline(id, of: own) else { throw Problem.notFound }
            // Answers 404 for a notification that the caller may not read.
            _ = try await commands.read(timeline.key, request, context)
            return Response(timeline.document, etag: timeline.etag)
        }
    }

    /// Subscribes the device before the registration, so that a broadcast right after it reaches the device.
    private func prepare(
        _ document: RegistrationDocument, _ app: String, _ request: Request, _ context: ServiceContext
    ) async throws {
        guard let wanted = document.channels, !wanted.isEmpty else { return }
        try context.requireCaller(.operate)
        let isKnown = try await device(request, context) { $0.apps[app] != nil }.aggregate.state.apps[app] != nil
        guard isKnown else { throw PushRefusal.appNotInstalled(app).problem }
        let unknown = try await store.unknown(of: wanted, app, document.environment)
        guard unknown.isEmpty else {
            let names = unknown.sorted().joined(separator: ", ")
            throw Problem.unknownChannel.with(
                detail: "The app does not have these channels in this environment: \(names)")
        }
        try await store.subscribe(key(context), app, to: wanted)
    }

    private func key(_ context: ServiceContext) throws -> AggregateKey {
        .device(try context.parameters.identifier("device"))
    }

    /// Returns a registered device that the caller may read.
    private func device(
        _ request: Request, _ context: ServiceContext, suffices: @Sendable (PushMachine) -> Bool = { $0.isKnown }
    ) async throws -> (aggregate: Aggregate<PushMachine>, version: Int) {
        let found = try await commands.read(key(context), request, context, suffices: suffices)
        guard let found, found.aggregate.state.isKnown else { throw PushRefusal.deviceNotRegistered.problem }
        return found
    }

    private func refusals(_ refusals: PushRefusal...) -> [Problem] { refusals.map(\.problem) }
}

extension Problem {
    /// A channel that the app does not have in the environment of the registration.
    static let unknownChannel = Problem(.unprocessableContent, "unknown_channel", "Channel does not exist")
}
