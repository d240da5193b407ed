import Contracts
import Records
import Scenarios
import Timeline

// The question of an app for authorization to send notifications, the answer of the person, and the scheduled summary.
extension ScenarioDevice {
    /// Schedules the question of an app that comes on screen.
    func scheduleQuestion(of app: Int, at time: Instant) {
        guard scenario.apps[app].asks, !apps[app].hasAsked else { return }
        schedule(.askForNotifications, of: app, after: DeviceTimes.question, from: time)
    }

    /// The app asks. The system can show the question only while the app is on screen.
    func askForNotifications(_ index: Int, _ app: ScenarioApp) async throws(CancellationError) {
        guard !apps[index].hasAsked, try await state().state(of: app.id)?.isForeground == true else { return }
        let isDenied = group.notifications.allowed == .off
        let isOnTrial = app.notificationAuthorization == .provisional && profile.has(.provisionalAuthorization)
        var request = AuthorizationRequest(answer: isDenied ? .deny : .allow, options: [.alert, .badge, .sound])
        if isOnTrial { request.options.append(.provisional) }
        let route = "/apps/{app}/authorization-requests"
        guard try await call(.lifecycle, "POST", route, [app.id], request.document) != nil else { return }
        apps[index].hasAsked = true
        if isOnTrial, isDenied { try await denyNotifications(of: app) }
    }

    /// The person turns the notifications of an app off in the settings.
    func denyNotifications(of app: ScenarioApp) async throws(CancellationError) {
        try await changeSettings(of: app.id, AppSettings(notifications: .init(authorization: .denied)))
    }

    /// Puts apps into the scheduled summary, and sets its times.
    func scheduleDelivery() async throws(CancellationError) {
        guard profile.has(.scheduledSummary) else { return }
        for app in scenario.apps where app.scheduledDelivery {
            let change = NotificationSettingsChange(scheduledDelivery: .on)
            try await changeSettings(of: app.id, AppSettings(notifications: change))
        }
        guard let times = group.summaryTimes else { return }
        // A summary has no seconds, and 24:00 is the 00:00 of the next day.
        let minutes = times.items.map { $0.sinceMidnight.milliseconds / 60_000 % 1440 }
        let texts = minutes.map { ClockTime(.minutes($0)).description }
        try await call(.lifecycle, "PUT", "/settings", [], DeviceSettings(summaryTimes: texts).document)
    }
}

extension ScenarioApp {
    /// Whether its code asks for authorization.
    fileprivate var asks: Bool { notificationAuthorization == .asked || notificationAuthorization == .provisional }
}
