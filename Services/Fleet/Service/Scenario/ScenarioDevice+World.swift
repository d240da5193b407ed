import Contracts
import Records
import Scenarios
import Timeline

// The person and the surroundings of a device.
extension ScenarioDevice {
    /// Registers the device, installs its apps and reports its surroundings.
    ///
    /// - Returns: whether the suite accepted the device and its apps.
    func begin() async throws(CancellationError) -> Bool {
        guard try await register(generation) else { return false }
        ignoreOrders(upTo: calls.position)
        lastOrder = calls.position?.text
        for app in scenario.apps {
            guard try await call(.lifecycle, "PUT", "/apps/{app}", [app.id], app.manifest.document) != nil else {
                return false
            }
        }
        if group.notifications.allowed == .off {
            for app in scenario.apps where app.notificationAuthorization == .authorized {
                try await denyNotifications(of: app)
            }
        }
        try await scheduleDelivery()
        for app in scenario.apps where app.location != .notDetermined {
            guard app.location != .once || profile.has(.allowOnce) else { continue }
            try await changeSettings(of: app.id, AppSettings(locationAuthorization: app.location))
        }
        if group.backgroundRefresh == .off {
            try await call(.lifecycle, "PUT", "/settings", [], DeviceSettings(backgroundRefresh: .off).document)
        }
        var report = ConditionsReport()
        report.battery = BatteryReport(charging: battery.isCharging, level: battery.level.fraction)
        if isFocused, profile.has(.focus) { report.focus = FocusReport(state: .on) }
        if profile.has(.lowPowerMode) { report.lowPowerMode = isLowPowerMode }
        report.network = network.report(on: profile)
        report.locked = true
        try await reportConditions(report)
        considerConnecting()
        for (number, fault) in faults.enumerated() where fault.at >= now {
            schedule(.beginFault(number), after: fault.at - now)
        }
        return true
    }

    /// Performs an action of the person, or a change of the surroundings.
    func perform(_ action: DeviceAction) async throws(CancellationError) {
        let names = scenario.apps
        switch action {
        case .open(let app): try await open(names[app].id)
        case .home: try await goHome()
        case .forceQuit(let app): try await forceQuit(names[app].id)
        case .withdrawLocation(let app): try await withdrawLocation(names[app].id)
        case .visit(let kind):
            guard isPoweredOn, profile.has(.visits) else { return }
            var report = VisitReport()
            report.kind = kind
            try await call(.lifecycle, "POST", "/visits", [], report.document)
        case .accessory(let app): try await accessoryEvent(app)
        case .healthSample(let type):
            guard isPoweredOn, profile.has(.healthDelivery) else { return }
            try await call(.lifecycle, "POST", "/health-samples", [], ["sampleType": .string(type)])
        case .network(let network):
            plannedNetwork = network
            try await reportNetwork()
        case .battery(let level, let isCharging):
            var report = ConditionsReport()
            report.battery = BatteryReport(charging: isCharging, level: level.fraction)
            try await reportConditions(report)
        case .focus(let isOn):
            guard profile.has(.focus) else { return }
            var report = ConditionsReport()
            report.focus = FocusReport(state: isOn ? .on : .off)
            try await reportConditions(report)
        case .lowPowerMode(let isOn):
            guard profile.has(.lowPowerMode) else { return }
            var report = ConditionsReport()
            report.lowPowerMode = isOn
            try await reportConditions(report)
        case .update(let name): try await update(to: name)
        }
    }

    /// The person opens an app, with the device unlocked. A device that is off stays off.
    private func open(_ app: String) async throws(CancellationError) {
        guard isPoweredOn else { return }
        let device = try await state()
        guard let state = device.state(of: app) else { return }
        uses += 1
        try await unlock(device)
        guard state != .active else { return }
        try await transition(app, state == .notRunning ? "launch" : "open")
    }

    /// Unlocks the device if it is locked.
    func unlock(_ device: JSON) async throws(CancellationError) {
        guard device["conditions"]?["locked"]?.bool == true else { return }
        var report = ConditionsReport()
        report.locked = false
        try await reportConditions(report)
    }

    /// The person leaves the app on screen.
    func goHome() async throws(CancellationError) {
        guard let app = try await state().foreground else { return }
        try await transition(app, "home")
        schedule(.lock, after: DeviceTimes.lock)
    }

    /// Locks the device unless it is in use again.
    func lock() async throws(CancellationError) {
        let device = try await state()
        guard device.foreground == nil, device["conditions"]?["locked"]?.bool == false else { return }
        var report = ConditionsReport()
        report.locked = true
        try await reportConditions(report)
    }

    private func forceQuit(_ app: String) async throws(CancellationError) {
        let device = try await state()
        let isInSwitcher = device["switcher"]?.items?.contains(.string(app)) == true
        guard isInSwitcher || device.state(of: app) != .notRunning else { return }
        try await transition(app, "swipe")
    }

    /// The device installs another generation of iOS, and restarts.
    private func update(to name: ProfileName) async throws(CancellationError) {
        guard try await register(name) else { return }
        generation = name
        profile = Generations.standard[name]
        if isPoweredOn { try await power("reboot") }
    }

    /// - Returns: whether the suite accepted the device.
    private func register(_ generation: ProfileName) async throws(CancellationError) -> Bool {
        var registration = Registration()
        registration.profile = generation
        registration.timeZone = planned.timeZone.name
        registration.fleet = world.fleet
        registration.simulate = scenario.builtInDevice
        return try await call(.lifecycle, "PUT", "", [], registration.document) != nil
    }

    /// Changes the power. A device without power loses its connection.
    func power(_ event: String) async throws(CancellationError) {
        try await call(.lifecycle, "POST", "/power", [], ["event": .string(event)])
        isPoweredOn = event != "off"
        isConnected = false
        considerConnecting()
    }

    func transition(_ app: String, _ event: String) async throws(CancellationError) {
        try await call(.lifecycle, "POST", "/apps/{app}/transitions", [app], ["event": .string(event)])
    }

    func changeSettings(of app: String, _ settings: AppSettings) async throws(CancellationError) {
        try await call(.lifecycle, "PUT", "/apps/{app}/settings", [app], settings.document)
    }

    func reportConditions(_ report: ConditionsReport) async throws(CancellationError) {
        try await call(.lifecycle, "PATCH", "/conditions", [], report.document)
    }

    // MARK: Network

    /// The current network of the device.
    var network: NetworkText {
        activeFaults.contains { faults[$0].kind == .lostRadio } ? NetworkText(.none) : plannedNetwork
    }

    /// Whether the device has power and a network.
    var isReachable: Bool { isPoweredOn && network.word != .none }

    /// Reports the new network. A device without one loses its connection.
    func reportNetwork() async throws(CancellationError) {
        var report = ConditionsReport()
        report.network = network.report(on: profile)
        if !isReachable { isConnected = false }
        try await reportConditions(report)
        considerConnecting()
    }

    /// Schedules a connection to `push` if the device lacks one.
    func considerConnecting() {
        guard isReachable, !isConnected, !isConnecting, world.has(.push) else { return }
        isConnecting = true
        schedule(.connect, after: DeviceTimes.connection)
    }
}

extension JSON {
    /// The state of an app in the state of a device.
    func state(of app: String) -> AppState? {
        self["apps"]?[app]?["state"]?.string.flatMap(AppState.init(rawValue:))
    }

    /// The app on screen in the state of a device.
    var foreground: String? {
        self["apps"]?.members?.first { member in
            member.value["state"]?.string.flatMap(AppState.init(rawValue:))?.isForeground == true
        }?.name
    }
}
