import Contracts
package import FetchCore
package import MachineTesting
import Machines
import OrderedCollections
import RandomScenarios
import Records
import Timeline

extension FetchMachine: TracedMachine {
    package static let folder = "Fetch"
    package static let fewestTraces = 44
    package static func script(_ trace: Trace) throws -> TraceScript<Self> { try .fetch(trace) }
}

extension TraceScript<FetchMachine> {
    /// Traces begin on a Monday at 00:00 UTC and have one time zone, two hours east. Slots have no jitter.
    package static func fetch(_ trace: Trace) throws -> Self {
        var policy = FetchPolicy.forTests
        policy.jitter = .zero
        policy.ceiling = trace["policy"]?["ceiling"]?.double.map { Int($0) }
        if let seconds = trace["policy"]?["floor"]?.double { policy.floor = .seconds(seconds) }
        if let joules = trace["policy"]?["appEnergy"]?.double { policy.appBudget.millijoules = Int(joules * 1000) }
        if let joules = trace["policy"]?["deviceEnergy"]?.double {
            policy.deviceBudget.millijoules = Int(joules * 1000)
        }
        if let bytes = trace["policy"]?["appData"]?.double { policy.appBudget.bytes = Int(bytes) }
        if let seconds = trace["policy"]?["deviceSpacing"]?.double { policy.deviceSpacing = .seconds(seconds) }
        var script = Self(policy: policy, code: \.code) { step, _ in
            let app = step.with["app"]?.string ?? "a"
            switch step.action {
            case "setInterval":
                return .setInterval(app: app, try FetchInterval(json: step.with["interval"] ?? .null))
            case "simulateFetch": return .simulateFetch(app: app)
            case "submit":
                return .submitTask(app: app, try BackgroundTaskRequest(json: step.with.without("app")))
            case "cancel": return .cancelTask(app: app, identifier: step.identifier)
            case "cancelAll": return .cancelAllTasks(app: app)
            case "cancelByUser": return .cancelContinuedTask(app: app, identifier: step.identifier)
            case "simulateLaunch": return .simulateTaskLaunch(app: app, identifier: step.identifier)
            case "simulateExpiration": return .simulateTaskExpiration(app: app, identifier: step.identifier)
            default: throw TraceFailed.unknown(step)
            }
        }
        script.beginning = .monday
        script.settings = ["policy"]
        script.identifiers = [(FetchEvent.RefreshDue.type, "fetch"), (FetchEvent.TaskDue.type, "request")]
        script.views["pending"] = { device, step in
            .array((device.apps[step.with["app"]?.string ?? "a"]?.tasks.keys ?? []).map(JSON.string))
        }
        script.event = { step, _ in
            try step.event(of: [
                LifecycleEvent.DeviceRegistered.self, LifecycleEvent.DeviceUpdated.self,
                LifecycleEvent.DeviceDeregistered.self, LifecycleEvent.DevicePowered.self,
                LifecycleEvent.ConditionsChanged.self, LifecycleEvent.SettingsChanged.self,
                LifecycleEvent.AppInstalled.self, LifecycleEvent.AppUninstalled.self, LifecycleEvent.AppLaunched.self,
                LifecycleEvent.AppActivated.self, LifecycleEvent.AppBackgrounded.self, LifecycleEvent.AppSuspended.self,
                LifecycleEvent.AppTerminated.self, LifecycleEvent.AppWoken.self, LifecycleEvent.WakeCompleted.self,
                LifecycleEvent.WakeRefused.self, LifecycleEvent.WakeExpired.self,
            ])
        }
        return script
    }
}

extension TraceStep {
    fileprivate var identifier: String { with["identifier"]?.string ?? "" }
}
