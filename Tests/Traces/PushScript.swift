import Contracts
package import MachineTesting
import Machines
import OrderedCollections
package import PushCore
import Records
import Testing
import Timeline

extension PushMachine: TracedMachine {
    package static let folder = "Push"
    package static let fewestTraces = 130
    package static func script(_ trace: Trace) throws -> TraceScript<Self> { try .push(trace) }
}

extension TraceScript<PushMachine> {
    /// Registers the device first and installs its apps with their manifests. Each app is launched, registers for
    /// notifications, goes to the background and is suspended. The user authorizes alerts, unless the manifest has another
    /// authorization.
    package static func push(_ trace: Trace) throws -> Self {
        var policy = PushPolicy(partitions: 16)
        policy.generations = try trace.generations
        policy.timeZoneOffset = { zone, _ in zone == "Europe/Paris" ? 7200 : 0 }
        if let daily = trace["policy"]?["silentDaily"]?.int { policy.silentDaily = daily }
        if let bytes = trace["policy"]?["backlogBytes"]?.int { policy.backlogBytes = bytes }
        if let bytes = trace["policy"]?["stateBytes"]?.int { policy.stateBytes = bytes }
        if let burst = trace["policy"]?["activityBurst"]?.int { policy.activityBurst = Int64(burst) }
        var script = Self(policy: policy, code: \.code, command: command)
        script.settings = ["registration", "apps", "policy", "readings"]
        // The machine creates the ids of broadcasts.
        script.identifiers = [(PushEvent.NotificationReceived.type, "notification")]
        let registration = trace["registration"] ?? ["profile": "ios15"]
        let apps = trace["apps"]?.members ?? []
        script.preamble =
            [TraceStep(document: ["do": "device.registered", "with": registration])]
            + apps.flatMap { app in
                let authorized: JSON = ["notificationAuthorization": "authorized"]
                let installed: JSON = [
                    "do": "app.installed", "app": .string(app.name), "with": authorized.overlaid(with: app.value),
                ]
                let steps = ["app.launched", "register", "app.backgrounded", "app.suspended"].map { action in
                    JSON.object([.init("do", .string(action)), .init("app", .string(app.name))])
                }
                return ([installed] + steps).map { TraceStep(document: $0) }
            }
        script.event = { step, _ in try lifecycleEvent(step) }
        return script
    }

    private static func lifecycleEvent(_ step: TraceStep) throws -> (any EventData)? {
        let app = step.app
        let with = step.with
        let request = with.string ?? with["request"]?.string
        switch step.action {
        case "device.registered": return LifecycleEvent.DeviceRegistered(registration: try Registration(json: with))
        case "device.deregistered": return LifecycleEvent.DeviceDeregistered.placeholder
        case "device.erased": return LifecycleEvent.DeviceErased.placeholder
        case "device.powered": return LifecycleEvent.DevicePowered(power: try PowerEvent(json: with))
        case "conditions.changed": return LifecycleEvent.ConditionsChanged(conditions: try Conditions(json: with))
        case "settings.changed":
            // The settings of an app, or without one those of the device.
            var current: JSON = [:]
            if step["app"] != nil {
                var authorized = NotificationSettings()
                authorized.authorization = .authorized
                current = ["notifications": try JSON(parsing: authorized.jsonBytes)]
            }
            let settings: JSON = ["app": step["app"] ?? .null, "settings": current.overlaid(with: with)]
            return try step.event(LifecycleEvent.SettingsChanged.self, overlaidWith: settings)
        case "app.installed": return LifecycleEvent.AppInstalled(app: app, manifest: try Manifest(json: with))
        case "app.uninstalled": return LifecycleEvent.AppUninstalled(app: app)
        case "app.launched": return LifecycleEvent.AppLaunched(app: app, callbacks: [])
        case "app.backgrounded":
            return LifecycleEvent.AppBackgrounded(app: app, callbacks: [], cause: .home, taskTime: .zero)
        case "app.suspended": return LifecycleEvent.AppSuspended(app: app)
        case "app.terminated":
            return LifecycleEvent.AppTerminated(
                app: app, callbacks: [], from: .background,
                reason: try with.string.map { try EndReason(json: .string($0)) } ?? .crash)
        case "app.woken":
            return LifecycleEvent.AppWoken(
                app: app, callbacks: [], deadline: .epoch, from: .suspended, limit: .zero, reason: .push,
                request: request, wake: "w")
        case "wake.completed":
            let answer = try with["pushResult"].map { try PushToTalkResult(json: $0) }
            return LifecycleEvent.WakeCompleted(
                app: app, pushResult: answer, reason: .push, request: request, result: .newData, wake: "w")
        case "wake.refused":
            let refusal = try WakeRefusal(json: with["refusal"] ?? .null)
            return LifecycleEvent.WakeRefused(app: app, reason: .push, refusal: refusal, request: request)
        default: return nil
        }
    }

    @Sendable private static func command(_ step: TraceStep, _ player: TracePlayer<PushMachine>) throws -> PushCommand {
        switch step.action {
        case "push": return .receive(try push(step, player))
        case "broadcast": return .receiveBroadcast(try broadcast(step, player))
        case "register": return try registration(step)
        case "unregister":
            let kind = try step.with.string.map { try TokenKind(json: .string($0)) }
            return .unregister(app: step.app, kind: kind ?? .apns)
        case "forgetChannel": return .forgetChannel(app: step.app, channel: try #require(step.with.string))
        case "connect":
            let kind = step.with["kind"]?.string.flatMap { ConnectionKind(rawValue: $0) }
            return .connect(
                connection: try connection(step), holder: step.with["holder"]?.string, kind: kind ?? .stream)
        case "disconnect":
            let cause = try step.with["cause"].map { try ConnectionEnd(json: $0) }
            return .disconnect(connection: try connection(step), cause ?? .closed)
        case "poll": return .poll(connection: "poll", wait: .seconds(30.0))
        case "ack": return .acknowledge(notification: try #require(step.with.string))
        case "present":
            let options = try (step.with["options"]?.items ?? []).map { try PresentationOption(json: $0) }
            return .present(notification: try #require(step.with["id"]?.string), options: options)
        case "modify":
            let content = try NotificationContent(json: step.with["content"] ?? [:])
            return .modify(notification: try #require(step.with["id"]?.string), content)
        case "respond":
            return .respond(
                notification: try #require(step.with["id"]?.string),
                try NotificationResponse(json: step.with.without("id")))
        case "setCategories":
            let categories = try (step.with.items ?? []).map { try NotificationCategory(json: $0) }
            return .setCategories(app: step.app, categories)
        case "open": return .open(notification: try #require(step.with.string))
        case "keepAlive": return .keepAlive
        case "throttle": return .setThrottle(step.with.bool ?? true)
        case "startActivity", "updateActivity", "endActivity", "dismissActivity":
            return try liveActivity(step, player)
        default: throw TraceFailed.unknown(step)
        }
    }

    /// `{"activity": "x" by default,"contentState","attributesType","channel","environment","frequentUpdates","staleDate",
    /// "dismissalDate": seconds from now}`.
    private static func liveActivity(
        _ step: TraceStep, _ player: TracePlayer<PushMachine>
    ) throws -> PushCommand {
        let (app, with) = (step.app, step.with)
        let activity = with["activity"]?.string ?? "x"
        func date(_ name: String) -> Instant? { with[name]?.int.map { player.moment + .seconds(Int64($0)) } }
        switch step.action {
        case "startActivity":
            let request = LiveActivityRequest(
                attributesType: with["attributesType"]?.string, channel: with["channel"]?.string,
                contentState: with["contentState"] ?? ["score": 0],
                environment: try with["environment"].map { try PushEnvironment(json: $0) },
                frequentUpdates: with["frequentUpdates"]?.bool ?? false, staleDate: date("staleDate"))
            return .startActivity(app: app, activity: activity, request)
        case "updateActivity":
            return .updateActivity(
                app: app, activity: activity, contentState: with["contentState"] ?? ["score": 1],
                staleDate: date("staleDate"))
        case "endActivity":
            return .endActivity(
                app: app, activity: activity, contentState: with["contentState"],
                dismissalDate: date("dismissalDate"))
        default: return .dismissActivity(app: app, activity: activity)
        }
    }

    private static func connection(_ step: TraceStep) throws -> String {
        try #require(step.with.string ?? step.with["connection"]?.string)
    }

    /// An environment, or `{"environment","kind","activity","channels"}`.
    private static func registration(_ step: TraceStep) throws -> PushCommand {
        let with = step["with"] ?? "sandbox"
        let environment = with.members == nil ? with : with["environment"] ?? "sandbox"
        let channels = with["channels"]?.items?.compactMap(\.string)
        return .register(
            app: step.app, try PushEnvironment(json: environment), kind: try TokenKind(json: with["kind"] ?? "apns"),
            activity: with["activity"]?.string, channels: channels)
    }

    /// `{"channel","policy": 1 by default,"environment","priority","timestamp","expiration": seconds from now}`.
    private static func broadcast(_ step: TraceStep, _ player: TracePlayer<PushMachine>) throws -> IncomingBroadcast {
        let document = step.with
        let expiration = document["expiration"]?.int
        return IncomingBroadcast(
            app: step.app, channel: try #require(document["channel"]?.string),
            environment: try PushEnvironment(json: document["environment"] ?? "sandbox"), requestID: "request",
            priority: document["priority"]?.int ?? 10,
            expiration: expiration.flatMap { $0 == 0 ? nil : player.moment + .seconds(Int64($0)) },
            neverStored: document["policy"]?.int == 0 || expiration == 0,
            payload: ["aps": broadcastContent(document["timestamp"])])
    }

    private static func broadcastContent(_ timestamp: JSON?) -> JSON {
        let content: JSON = ["event": "update", "content-state": ["score": 1]]
        return timestamp.map { content.overlaid(with: ["timestamp": $0]) } ?? content
    }

    /// `{"id","aps", "priority","type","collapse","expiration": seconds from now,"token": which of the app's,
    /// "padding": bytes}`. The token is the newest of a kind that accepts the type, unless the step names one.
    private static func push(_ step: TraceStep, _ player: TracePlayer<PushMachine>) throws -> IncomingPush {
        let document = step.with
        let type = try PushType(json: document["type"] ?? "alert")
        // All tokens of the app, oldest first.
        let registered = try player.runtime.log.filter {
            $0.type == PushEvent.TokenRegistered.type && $0.app == step.app
        }.map { try PushEvent.TokenRegistered(jsonBytes: $0.data) }
        let known = registered.map(\.token)
        let fitting = registered.lastIndex { $0.kind.accepts(type) }
        let which = document["token"]?.int ?? fitting ?? known.count - 1
        let expiration = document["expiration"]?.int
        var payload: JSON = ["aps": document["aps"] ?? ["alert": "hello"]]
        if let bytes = document["padding"]?.int {
            payload = payload.overlaid(with: ["padding": .string(String(repeating: "x", count: bytes))])
        }
        return IncomingPush(
            token: known.indices.contains(which) ? known[which] : String(repeating: "0", count: 64),
            app: document["topic"]?.string ?? step.app, topic: step.app,
            pushType: type, environment: try PushEnvironment(json: document["environment"] ?? "sandbox"),
            apnsID: "apns",
            notification: try #require(document["id"]?.string), priority: document["priority"]?.int ?? 10,
            collapseID: document["collapse"]?.string,
            expiration: expiration.flatMap { $0 == 0 ? nil : player.moment + .seconds(Int64($0)) },
            neverStored: expiration == 0, payload: payload)
    }
}

extension TraceStep {
    fileprivate func event<D: EventData>(_ type: D.Type, overlaidWith over: JSON) throws -> D {
        try D(json: try JSON(parsing: D.placeholder.jsonBytes).overlaid(with: over))
    }
}
