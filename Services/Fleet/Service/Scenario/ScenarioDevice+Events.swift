import Contracts
import Records
import Scenarios
import Timeline

// Visits, accessories, samples, activities and transfers, which wake apps too.
extension ScenarioDevice {
    /// The code of an app after its launch: it starts to wait for its events.
    func awaitEvents(_ index: Int, _ app: ScenarioApp) async throws(CancellationError) {
        guard app.visits || app.bluetooth != nil || app.health != nil else { return }
        let record = try await call(.lifecycle, "GET", "/apps/{app}", [app.id]) ?? .null
        if app.visits, profile.has(.visits), record.getsLocations, record["monitorsVisits"]?.bool != true {
            try await call(.lifecycle, "PUT", "/apps/{app}/visits", [app.id])
        }
        if let plan = app.bluetooth, record["bluetooth"]?["central"] == nil {
            let restores = plan.restores && profile.has(.bluetoothRestoration)
            let manager: JSON = restores ? ["restoreIdentifier": "central"] : [:]
            try await call(
                .lifecycle, "PUT", "/apps/{app}/bluetooth-managers/{role}", [app.id, "central"], manager)
        }
        if let plan = app.health, profile.has(.healthDelivery), record["health"]?[plan.sampleType] == nil {
            try await call(
                .lifecycle, "PUT", "/apps/{app}/health-deliveries/{type}", [app.id, plan.sampleType],
                ["frequency": .string(plan.frequency.rawValue)])
        }
    }

    /// The accessory of an app has a new value. An accessory that no manager waits for causes no event.
    func accessoryEvent(_ index: Int) async throws(CancellationError) {
        let app = scenario.apps[index].id
        guard isPoweredOn, try await state()["apps"]?[app]?["bluetooth"]?["central"] != nil else { return }
        try await call(.lifecycle, "POST", "/apps/{app}/bluetooth-events", [app], ["event": "valueUpdated"])
    }

    /// The person withdraws an app's permission for location.
    func withdrawLocation(_ app: String) async throws(CancellationError) {
        guard try await state()["apps"]?[app]?.getsLocations == true else { return }
        try await changeSettings(of: app, AppSettings(locationAuthorization: .denied))
    }

    // MARK: Activities

    /// Starts the activity of an app that the person opened.
    func startActivity(_ index: Int, _ app: ScenarioApp) async throws(CancellationError) {
        guard let plan = app.activity, apps[index].activity == nil,
            plan.kind != .backgroundActivitySession || profile.has(.backgroundActivitySession),
            plan.kind != .newsstand || profile.has(.newsstand)
        else { return }
        if plan.kind.needsLocation, try await state()["apps"]?[app.id]?.getsLocations != true { return }
        let route = "/apps/{app}/activities/{kind}"
        let request = ActivityRequest(allowsBackgroundLocationUpdates: true).document
        guard try await call(.lifecycle, "POST", route, [app.id, plan.kind.rawValue], request) != nil else { return }
        apps[index].activity = plan.kind
        var random = draw(.activities)
        schedule(.stopActivity, of: index, after: max(.seconds(1), plan.takes.drawn(&random)))
    }

    func stopActivity(_ index: Int, _ app: ScenarioApp) async throws(CancellationError) {
        guard let kind = apps[index].activity else { return }
        apps[index].activity = nil
        try await call(.lifecycle, "DELETE", "/apps/{app}/activities/{kind}", [app.id, kind.rawValue])
    }

    // MARK: Transfers

    /// Schedules the transfers of an app that begin now.
    func startTransfers(_ start: TransferPlan.Start, of app: Int, at time: Instant) {
        guard world.has(.transfer) else { return }
        for (number, plan) in scenario.apps[app].transfers.enumerated() where plan.start == start {
            guard apps[app].started[number] < plan.limit ?? .max else { continue }
            apps[app].started[number] += 1
            schedule(.startTransfer(plan: number), of: app, after: DeviceTimes.transfer, from: time)
        }
    }

    /// The app opens the session of a plan, and starts a task in it. The suite moves the bytes by its rules, because the
    /// device is built-in.
    func startTransfer(_ number: Int, _ app: ScenarioApp) async throws(CancellationError) {
        guard profile.has(.backgroundSessions) else { return }
        let plan = app.transfers[number]
        let session = [app.id, TransferPlan.session(number)]
        let route = "/apps/{app}/sessions/{session}"
        let configuration = plan.configuration(on: profile)
        guard try await call(.transfer, "PUT", route, session, configuration.document) != nil else { return }
        let request = plan.request(app: app.id, number: number)
        switch plan.kind {
        case .download:
            try await call(
                .transfer, "POST", route + "/downloads", session,
                [
                    "countOfBytesClientExpectsToReceive": .int(plan.size.bytes), "url": .string(request.url),
                    "resume": true,
                ])
        case .upload:
            let file = TransferPlan.file(number)
            guard try await write(file, plan.size.bytes, of: app) else { return }
            try await call(
                .transfer, "POST", route + "/uploads", session,
                [
                    "url": .string(request.url), "method": .string(request.method), "file": .string(file),
                    "resume": true,
                ])
        }
    }
}

extension ScenarioDevice {
    /// Writes a file of an app, unless the app has it. The file has no content, and only a length.
    private func write(_ name: String, _ size: Int, of app: ScenarioApp) async throws(CancellationError) -> Bool {
        guard writtenFiles.insert(app.id + "/" + name).inserted else { return true }
        var call = Call(
            .transfer, "PUT", "/v1/devices/{device}/apps/{app}/files/{name}", [self.name, app.id, name])
        call.query = "length=\(size)"
        let isWritten = try await perform(call) != nil
        if !isWritten { writtenFiles.remove(app.id + "/" + name) }
        return isWritten
    }
}

extension JSON {
    /// Whether the user allows locations, in the record of an app.
    fileprivate var getsLocations: Bool {
        switch self["locationAuthorization"]?.string.flatMap(LocationAuthorization.init(rawValue:)) {
        case .whenInUse, .always, .once: true
        case .notDetermined, .denied, nil: false
        }
    }
}
