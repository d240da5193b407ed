import OrderedCollections
import Contracts
import LifecycleCore
import Machines
import PushCore
import Scenarios
import Timeline

// The person and the surroundings of a device.
extension DeviceSimulation {
    /// Registers the device, installs its apps and connects to `push`.
    mutating func begin(_ context: inout PartitionContext) throws {
        let scenario = context.plan.scenario
        let group = scenario.people[device.group]
        var registration = Registration(profile: device.profile)
        registration.timeZone = device.timeZone.name
        registration.simulate = scenario.builtInDevice
        try submit(.register(registration), &context)
        try settle(&context)
        for app in scenario.apps { try submit(.install(app: app.id, app.manifest), &context) }
        try settle(&context)
        if group.notifications.allowed == .off {
            for app in scenario.apps where app.notificationAuthorization == .authorized {
                try denyNotifications(of: app, &context)
            }
        }
        try scheduleDelivery(group, &context)
        try authorizeLocation(&context)
        if group.backgroundRefresh == .off {
            try submit(.changeDeviceSettings(DeviceSettings(backgroundRefresh: .off)), &context)
        }
        let initial = context.plan.timeline(of: device.index).initial
        var report = ConditionsReport()
        report.battery = BatteryReport(charging: initial.isCharging, level: initial.level.fraction)
        if initial.isFocused, profile.has(.focus) { report.focus = FocusReport(state: .on) }
        if profile.has(.lowPowerMode) { report.lowPowerMode = initial.isLowPowerMode }
        report.network = network.report(on: profile)
        report.locked = true
        try submit(.updateConditions(report), &context)
        for (number, fault) in faults.enumerated() { schedule(.beginFault(number), after: fault.at - now) }
    }

    /// Performs an action of the person, or a change of the surroundings.
    mutating func perform(_ action: DeviceAction, _ context: inout PartitionContext) throws {
        let names = context.plan.scenario.apps
        switch action {
        case .open(let app): try open(names[app].id, &context)
        case .home: try goHome(&context)
        case .forceQuit(let app):
            let name = names[app].id
            guard lifecycle.state.switcher.contains(name) || lifecycle.state.apps[name]?.state != .notRunning else {
                return
            }
            try submit(.transition(app: name, .swipe), &context)
        case .withdrawLocation(let app): try withdrawLocation(names[app].id, &context)
        case .visit(let kind): try visit(kind, &context)
        case .accessory(let app): try accessoryEvent(names[app].id, &context)
        case .healthSample(let type): try saveSample(type, &context)
        case .network(let network):
            plannedNetwork = network
            try reportNetwork(&context)
        case .battery(let level, let isCharging):
            var report = ConditionsReport()
            report.battery = BatteryReport(charging: isCharging, level: level.fraction)
            try submit(.updateConditions(report), &context)
        case .focus(let isOn):
            guard profile.has(.focus) else { return }
            var report = ConditionsReport()
            report.focus = FocusReport(state: isOn ? .on : .off)
            try submit(.updateConditions(report), &context)
        case .lowPowerMode(let isOn):
            guard profile.has(.lowPowerMode) else { return }
            var report = ConditionsReport()
            report.lowPowerMode = isOn
            try submit(.updateConditions(report), &context)
        case .update(let name):
            guard var registration = lifecycle.state.registration else { return }
            registration.profile = name
            profile = context.policies.lifecycle[name]
            try submit(.register(registration), &context)
            if lifecycle.state.isPoweredOn { try submit(.power(.reboot), &context) }
        }
    }

    /// The person opens an app, with the device unlocked. A device that is off stays off.
    private mutating func open(_ app: String, _ context: inout PartitionContext) throws {
        guard lifecycle.state.isPoweredOn, let record = lifecycle.state.apps[app] else { return }
        uses += 1
        if lifecycle.state.conditions.locked == true {
            var report = ConditionsReport()
            report.locked = false
            try submit(.updateConditions(report), &context)
            try settle(&context)
        }
        guard record.state != .active else { return }
        try submit(.transition(app: app, record.state == .notRunning ? .launch : .open), &context)
    }

    /// The person leaves the app on screen.
    mutating func goHome(_ context: inout PartitionContext) throws {
        guard let app = lifecycle.state.foreground else { return }
        try submit(.transition(app: app, .home), &context)
        schedule(.lock, after: DeviceTimes.lock)
    }

    /// Locks the device unless it is in use again.
    mutating func lock(_ context: inout PartitionContext) throws {
        guard lifecycle.state.foreground == nil, lifecycle.state.conditions.locked == false else { return }
        var report = ConditionsReport()
        report.locked = true
        try submit(.updateConditions(report), &context)
    }

    // MARK: Network

    /// The current network of the device.
    var network: NetworkText {
        let isLost = activeFaults.contains { faults[$0].kind == .lostRadio }
        return isLost ? NetworkText(.none) : plannedNetwork
    }

    mutating func reportNetwork(_ context: inout PartitionContext) throws {
        var report = ConditionsReport()
        report.network = network.report(on: profile)
        try submit(.updateConditions(report), &context)
    }
}
