import Contracts
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import Machines
import OrderedCollections
import PushCore
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
        addLiveActivities(&table)
        addDevices(&table)
    }

    private func addApps(_ table: inout RouteTable) {
        let path = "/v1/devices/{device}/apps/{app}"
        table.add(
            .put, path + "/registration", "Registers a running app and returns its device token of a kind",
            body: RegistrationDocument.self,
            .refuses(
                refusals(
                    .deviceNotRegistered, .appNotInstalled("…"), .appNotRunning(.suspended), .activityMissing,
                    .activityUnexpected(.voip), .channelsUnexpected(.voip), .activityNotRunning("…"),
                    .unsupported(.liveActivities, on: Generations.standard[.ios15])) + [.unknownChannel])
        ) { document, call in
            let app = try call.app
            let (kind, activity) = (document.kind, document.activity)
            let channels = kind == .apns ? document.channels ?? [] : []
            let problem = try await prepare(channels, document.environment, app, call)
            let command = PushCommand.register(
                app: app, document.environment, kind: kind, activity: activity, channels: document.channels)
            return try await commands.submit(command, call, problem: problem) { aggregate, _ in
                aggregate.state.apps[app]?.token(of: kind, activity: activity).map { TokenDocument($0) }
            }
        }
        table.add(
            .delete, path + "/registration", "Invalidates a device token of a running app",
            .parameters(
                RouteParameter("kind", in: .query, "The kind of the token; apns by default", TokenKind.schema),
                RouteParameter("activity", in: .query, "The Live Activity of the token", ["type": "string"])),
            .refuses(
                refusals(
                    .deviceNotRegistered, .appNotInstalled("…"), .appNotRunning(.suspended), .notRegistered("…"))
                    + [.invalidQuery])
        ) { call in
            let kind = try call.request.query("kind", of: TokenKind.self) ?? .apns
            let activity = call.request.uri.queryParameters["activity"].map { String($0) }
            return try await commands.submit(.unregister(app: call.app, kind: kind, activity: activity), call)
        }
        table.add(
            .get, path + "/tokens", "The device tokens of an app, by kind",
            .refuses(refusals(.deviceNotRegistered, .appNotInstalled("…")))
        ) { call in
            let app = try call.app
            let device = try await commands.device(call) { $0.apps[app] != nil }
            guard let record = device.aggregate.state.apps[app] else { throw PushRefusal.appNotInstalled(app).problem }
            return Reply(TokenList(record))
        }
        table.add(
            .get, path + "/explain", "Explains an app's budget and power state, and forecasts a push of each type",
            .refuses(refusals(.deviceNotRegistered, .appNotInstalled("…")))
        ) { call in
            let app = try call.app
            let device = try await commands.device(call) { $0.apps[app] != nil }.aggregate
            guard let record = device.state.apps[app] else { throw PushRefusal.appNotInstalled(app).problem }
            // No ETag: the explanation changes with time alone.
            return Reply(Explanation(app, record, device, at: max(clock.now, device.now), policy))
        }
    }

    private func addDevices(_ table: inout RouteTable) {
        let path = "/v1/devices/{device}"
        table.add(
            .get, path + "/notifications",
            "Connects the device by a stream of server-sent events, or polls with `wait`",
            .parameters(.number("wait", 0...60, "Polls instead: one answer within this number of seconds")),
            .answers(NotificationList.self), .text(.events(example: NotificationStream.example)),
            .refuses(refusals(.deviceNotRegistered, .deviceOff, .noNetwork) + [.invalidQuery])
        ) { try await connect($0) }
        table.add(
            .post, path + "/notifications/{notification}/ack", "Acknowledges a notification",
            .refuses(refusals(.deviceNotRegistered))
        ) { call in
            let id = try call.identifier("notification")
            return try await commands.submit(.acknowledge(notification: id), call)
        }
        table.add(
            .post, path + "/keep-alive", "Sends a heartbeat and returns the notifications that it released",
            .refuses(refusals(.deviceNotRegistered, .notConnected))
        ) { call in
            try await commands.submit(.keepAlive, call) { NotificationList(delivered: $1, at: $0.now) }
        }
        table.add(
            .put, path + "/throttle", "Switches the silent budget on or off", body: ThrottleDocument.self,
            .refuses(refusals(.deviceNotRegistered))
        ) { document, call in
            try await commands.submit(.setThrottle(document.enabled), call) { aggregate, _ in
                ThrottleDocument(enabled: aggregate.state.isThrottled)
            }
        }
        table.add(
            .get, "/v1/notifications/{notification}",
            "The timeline of a notification, by `apns-unique-id` or `apns-id`",
            .refuses([.invalidHeader, .behind, .positionBeyondLog])
        ) { try await timeline($0) }
    }

    /// Opens the stream of the device, or polls.
    private func connect(_ call: Call) async throws -> Response {
        let (request, context) = (call.request, call.context)
        // The stream connects the device, so an operator's key needs the scope `operate`.
        try context.requireCaller(.operate)
        let found = try await commands.device(call)
        guard request.uri.queryParameters["wait"] != nil else {
            return try stream.open(call.device, found.aggregate.state, after: found.version, request, context)
        }
        let wait = try call.number("wait", default: 30)
        return Response(
            try await stream.poll(call.device, after: found.version, wait: .seconds(Int64(wait)), context))
    }

    private func timeline(_ call: Call) async throws -> Reply<TimelineDocument> {
        let id = try call.identifier("notification")
        var own: AggregateKey?
        if case .device(let device, _) = try call.context.requireCaller() { own = .device(device) }
        guard let timeline = try await store.timeline(id, of: own) else { throw Problem.notFound }
        // Answers 404 for a notification that the caller may not read.
        _ = try await commands.read(call, of: timeline.key)
        return Reply(timeline.document, etag: ETag(version: timeline.version, in: call.context.incarnation))
    }

    /// Subscribes the device before its command, so that a broadcast right after it reaches the device.
    ///
    /// - Parameter environment: the environment of the channels; nil for the one of the app's registration.
    /// - Returns: the refusal of the command. A repeated command gets its first answer nevertheless.
    func prepare(
        _ wanted: [String], _ environment: PushEnvironment?, _ app: String, _ call: Call
    ) async throws -> Problem? {
        guard !wanted.isEmpty else { return nil }
        try call.context.requireCaller(.operate)
        do { try await subscribe(app, to: wanted, environment, call) } catch let problem as Problem { return problem }
        return nil
    }

    private func subscribe(
        _ app: String, to wanted: [String], _ environment: PushEnvironment?, _ call: Call
    ) async throws {
        let device = try await commands.device(call) { $0.apps[app] != nil }.aggregate.state
        guard device.apps[app] != nil else { throw PushRefusal.appNotInstalled(app).problem }
        let profile = policy.generations[device.profile]
        guard profile.has(.broadcastChannels) else {
            throw PushRefusal.unsupported(.broadcastChannels, on: profile).problem
        }
        let environment = environment ?? device.apps[app]?.channelEnvironment ?? .sandbox
        let unknown = try await store.unknown(of: wanted, app, environment)
        guard unknown.isEmpty else {
            let names = unknown.sorted().joined(separator: ", ")
            throw Problem.unknownChannel.with(
                detail: "The app does not have these channels in this environment: \(names)")
        }
        try await store.subscribe(call.device, app, to: wanted)
    }

    func refusals(_ refusals: PushRefusal...) -> [Problem] { refusals.map(\.problem) }
}

extension Commands<PushMachine> {
    /// Returns the registered device in the path, if the caller may read it.
    func device(
        _ call: Call, suffices: @Sendable (PushMachine) -> Bool = { $0.isKnown }
    ) async throws -> (aggregate: Aggregate<PushMachine>, version: Int) {
        let found = try await read(call, suffices: suffices)
        guard let found, found.aggregate.state.isKnown else { throw PushRefusal.deviceNotRegistered.problem }
        return found
    }
}

extension Problem {
    /// A channel that the app does not have in the environment of the registration.
    static let unknownChannel = Problem(.unprocessableContent, "unknown_channel", "Channel does not exist")
}
