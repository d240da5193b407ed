import Contracts
import Foundation
import Machines
import OrderedCollections
import PushMachine
import Records
import Testing
import Timeline

/// Plays a trace against the machine, and holds every step to what the trace says.
struct TracePlayer {
    static let key = AggregateKey.device("phone")
    static let beginning = Instant(milliseconds: 1_750_000_000_000)

    let name: String
    var runtime: InMemoryRuntime<PushMachine>
    /// Every token that was given, by app, oldest first.
    var tokens: [String: [String]] = [:]
    var device: PushMachine { runtime.state(Self.key) }

    init(_ trace: Trace, name: String) throws {
        self.name = name
        runtime = InMemoryRuntime(policy: PushPolicy(partitions: 16), seed: name)
        try deliver(
            LifecycleEvent.DeviceRegistered(registration: Registration(json: trace.registration)), at: Self.beginning)
        for member in trace.apps.members ?? [] {
            try deliver(
                LifecycleEvent.AppInstalled(app: member.name, manifest: Manifest(json: member.value)),
                at: Self.beginning)
            note(try runtime.submit(.register(app: member.name, .sandbox), to: Self.key, at: Self.beginning))
        }
    }

    mutating func play(_ step: Step, number: Int) throws {
        let place = Comment(rawValue: "\(name), step \(number): \(step.action) at \(step.at) s")
        let moment = Self.beginning + .seconds(step.at)
        let before = device.binary
        do {
            let events = try perform(step, at: moment)
            #expect(step.refused == nil, place)
            note(events)
            try compare(events, with: step.events, place)
        } catch let refusal as PushRefusal {
            #expect(refusal.code == step.refused, place)
            #expect(device.binary == before, place)
        }
    }

    private mutating func perform(_ step: Step, at moment: Instant) throws -> [Event] {
        if step.action == "advance" { return try runtime.advance(to: moment) }
        if let data = try lifecycleEvent(step) { return try deliver(data, at: moment) }
        return try runtime.submit(command(step, at: moment), to: Self.key, at: moment)
    }

    @discardableResult
    private mutating func deliver(_ data: some EventData, at moment: Instant) throws -> [Event] {
        let id = DecisionIdentifiers.derived(name, String(runtime.log.count), String(moment.milliseconds))
        return try runtime.deliver(
            Event(
                id: id, source: LifecycleEvent.source, type: Swift.type(of: data).type, version: 1, key: Self.key,
                app: data.app, time: moment, correlation: id, causation: nil, traceparent: nil, data: data.jsonBytes))
    }

    private func lifecycleEvent(_ step: Step) throws -> (any EventData)? {
        let app = step.app ?? ""
        let document = step.with ?? [:]
        let request = document.string ?? document["request"]?.string
        // The contract between the services calls it so; versions before that have only fetches.
        let reason = WakeReason(rawValue: "push") ?? .fetch
        switch step.action {
        case "device.deregistered": return LifecycleEvent.DeviceDeregistered()
        case "device.powered": return LifecycleEvent.DevicePowered(power: try PowerEvent(json: document))
        case "conditions.changed": return LifecycleEvent.ConditionsChanged(conditions: try Conditions(json: document))
        case "app.installed":
            return LifecycleEvent.AppInstalled(app: app, manifest: try Manifest(json: document))
        case "app.uninstalled": return LifecycleEvent.AppUninstalled(app: app)
        case "app.launched": return LifecycleEvent.AppLaunched(app: app, callbacks: [])
        case "app.backgrounded":
            return LifecycleEvent.AppBackgrounded(app: app, cause: .home, callbacks: [], taskTime: .zero)
        case "app.terminated":
            return LifecycleEvent.AppTerminated(app: app, callbacks: [], from: .background, reason: .crash)
        case "app.woken":
            return LifecycleEvent.AppWoken(
                app: app, callbacks: [], deadline: .epoch, from: .suspended, limit: .zero, reason: reason,
                request: request, wake: "w")
        case "wake.completed":
            return LifecycleEvent.WakeCompleted(
                app: app, reason: reason, request: request, result: .newData, wake: "w")
        case "wake.refused":
            return LifecycleEvent.WakeRefused(
                app: app, reason: reason, refusal: try WakeRefusal(json: try #require(document["refusal"])),
                request: request)
        default: return nil
        }
    }

    private func command(_ step: Step, at moment: Instant) throws -> PushCommand {
        let app = step.app ?? ""
        let document = step.with ?? [:]
        switch step.action {
        case "push": return .receive(try push(app, document, at: moment))
        case "register":
            return .register(app: app, try PushEnvironment(json: step.with ?? .string("sandbox")))
        case "unregister": return .unregister(app: app)
        case "connect": return .connect(connection: try #require(document.string))
        case "disconnect": return .disconnect(connection: try #require(document.string))
        case "poll": return .poll(connection: "poll", wait: .seconds(30.0))
        case "ack": return .acknowledge(notification: try #require(document.string))
        case "keepAlive": return .keepAlive
        case "throttle": return .setThrottle(document.bool ?? true)
        default: throw UnknownAction(name: step.action)
        }
    }

    /// `{"id","aps", "priority","type","collapse","expiration": seconds from now,"token": which of the app's, "padding": bytes}`.
    private func push(_ app: String, _ document: JSON, at moment: Instant) throws -> IncomingPush {
        let known = tokens[app] ?? []
        let expiration = document["expiration"]?.int
        let which = document["token"]?.int ?? known.count - 1
        var payload: JSON = ["aps": document["aps"] ?? ["alert": "hello"]]
        if let bytes = document["padding"]?.int, case .object(let members) = payload {
            payload = .object(members + [.init("padding", .string(String(repeating: "x", count: bytes)))])
        }
        return IncomingPush(
            token: known.indices.contains(which) ? known[which] : String(repeating: "0", count: 64),
            app: document["topic"]?.string ?? app, topic: app,
            pushType: try PushType(json: document["type"] ?? "alert"),
            environment: try PushEnvironment(json: document["environment"] ?? "sandbox"), apnsID: "apns",
            notification: try #require(document["id"]?.string), priority: document["priority"]?.int ?? 10,
            collapseID: document["collapse"]?.string,
            expiration: expiration.flatMap { $0 == 0 ? nil : moment + .seconds(Int64($0)) },
            neverStored: expiration == 0, payload: payload)
    }

    private mutating func note(_ events: [Event]) {
        for event in events where event.type == PushEvent.TokenRegistered.type {
            guard let app = event.app, let token = (try? JSON(parsing: event.data))?["token"]?.string else { continue }
            tokens[app, default: []].append(token)
        }
    }

    /// Every event must be told, in order: its type, and whichever members the trace names; `at` is its second.
    private func compare(_ events: [Event], with expected: [JSON], _ place: Comment) throws {
        let types = expected.map { "push." + ($0.string ?? $0["type"]?.string ?? "") }
        #expect(events.map(\.type) == types, place)
        for (event, expected) in zip(events, expected) {
            let data = try JSON(parsing: event.data)
            for member in expected.members ?? [] where member.name != "type" {
                if member.name == "at" {
                    #expect((event.time - Self.beginning).seconds == member.value.double, place)
                    continue
                }
                #expect(told(data[member.name] ?? .null) == told(member.value), place)
            }
        }
    }

    /// A form to compare: seconds for moments, one kind of number.
    private func told(_ value: JSON) -> JSON {
        if let number = value.double { return .double(number) }
        guard let text = value.string, let moment = Instant(text) else { return value }
        return .double((moment - Self.beginning).seconds)
    }
}

struct UnknownAction: Error { var name: String }
