import Contracts
import LifecycleCore
import OrderedCollections
import PushCore
import Scenarios
import Timeline

// Visits, accessories, samples and activities: what wakes apps beside pushes, refreshes and transfers.
extension DeviceSimulation {
    /// Sets the location authorization that people give to the apps.
    mutating func authorizeLocation(_ context: inout PartitionContext) throws {
        for app in context.plan.scenario.apps where app.location != .notDetermined {
            guard app.location != .once || profile.has(.allowOnce) else { continue }
            try submit(.changeSettings(app: app.id, AppSettings(locationAuthorization: app.location)), &context)
        }
    }

    /// The code of an app after its launch: it starts to wait for its events.
    mutating func awaitEvents(_ app: ScenarioApp, _ context: inout PartitionContext) throws {
        guard let record = lifecycle.state.apps[app.id] else { return }
        if app.visits, profile.has(.visits), record.getsLocations, !record.monitorsVisits {
            try submit(.monitorVisits(app: app.id), &context)
        }
        if let plan = app.bluetooth, record.bluetooth[BluetoothRole.central.rawValue] == nil {
            let restores = plan.restores && profile.has(.bluetoothRestoration)
            let manager = BluetoothManager(restoreIdentifier: restores ? "central" : nil)
            try submit(.startBluetooth(app: app.id, .central, manager), &context)
        }
        if let plan = app.health, profile.has(.healthDelivery), record.health[plan.sampleType] == nil {
            let delivery = HealthDelivery(frequency: plan.frequency)
            try submit(.enableHealthDelivery(app: app.id, sampleType: plan.sampleType, delivery), &context)
        }
    }

    /// The code of an app joins its channel of Push to Talk, and gets a token for it.
    mutating func joinChannel(_ index: Int, _ app: ScenarioApp, _ context: inout PartitionContext) throws {
        guard app.backgroundModes.contains(.pushToTalk), apps[index].pushToTalkToken == nil, profile.has(.pushToTalk)
        else { return }
        try submit(.register(app: app.id, .production, kind: .pushtotalk), &context)
    }

    mutating func visit(_ kind: VisitKind, _ context: inout PartitionContext) throws {
        guard lifecycle.state.isPoweredOn, profile.has(.visits) else { return }
        try submit(.visit(kind), &context)
    }

    /// The accessory of an app has a new value. An accessory that no manager waits for causes no event.
    mutating func accessoryEvent(_ app: String, _ context: inout PartitionContext) throws {
        guard lifecycle.state.isPoweredOn,
            lifecycle.state.apps[app]?.bluetooth[BluetoothRole.central.rawValue] != nil
        else { return }
        try submit(.bluetooth(app: app, .valueUpdated), &context)
    }

    mutating func saveSample(_ type: String, _ context: inout PartitionContext) throws {
        guard lifecycle.state.isPoweredOn, profile.has(.healthDelivery) else { return }
        try submit(.saveHealthSample(sampleType: type), &context)
    }

    /// The person withdraws an app's permission for location.
    mutating func withdrawLocation(_ app: String, _ context: inout PartitionContext) throws {
        guard lifecycle.state.apps[app]?.getsLocations == true else { return }
        try submit(.changeSettings(app: app, AppSettings(locationAuthorization: .denied)), &context)
    }

    /// Schedules the activity of an app that the person opened, if it has one.
    mutating func scheduleActivity(of app: Int, _ context: PartitionContext) {
        guard context.plan.scenario.apps[app].activity != nil else { return }
        schedule(.startActivity, of: app, after: DeviceTimes.activity)
    }

    /// Starts the activity of an app that the person opened.
    mutating func startActivity(_ index: Int, _ app: ScenarioApp, _ context: inout PartitionContext) throws {
        guard let plan = app.activity, let record = lifecycle.state.apps[app.id],
            record.activities[plan.kind.rawValue] == nil,
            plan.kind != .backgroundActivitySession || profile.has(.backgroundActivitySession),
            plan.kind != .newsstand || profile.has(.newsstand), !plan.kind.needsLocation || record.getsLocations
        else { return }
        let request = ActivityRequest(allowsBackgroundLocationUpdates: true)
        guard try submit(.startActivity(app: app.id, plan.kind, request), &context) else { return }
        var random = draw(.activities, context)
        schedule(.stopActivity, of: index, after: max(.seconds(1.0), plan.takes.drawn(&random)))
    }

    mutating func stopActivity(_ app: ScenarioApp, _ context: inout PartitionContext) throws {
        guard let kind = app.activity?.kind, lifecycle.state.apps[app.id]?.activities[kind.rawValue] != nil else {
            return
        }
        try submit(.stopActivity(app: app.id, kind), &context)
    }
}

extension InstalledApp {
    /// Whether the user allows locations.
    fileprivate var getsLocations: Bool {
        switch locationAuthorization {
        case .whenInUse, .always, .once: true
        case .notDetermined, .denied: false
        }
    }
}
