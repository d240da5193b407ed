import Contracts
import Foundation
import LifecycleMachine
import Machines
import OrderedCollections
import Records
import Testing
import Timeline

/// Plays a trace against the machine, and holds every step to what the trace says.
struct TracePlayer {
    static let key = AggregateKey.device("phone")
    static let beginning = Instant(milliseconds: 1_750_000_000_000)

    let name: String
    var runtime: InMemoryRuntime<LifecycleMachine>
    /// The trace's names of identifiers, by the machine's.
    var aliases: OrderedDictionary<String, String> = [:]
    var device: LifecycleMachine { runtime.state(Self.key) }

    init(_ trace: Trace, name: String) throws {
        self.name = name
        runtime = InMemoryRuntime(policy: LifecyclePolicy(), seed: name)
        let registration = JSON.object(
            (trace.registration.members ?? []) + [.init("profile", .string(trace.profile.rawValue))])
        try runtime.submit(.register(Registration(json: registration)), to: Self.key, at: Self.beginning)
        for member in trace.apps.members ?? [] {
            try runtime.submit(
                .install(app: member.name, Manifest(json: member.value)), to: Self.key, at: Self.beginning)
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
        } catch let refusal as LifecycleRefusal {
            #expect(refusal.code == step.refused, place)
            #expect(device.binary == before, place)
        }
        for expected in step.states?.members ?? [] {
            #expect(device.apps[expected.name]?.state.rawValue == expected.value.string, place)
        }
        if let switcher = step.switcher { #expect(device.switcher == switcher, place) }
    }

    private mutating func perform(_ step: Step, at moment: Instant) throws -> [Event] {
        switch step.action {
        case "advance": return try runtime.advance(to: moment)
        case "outage":
            let from = try #require(step.with?["from"]?.double)
            return try runtime.pass(Outage(from: Self.beginning + .seconds(from), until: moment))
        case "refreshDue":
            let fetch = try #require(step.with?.string)
            return try runtime.deliver(event(FetchEvent.RefreshDue(app: step.app ?? "", fetch: fetch), at: moment))
        case "pushWakeRequested":
            let notification = try #require(step.with?["notification"]?.string)
            let payload = step.with?["payload"] ?? .null
            return try runtime.deliver(
                event(
                    PushEvent.WakeRequested(app: step.app ?? "", notification: notification, payload: payload),
                    at: moment))
        case "transferWakeRequested":
            let session = try #require(step.with?.string)
            return try runtime.deliver(
                event(TransferEvent.WakeRequested(app: step.app ?? "", session: session), at: moment))
        default: return try runtime.submit(command(step), to: Self.key, at: moment)
        }
    }

    /// What another service says.
    private func event<D: EventData>(_ data: D, at moment: Instant) -> Event {
        let id = DecisionIdentifiers.derived(name, D.type, String(moment.milliseconds))
        return Event(
            id: id, source: String(D.type.prefix { $0 != "." }), type: D.type, version: D.version, key: Self.key,
            app: data.app, time: moment, correlation: id, causation: nil, traceparent: nil, data: data.jsonBytes)
    }

    private func command(_ step: Step) throws -> LifecycleCommand {
        let app = step.app ?? ""
        let document = step.with ?? [:]
        if let transition = AppTransition(rawValue: step.action) { return .transition(app: app, transition) }
        switch step.action {
        case "deregister": return .deregister
        case "register": return .register(try Registration(json: document))
        case "conditions": return .updateConditions(try Conditions(json: document))
        case "interruption": return .interrupt(try InterruptionKind(json: document))
        case "power": return .power(try PowerEvent(json: document))
        case "install": return .install(app: app, try Manifest(json: document))
        case "uninstall": return .uninstall(app: app)
        case "completeCallback":
            return .completeCallback(
                app: app, try Callback(json: try #require(document["callback"])),
                CallbackCompletion(snapshotLabel: document["snapshotLabel"]?.string))
        case "beginTask": return .beginTask(app: app, try TaskRequest(json: document))
        case "endTask": return .endTask(app: app, task: identifier(try #require(document.string)))
        case "completeWake":
            let members = (document.members ?? []).filter { $0.name != "wake" }
            return .completeWake(
                app: app, wake: identifier(try #require(document["wake"]?.string)),
                try WakeCompletion(json: .object(members)))
        case "settings":
            guard let app = step.app else { return .changeDeviceSettings(try DeviceSettings(json: document)) }
            return .changeSettings(app: app, try AppSettings(json: document))
        default: throw UnknownAction(name: step.action)
        }
    }

    private func identifier(_ alias: String) -> String { aliases.elements.first { $0.value == alias }?.key ?? alias }

    private mutating func note(_ events: [Event]) {
        for event in events {
            let data = try? JSON(parsing: event.data)
            for (type, member) in [("lifecycle.task.begun", "task"), ("lifecycle.app.woken", "wake")] {
                guard event.type == type, let id = data?[member]?.string else { continue }
                aliases[id] = "\(member)-\(aliases.values.count { $0.hasPrefix(member) } + 1)"
            }
        }
    }

    /// Every event must be told, in order: its type, and whichever members the trace names; `at` is its second.
    private func compare(_ events: [Event], with expected: [JSON], _ place: Comment) throws {
        #expect(events.map(\.type) == expected.map { "lifecycle." + ($0["type"]?.string ?? "") }, place)
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

    /// A form to compare: the trace's names for identifiers, seconds for moments, one kind of number.
    private func told(_ value: JSON) -> JSON {
        if let number = value.double { return .double(number) }
        guard let text = value.string else { return value }
        if let alias = aliases[text] { return .string(alias) }
        if let moment = Instant(text) { return .double((moment - Self.beginning).seconds) }
        return value
    }
}

struct UnknownAction: Error { var name: String }
