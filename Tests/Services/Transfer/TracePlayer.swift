import Contracts
import Foundation
import Machines
import OrderedCollections
import Records
import Testing
import Timeline
import TransferMachine

/// Plays a trace against the machine, and holds every step to what the trace says.
struct TracePlayer {
    static let key = AggregateKey.device("phone")
    static let beginning = Instant(milliseconds: 1_750_000_000_000)

    let name: String
    var runtime: InMemoryRuntime<TransferMachine>
    private var told = 0
    var device: TransferMachine { runtime.state(Self.key) }

    init(_ trace: Trace, name: String) throws {
        self.name = name
        var policy = TransferPolicy()
        policy.jitterPercent = 0
        runtime = InMemoryRuntime(policy: policy, seed: name)
        try deliver(LifecycleEvent.DeviceRegistered(registration: Registration(profile: .ios18)), at: Self.beginning)
        for app in ["a", "b"] {
            try deliver(LifecycleEvent.AppInstalled(app: app, manifest: Manifest()), at: Self.beginning)
        }
        try deliver(LifecycleEvent.AppLaunched(app: "a", callbacks: []), at: Self.beginning)
        try runtime.submit(
            .openSession(app: "a", session: "s", trace.configuration), to: Self.key, at: Self.beginning)
    }

    mutating func play(_ step: Step, number: Int) throws {
        let place = Comment(rawValue: "\(name), step \(number): \(step.action) at \(step.at) s")
        let moment = Self.beginning + .seconds(step.at)
        let before = device.binary
        do {
            let events = try perform(step, at: moment)
            #expect(step.refused == nil, place)
            try compare(events, with: step.events, place)
        } catch let refusal as TransferRefusal {
            #expect(refusal.code == step.refused, place)
            #expect(device.binary == before, place)
        }
        for expected in step.tasks?.members ?? [] {
            let task = device.sessions[step.session]?[try #require(Int(expected.name))]
            let words = [task?.state.rawValue, task?.waiting?.rawValue].compactMap { $0 }.joined(separator: " ")
            #expect(words == expected.value.string, place)
        }
    }

    private mutating func perform(_ step: Step, at moment: Instant) throws -> [Event] {
        if step.action == "advance" { return try runtime.advance(to: moment) }
        if let happened = try happening(step, at: moment) { return try deliver(happened, at: moment) }
        return try runtime.submit(try command(step), to: Self.key, at: moment)
    }

    @discardableResult
    private mutating func deliver(_ data: any EventData, at moment: Instant) throws -> [Event] {
        told += 1
        let id = DecisionIdentifiers.derived(name, String(told))
        return try runtime.deliver(
            Event(
                id: id, source: LifecycleEvent.source, type: type(of: data).type, version: 1, key: Self.key,
                app: data.app, time: moment, correlation: id, causation: nil, traceparent: nil, data: data.jsonBytes))
    }

    /// What happened at `lifecycle`; nil where the step is a command.
    private func happening(_ step: Step, at moment: Instant) throws -> (any EventData)? {
        let app = step.app
        switch step.action {
        case "launch": return LifecycleEvent.AppLaunched(app: app, callbacks: [])
        case "open": return LifecycleEvent.AppActivated(app: app, callbacks: [])
        case "home": return LifecycleEvent.AppBackgrounded(app: app, cause: .home, callbacks: [], taskTime: .zero)
        case "suspendApp": return LifecycleEvent.AppSuspended(app: app)
        case "wakeApp":
            return LifecycleEvent.AppWoken(
                app: app, callbacks: [], deadline: moment + .seconds(30), from: .suspended, limit: .seconds(30),
                reason: try WakeReason(json: try #require(step.with)), request: step.session, wake: "w")
        case "terminate":
            let reason = try EndReason(json: try #require(step.with))
            return LifecycleEvent.AppTerminated(app: app, callbacks: [], from: .suspended, reason: reason)
        case "completeWake":
            return LifecycleEvent.WakeCompleted(
                app: app, reason: .transfer, request: step.session, wake: "w")
        case "refuseWake":
            let refusal = try WakeRefusal(json: try #require(step.with))
            return LifecycleEvent.WakeRefused(app: app, reason: .transfer, refusal: refusal, request: step.session)
        case "power": return LifecycleEvent.DevicePowered(power: try PowerEvent(json: try #require(step.with)))
        case "conditions":
            return LifecycleEvent.ConditionsChanged(conditions: try Conditions(json: try #require(step.with)))
        case "uninstall": return LifecycleEvent.AppUninstalled(app: app)
        case "deregister": return LifecycleEvent.DeviceDeregistered()
        default: return nil
        }
    }

    private func command(_ step: Step) throws -> TransferCommand {
        let place = TaskPlace(app: step.app, session: step.session, task: step.task)
        let epoch = step.epoch ?? device.task(place)?.epoch ?? 0
        let claim = AttemptClaim(place, epoch: epoch, mover: step.mover)
        let document = step.with ?? [:]
        let total = document["total"]?.int ?? document.int ?? 0
        switch step.action {
        case "openSession":
            return .openSession(app: step.app, session: step.session, try SessionConfiguration(json: document))
        case "invalidate":
            return .invalidateSession(
                app: step.app, session: step.session, cancels: document["cancels"]?.bool == true)
        case "download": return .download(app: step.app, session: step.session, try download(document))
        case "resume": return .resume(place)
        case "suspend": return .suspend(place)
        case "cancel": return .cancel(place)
        case "start": return .startAttempt(claim)
        case "receive": return .receiveResponse(claim, try response(document))
        case "report": return .report(claim, total: total)
        case "finish": return .finish(claim, total: total, sha256: "00")
        case "fail":
            return .fail(claim, total: total, try AttemptEnd(json: try #require(document["end"])))
        case "takeOver": return .takeOver(claim)
        default: throw UnknownAction(name: step.action)
        }
    }

    private func download(_ document: JSON) throws -> DownloadRequest {
        var members = document.members ?? []
        if document["url"] == nil { members.append(.init("url", "http://files.example/f")) }
        // A moment is told in seconds after the beginning.
        if let index = members.firstIndex(where: { $0.name == "earliestBeginDate" }) {
            let seconds = try #require(members[index].value.double)
            members[index].value = .string((Self.beginning + .seconds(seconds)).description)
        }
        return try DownloadRequest(json: .object(members))
    }

    private func response(_ document: JSON) throws -> ResponseHead {
        let members = document.members ?? []
        let isTold = members.contains { $0.name == "acceptsRanges" }
        return try ResponseHead(json: .object(members + (isTold ? [] : [.init("acceptsRanges", true)])))
    }

    /// Every event must be told, in order: its type, and whichever members the trace names; `at` is its second.
    private func compare(_ events: [Event], with expected: [JSON], _ place: Comment) throws {
        #expect(events.map(\.type) == expected.map { "transfer." + ($0["type"]?.string ?? "") }, place)
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
        if let members = value.members {
            return .object(members.map { JSON.Member($0.name, told($0.value)) }.sorted { $0.name < $1.name })
        }
        if let text = value.string, let moment = Instant(text) { return .double((moment - Self.beginning).seconds) }
        return value
    }
}

struct UnknownAction: Error { var name: String }
