import Contracts
import EventLog
import LifecycleCore
import Records
import TestSupport
import Testing
import Timeline
import Traces

/// Golden traces over the REST API and the log.
@Suite(.tags(.database), .timeLimit(.minutes(5))) struct TraceRouteTests {
    private static let shares = 3

    @Test(arguments: 0..<shares)
    func `golden traces give the same events over REST`(share: Int) async throws {
        let traces = try Self.sample()
        try await LifecycleFixture.run(virtual: true) { fixture in
            for (number, trace) in traces.enumerated() where number % Self.shares == share {
                var player = try await RoutePlayer(trace, fixture, device: "phone-\(number)")
                do { try await player.play() } catch { Issue.record(error) }
            }
        }
    }

    /// Returns the traces with a step that fewer than three earlier traces have, so that all kinds of steps are
    /// covered.
    private static func sample() throws -> [Trace] {
        var times: [String: Int] = [:]
        return try LifecycleMachine.traces().filter { trace in
            let actions = Set(trace.steps.map(\.action))
            // Tests of the runtime cover outages, and BuiltInDeviceTests the streams that take devices over. The service of
            // the fixture has the standard readings.
            guard trace["readings"] == nil, actions.isDisjoint(with: ["outage", "takeOver", "giveBack"]),
                actions.contains(where: { times[$0, default: 0] < 3 })
            else {
                return false
            }
            for action in actions { times[action, default: 0] += 1 }
            return true
        }
    }
}

/// Plays a trace with a new device over HTTP, each step at its second of suite time, and compares the log with the
/// trace.
private struct RoutePlayer {
    private let trace: Trace
    private let script: TraceScript<LifecycleMachine>
    private let fixture: LifecycleFixture
    private let device: String
    private let beginning: Instant
    private var words: TraceWords
    /// The number of compared events.
    private var seen = 0

    init(_ trace: Trace, _ fixture: LifecycleFixture, device: String) async throws {
        self.trace = trace
        self.fixture = fixture
        self.device = device
        script = try .lifecycle(trace)
        beginning = try await fixture.clock.read().now
        words = TraceWords(beginning: beginning, identifiers: script.identifiers)
    }

    mutating func play() async throws {
        for step in script.preamble { _ = try await perform(step) }
        for (index, step) in trace.steps.enumerated() {
            let (events, refused) = try await perform(step)
            var reasons: [String] = []
            if refused != step.refused { reasons.append("was refused with \(refused ?? "nothing")") }
            if refused == nil { reasons += words.differences(events, step.events) }
            if script.views.keys.contains(where: { step[$0] != nil }) {
                reasons += script.differences(try await state(), step, words)
            }
            guard reasons.isEmpty else {
                throw TraceFailed(
                    place: "\(trace.name), step \(index + 1): \(step.action) at \(step.at) s", reasons: reasons)
            }
        }
        // The deadlines of this device must not delay later traces.
        try await fixture.send("DELETE", "/v1/devices/\(device)")
    }

    /// Performs a step. Returns its events, and the code of a refusal.
    private mutating func perform(_ step: TraceStep) async throws -> (events: [Event], refused: String?) {
        let moment = beginning + .seconds(step.at)
        try await settle(at: moment)
        let step = TraceStep(document: words.resolve(step.document))
        var refused: String?
        if let asked = try TraceScript.wakeRequest(step) {
            try await fixture.append(asked, to: device, at: moment)
            try await settle(at: moment)
        } else if step.action != "advance" {
            let call = step.call(of: device)
            let body = call.body.map { String(decoding: $0.bytes, as: UTF8.self) }
            let answer = try await fixture.send(call.method, call.path, body)
            if answer.status >= 300 { refused = answer.code ?? "\(answer.status)" }
        }
        let log = try await fixture.log(of: device)
        let events = log.dropFirst(seen).filter { $0.source == LifecycleEvent.source }
        seen = log.count
        words.note(events)
        return (events, refused)
    }

    /// Advances the suite clock through all deadlines, and waits until the services settle.
    private func settle(at moment: Instant) async throws {
        _ = try await fixture.clock.advance(by: moment - fixture.clock.read().now)
    }

    private func state() async throws -> LifecycleMachine {
        let answer = try await fixture.send("GET", "/v1/devices/\(device)")
        return answer.status == 200 ? try LifecycleMachine(json: answer.json) : LifecycleMachine()
    }
}

extension TraceStep {
    /// Returns the request of a step.
    fileprivate func call(of device: String) -> (method: String, path: String, body: JSON?) {
        let device = "/v1/devices/\(device)"
        let entry = device + "/app-switcher/" + app
        func named(_ member: String) -> String { with[member]?.string ?? "" }
        let app = device + "/apps/" + app
        return switch action {
        case "register": ("PUT", device, with)
        case "deregister": ("DELETE", device, nil)
        case "erase": ("POST", device + "/erasure", nil)
        case "conditions": ("PATCH", device + "/conditions", with)
        case "interruption": ("POST", device + "/interruptions", ["kind": with])
        case "power": ("POST", device + "/power", ["event": with])
        case "requestAuthorization": ("POST", app + "/authorization-requests", with)
        case "settings" where self["app"] == nil: ("PUT", device + "/settings", with)
        case "settings": ("PUT", app + "/settings", with)
        case "install": ("PUT", app, with)
        case "uninstall": ("DELETE", app, nil)
        case "open": ("POST", entry, nil)
        case "swipe": ("DELETE", entry, nil)
        case "completeCallback":
            ("POST", app + "/callbacks/\(named("callback"))/completion", with.without("callback"))
        case "beginTask": ("POST", app + "/tasks", with)
        case "endTask": ("DELETE", app + "/tasks/" + (with.string ?? ""), nil)
        case "completeWake": ("POST", app + "/wakes/\(named("wake"))/completion", with.without("wake"))
        case "reportProgress": ("PUT", app + "/wakes/\(named("wake"))/progress", with.without("wake"))
        case "startActivity": ("POST", app + "/activities/" + named("kind"), with.without("kind"))
        case "stopActivity": ("DELETE", app + "/activities/" + (with.string ?? ""), nil)
        case "act": ("POST", app + "/actions", with)
        case "monitorRegion": ("PUT", app + "/regions/" + named("identifier"), with.without("identifier"))
        case "stopMonitoringRegion": ("DELETE", app + "/regions/" + (with.string ?? ""), nil)
        case "monitorBeaconRegion":
            ("PUT", app + "/beacon-regions/" + named("identifier"), with.without("identifier"))
        case "openMonitor": ("PUT", app + "/monitors/" + (with.string ?? ""), nil)
        case "addMonitorCondition":
            (
                "PUT", app + "/monitors/\(named("monitor"))/conditions/\(named("identifier"))",
                with.without("monitor").without("identifier")
            )
        case "removeMonitorCondition":
            ("DELETE", app + "/monitors/\(named("monitor"))/conditions/\(named("identifier"))", nil)
        case "monitorSignificantChanges": ("PUT", app + "/significant-location-changes", nil)
        case "stopMonitoringSignificantChanges": ("DELETE", app + "/significant-location-changes", nil)
        case "monitorVisits": ("PUT", app + "/visits", nil)
        case "stopMonitoringVisits": ("DELETE", app + "/visits", nil)
        case "visit": ("POST", device + "/visits", ["kind": with])
        case "startBluetooth": ("PUT", app + "/bluetooth-managers/" + named("role"), with.without("role"))
        case "stopBluetooth": ("DELETE", app + "/bluetooth-managers/" + (with.string ?? ""), nil)
        case "bluetooth": ("POST", app + "/bluetooth-events", ["event": with])
        case "enableHealthDelivery": ("PUT", app + "/health-deliveries/" + named("type"), with.without("type"))
        case "disableHealthDelivery": ("DELETE", app + "/health-deliveries/" + (with.string ?? ""), nil)
        case "healthSample": ("POST", device + "/health-samples", ["sampleType": with])
        default: ("POST", app + "/transitions", ["event": .string(action)])
        }
    }
}
