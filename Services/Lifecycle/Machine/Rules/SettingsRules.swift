public import Contracts
import Machines
import OrderedCollections
import Timeline

// Settings of the user, and the resulting status of Background App Refresh.
extension Decision<LifecycleMachine> {
    mutating func changeSettings(_ app: String, _ report: AppSettings) throws(LifecycleRefusal) {
        let current = try installed(app).settings
        if report.backgroundRefresh != nil { try require(.backgroundAppRefresh) }
        if report.locationAuthorization == .once { try require(.allowOnce) }
        if let accuracy = report.locationAccuracy { try requireAccuracy(accuracy, app) }
        if let notifications = report.notifications { try requireFeatures(of: notifications, app) }
        var settings = current
        if let refresh = report.backgroundRefresh, refresh != current.backgroundRefresh {
            guard !state.restrictions.backgroundRefresh else { throw .restricted }
            settings.backgroundRefresh = refresh
        }
        settings.locationAuthorization = report.locationAuthorization ?? settings.locationAuthorization
        if let change = report.notifications {
            settings.notifications = settings.notifications?.changed(by: change)
        }
        // Full accuracy needs no temporary permission.
        if let accuracy = report.locationAccuracy, accuracy != .temporaryFull || current.locationAccuracy != .full {
            settings.locationAccuracy = accuracy
        }
        guard settings != current else { return }
        change(to: settings, of: app)
    }

    /// A restricted setting can change only together with the end of the restriction.
    mutating func changeSettings(_ report: DeviceSettings) throws(LifecycleRefusal) {
        if report.backgroundRefresh != nil || report.restrictions != nil { try require(.backgroundAppRefresh) }
        if report.summaryTimes != nil { try require(.scheduledSummary) }
        let current = state.settings
        var settings = current
        settings.summaryTimes = report.summaryTimes ?? settings.summaryTimes
        settings.restrictions = report.restrictions ?? settings.restrictions
        if let refresh = report.backgroundRefresh, refresh != current.backgroundRefresh {
            guard settings.restrictions?.backgroundRefresh != true else { throw .restricted }
            settings.backgroundRefresh = refresh
        }
        guard settings != current else { return }
        change(to: settings, of: nil)
    }

    /// Ends the authorization of "Allow Once" and the temporary full accuracy when the app is suspended or ends.
    mutating func endTemporaryPermissions(_ app: String) {
        guard let record = state.apps[app] else { return }
        var settings = record.settings
        if record.locationAuthorization == .once { settings.locationAuthorization = .notDetermined }
        if record.locationAccuracy == .temporaryFull { settings.locationAccuracy = .reduced }
        guard settings != record.settings else { return }
        emit(.settingsChanged(.init(app: app, settings: settings)))
        changeConditions(app)
    }

    private mutating func change(to settings: Settings, of app: String?) {
        let before = state
        emit(.settingsChanged(.init(app: app, settings: settings)))
        tellRefreshStatus(since: before)
        reviewActivities()
        // Another accuracy of location moves what is due.
        tellOfPlaces()
    }

    /// Emits the changed Background App Refresh status of each app.
    mutating func tellRefreshStatus(since before: LifecycleMachine) {
        for app in state.apps.keys {
            let status = state.backgroundRefreshStatus(app)
            guard status != before.backgroundRefreshStatus(app) else { continue }
            emit(.backgroundRefreshChanged(.init(app: app, status: status)))
        }
    }

    /// The time of background tasks in the current power mode.
    var taskTime: Interval {
        guard state.conditions.lowPowerMode == true, let halved = profile.limit(of: .backgroundTasksInLowPowerMode)
        else { return profile[.backgroundTasks] }
        return min(profile[.backgroundTasks], halved)
    }
}

extension InstalledApp {
    var settings: Settings {
        var settings = Settings(backgroundRefresh: backgroundRefresh)
        settings.locationAccuracy = locationAccuracy
        settings.locationAuthorization = locationAuthorization
        settings.notifications = notifications
        return settings
    }
}

extension LifecycleMachine {
    fileprivate var settings: Settings {
        var settings = Settings(backgroundRefresh: backgroundRefresh)
        settings.restrictions = restrictions
        settings.summaryTimes = summaryTimes
        return settings
    }

    mutating func apply(_ settings: Settings, to app: String?, at time: Instant) {
        if let app {
            apps[app]?.backgroundRefresh = settings.backgroundRefresh
            if let authorization = settings.locationAuthorization { apps[app]?.locationAuthorization = authorization }
            if let accuracy = settings.locationAccuracy { apply(accuracy, to: app, at: time) }
            if let notifications = settings.notifications { apps[app]?.notifications = notifications }
        } else {
            backgroundRefresh = settings.backgroundRefresh
            restrictions = settings.restrictions ?? restrictions
            summaryTimes = settings.summaryTimes ?? summaryTimes
        }
    }

    /// Returns `UIApplication.backgroundRefreshStatus`, from the restriction of the device, then from the settings of
    /// the device and the app. Low Power Mode (Apple, "Use Low Power Mode") and Low Data Mode turn it off.
    public func backgroundRefreshStatus(_ app: String) -> BackgroundRefreshStatus {
        if restrictions.backgroundRefresh { return .restricted }
        return isBackgroundRefreshOn(app) && conditions.lowPowerMode != true && !isLowDataMode ? .available : .denied
    }

    /// Whether the settings of the device and of the app are on.
    func isBackgroundRefreshOn(_ app: String) -> Bool {
        backgroundRefresh == .on && apps[app]?.backgroundRefresh == .on
    }
}
