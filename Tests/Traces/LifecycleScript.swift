package import Contracts
package import LifecycleCore
package import MachineTesting
import Machines
import OrderedCollections
import Records

extension LifecycleMachine: TracedMachine {
    package static let folder = "Lifecycle"
    package static let fewestTraces = 100
    package static func script(_ trace: Trace) throws -> TraceScript<Self> { try .lifecycle(trace) }
}

extension TraceScript<LifecycleMachine> {
    /// Returns the script of a trace. At its start the device is registered and its apps are installed. `states` are
    /// the states of apps, `switcher` is the app switcher.
    package static func lifecycle(_ trace: Trace) throws -> Self {
        let policy = LifecyclePolicy(generations: try trace.generations)
        var script = Self(policy: policy, code: \.code) { step, _ in try command(step) }
        script.settings = ["profile", "registration", "apps", "readings"]
        let registration = (trace["registration"] ?? [:]).overlaid(with: ["profile": trace["profile"] ?? .null])
        let apps = trace["apps"]?.members ?? []
        script.preamble =
            [TraceStep(document: ["do": "register", "with": registration])]
            + apps.map { TraceStep(document: ["do": "install", "app": .string($0.name), "with": $0.value]) }
        script.identifiers = [
            (LifecycleEvent.TaskBegun.type, "task"), (LifecycleEvent.AppWoken.type, "wake"),
        ]
        script.views["states"] = { device, _ in
            .object(device.apps.map { JSON.Member($0.key, .string($0.value.state.rawValue)) })
        }
        script.views["switcher"] = { device, _ in .array(device.switcher.map(JSON.string)) }
        script.event = { step, _ in try wakeRequest(step) }
        return script
    }

    private static func command(_ step: TraceStep) throws -> LifecycleCommand {
        let app = step.app
        let with = step.with
        if let transition = AppTransition(rawValue: step.action) { return .transition(app: app, transition) }
        switch step.action {
        case "deregister": return .deregister
        case "erase": return .erase
        case "takeOver": return .takeOver(client: with.string ?? "")
        case "giveBack": return .giveBack(client: with.string ?? "")
        case "register": return .register(try Registration(json: with))
        case "conditions": return .updateConditions(try ConditionsReport(json: with))
        case "interruption": return .interrupt(try InterruptionKind(json: with))
        case "power": return .power(try PowerEvent(json: with))
        case "install": return .install(app: app, try Manifest(json: with))
        case "uninstall": return .uninstall(app: app)
        case "completeCallback":
            let callback = try Callback(json: with["callback"] ?? .null)
            return .completeCallback(app: app, callback, try CallbackCompletion(json: with.without("callback")))
        case "beginTask": return .beginTask(app: app, try TaskRequest(json: with))
        case "endTask": return .endTask(app: app, task: with.string ?? "")
        case "completeWake":
            let completion = try WakeCompletion(json: with.without("wake"))
            return .completeWake(app: app, wake: with["wake"]?.string ?? "", completion)
        case "reportProgress":
            let progress = try TaskProgress(json: with.without("wake"))
            return .reportProgress(app: app, wake: with["wake"]?.string ?? "", progress)
        case "startActivity":
            let kind = try ActivityKind(json: with["kind"] ?? .null)
            return .startActivity(app: app, kind, try ActivityRequest(json: with.without("kind")))
        case "stopActivity": return .stopActivity(app: app, try ActivityKind(json: with))
        case "act": return .act(app: app, try ActionReport(json: with))
        case "monitorRegion":
            let region = try Region(json: with.without("identifier"))
            return .monitorRegion(app: app, region: with["identifier"]?.string ?? "", region)
        case "stopMonitoringRegion": return .stopMonitoringRegion(app: app, region: with.string ?? "")
        case "monitorBeaconRegion":
            let region = try BeaconRegion(json: with.without("identifier"))
            return .monitorBeaconRegion(app: app, region: with["identifier"]?.string ?? "", region)
        case "openMonitor": return .openMonitor(app: app, monitor: with.string ?? "")
        case "addMonitorCondition":
            let condition = try MonitorCondition(json: with.without("monitor").without("identifier"))
            return .addMonitorCondition(
                app: app, monitor: with["monitor"]?.string ?? "", condition: with["identifier"]?.string ?? "", condition
            )
        case "removeMonitorCondition":
            return .removeMonitorCondition(
                app: app, monitor: with["monitor"]?.string ?? "", condition: with["identifier"]?.string ?? "")
        case "monitorSignificantChanges": return .monitorSignificantChanges(app: app)
        case "stopMonitoringSignificantChanges": return .stopMonitoringSignificantChanges(app: app)
        case "monitorVisits": return .monitorVisits(app: app)
        case "stopMonitoringVisits": return .stopMonitoringVisits(app: app)
        case "visit": return .visit(try VisitKind(json: with))
        case "startBluetooth":
            let manager = try BluetoothManager(json: with.without("role"))
            return .startBluetooth(app: app, try BluetoothRole(json: with["role"] ?? .null), manager)
        case "stopBluetooth": return .stopBluetooth(app: app, try BluetoothRole(json: with))
        case "bluetooth": return .bluetooth(app: app, try BluetoothEvent(json: with))
        case "enableHealthDelivery":
            return .enableHealthDelivery(
                app: app, sampleType: with["type"]?.string ?? "", try HealthDelivery(json: with.without("type")))
        case "disableHealthDelivery": return .disableHealthDelivery(app: app, sampleType: with.string ?? "")
        case "healthSample": return .saveHealthSample(sampleType: with.string ?? "")
        case "requestAuthorization":
            return .requestAuthorization(app: app, try AuthorizationRequest(json: with))
        case "settings" where step["app"] == nil: return .changeDeviceSettings(try DeviceSettings(json: with))
        case "settings": return .changeSettings(app: app, try AppSettings(json: with))
        default: throw TraceFailed.unknown(step)
        }
    }

    /// Returns the wake request of another service in a step; nil for other steps.
    package static func wakeRequest(_ step: TraceStep) throws -> (any EventData)? {
        let app = step.app
        let with = step.with
        switch step.action {
        case "refreshDue": return FetchEvent.RefreshDue(app: app, fetch: with.string ?? "")
        case "pushWakeRequested":
            return PushEvent.WakeRequested(
                app: app, notification: with["notification"]?.string ?? "", payload: with["payload"] ?? .null,
                pushType: with["pushType"]?.string.flatMap { PushType(rawValue: $0) })
        case "notificationOpened":
            return PushEvent.NotificationOpened(
                actionIdentifier: with["actionIdentifier"]?.string, app: app, notification: "n",
                userText: with["userText"]?.string)
        case "notificationResponded":
            return PushEvent.NotificationResponded(
                actionIdentifier: with["actionIdentifier"]?.string ?? "", app: app, notification: "n",
                userText: with["userText"]?.string)
        case "taskDue":
            return FetchEvent.TaskDue(
                app: app, expirationHandler: with["expirationHandler"]?.bool ?? true,
                identifier: with["identifier"]?.string ?? "", kind: try TaskRequestKind(json: with["kind"] ?? .null),
                request: with["request"]?.string ?? "")
        case "taskStopped":
            return FetchEvent.TaskStopped(
                app: app, cause: try TaskStopCause(json: with["cause"] ?? .null),
                identifier: with["identifier"]?.string ?? "", request: with["request"]?.string ?? "")
        case "transferWakeRequested": return TransferEvent.WakeRequested(app: app, session: with.string ?? "")
        default: return nil
        }
    }
}
