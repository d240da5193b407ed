import Contracts
import LifecycleCore
import Machines
import OrderedCollections
import Scenarios
import Timeline

// The question of an app for authorization to send notifications, and the answer of the person.
extension DeviceSimulation {
    /// Schedules the question of an app that comes on screen without having asked.
    mutating func scheduleQuestion(of app: Int, _ context: PartitionContext) {
        let plan = context.plan.scenario.apps[app]
        guard asksForNotifications(plan) else { return }
        schedule(.askForNotifications, of: app, after: DeviceTimes.question)
    }

    /// The app asks. The system can show the question only while the app is on screen.
    mutating func askForNotifications(_ app: ScenarioApp, _ context: inout PartitionContext) throws {
        guard asksForNotifications(app), lifecycle.state.apps[app.id]?.state.isForeground == true else { return }
        let isDenied = context.plan.scenario.people[device.group].notifications.allowed == .off
        let isOnTrial = app.notificationAuthorization == .provisional && profile.has(.provisionalAuthorization)
        var request = AuthorizationRequest(answer: isDenied ? .deny : .allow, options: [.alert, .badge, .sound])
        if isOnTrial { request.options.append(.provisional) }
        try submit(.requestAuthorization(app: app.id, request), &context)
        if isOnTrial, isDenied { try denyNotifications(of: app, &context) }
    }

    /// The person turns the notifications of an app off in the settings.
    mutating func denyNotifications(of app: ScenarioApp, _ context: inout PartitionContext) throws {
        try submit(.changeSettings(app: app.id, AppSettings(notifications: .init(authorization: .denied))), &context)
    }

    /// Puts apps into the scheduled summary, and sets its times.
    mutating func scheduleDelivery(_ group: Group, _ context: inout PartitionContext) throws {
        guard profile.has(.scheduledSummary) else { return }
        for app in context.plan.scenario.apps where app.scheduledDelivery {
            let change = NotificationSettingsChange(scheduledDelivery: .on)
            try submit(.changeSettings(app: app.id, AppSettings(notifications: change)), &context)
        }
        guard let times = group.summaryTimes else { return }
        // A summary has no seconds, and 24:00 is the 00:00 of the next day.
        let minutes = times.items.map { $0.sinceMidnight.milliseconds / 60_000 % 1440 }
        let texts = minutes.map { ClockTime(.minutes($0)).description }
        try submit(.changeDeviceSettings(DeviceSettings(summaryTimes: texts)), &context)
    }

    /// Whether an app asks, and has not asked yet.
    private func asksForNotifications(_ app: ScenarioApp) -> Bool {
        guard app.notificationAuthorization == .asked || app.notificationAuthorization == .provisional else {
            return false
        }
        return lifecycle.state.apps[app.id]?.notifications.authorization == .notDetermined
    }
}
