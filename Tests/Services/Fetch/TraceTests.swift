import Contracts
import FetchMachine
import Lives
import Foundation
import Machines
import Records
import TestSupport
import Testing
import Timeline

@Suite(.aside) struct FetchTraces {
    @Test func everyGoldenTraceComesOutExactly() throws {
        let folder = try #require(Bundle.module.url(forResource: "Traces", withExtension: nil))
        let traces = try Trace.all(in: folder)
        #expect(traces.count >= 12)
        for (name, trace) in traces {
            var player = TracePlayer<FetchMachine>(name, try .fetch(trace.policy))
            do { try player.play(trace) } catch { Issue.record(error) }
        }
    }
}

extension TracePlayer<FetchMachine>.Script {
    /// Traces begin on a Monday at 00:00 UTC and know one time zone, two hours east. Slots are met without jitter.
    static func fetch(_ settings: JSON = [:]) throws -> Self {
        var policy = FetchPolicy.forTests
        policy.jitter = .zero
        if let seconds = settings["floor"]?.double { policy.floor = .seconds(seconds) }
        return Self(
            key: .device("phone"), beginning: .monday, policy: policy,
            foreign: [
                LifecycleEvent.DeviceRegistered.self, LifecycleEvent.DeviceUpdated.self,
                LifecycleEvent.DeviceDeregistered.self, LifecycleEvent.DevicePowered.self,
                LifecycleEvent.ConditionsChanged.self, LifecycleEvent.SettingsChanged.self,
                LifecycleEvent.AppInstalled.self, LifecycleEvent.AppUninstalled.self, LifecycleEvent.AppLaunched.self,
                LifecycleEvent.AppActivated.self, LifecycleEvent.AppBackgrounded.self,
                LifecycleEvent.AppTerminated.self, LifecycleEvent.AppWoken.self, LifecycleEvent.WakeCompleted.self,
                LifecycleEvent.WakeRefused.self,
            ],
            identifiers: [(FetchEvent.RefreshDue.type, "fetch")],
            command: { action, document in
                let app = document["app"]?.string ?? "a"
                switch action {
                case "setInterval":
                    return .setInterval(app: app, try FetchInterval(json: document["interval"] ?? .null))
                case "simulateFetch": return .simulateFetch(app: app)
                default: throw TraceFailed(place: action, reasons: ["is no action"])
                }
            }, code: \.code)
    }
}
