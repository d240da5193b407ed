public import Contracts
import Machines
import OrderedCollections
import Timeline

// What the user sets, and what Background App Refresh comes to by it.
extension Decision<LifecycleMachine> {
    mutating func changeSettings(_ app: String, _ report: AppSettings) throws(LifecycleRefusal) {
        let current = try installed(app).settings
        var settings = current
        if let refresh = report.backgroundRefresh, refresh != current.backgroundRefresh {
            guard !state.restrictions.backgroundRefresh else { throw .restricted }
            settings.backgroundRefresh = refresh
        }
        settings.locationAuthorization = report.locationAuthorization ?? settings.locationAuthorization
        settings.notifications = report.notifications ?? settings.notifications
        guard settings != current else { return }
        change(to: settings, of: app)
    }

    /// A restricted switch can't be moved, but for the report that ends the restriction.
    mutating func changeSettings(_ report: DeviceSettings) throws(LifecycleRefusal) {
        let current = state.settings
        var settings = current
        settings.restrictions = report.restrictions ?? settings.restrictions
        if let refresh = report.backgroundRefresh, refresh != current.backgroundRefresh {
            guard settings.restrictions?.backgroundRefresh != true else { throw .restricted }
            settings.backgroundRefresh = refresh
        }
        guard settings != current else { return }
        change(to: settings, of: nil)
    }

    private mutating func change(to settings: Settings, of app: String?) {
        let before = state
        emit(.settingsChanged(.init(app: app, settings: settings)))
        tellRefreshStatus(since: before)
        reviewActivities()
    }

    /// Tells for which apps Background App Refresh is another now.
    mutating func tellRefreshStatus(since before: LifecycleMachine) {
        for app in state.apps.keys {
            let status = state.backgroundRefreshStatus(app)
            guard status != before.backgroundRefreshStatus(app) else { continue }
            emit(.backgroundRefreshChanged(.init(app: app, status: status)))
        }
    }

    /// What background tasks get from now on.
    var taskTime: Interval {
        state.conditions.lowPowerMode == true
            ? min(profile.backgroundTasks, profile.backgroundTasksInLowPowerMode) : profile.backgroundTasks
    }
}

extension InstalledApp {
    fileprivate var settings: Settings {
        var settings = Settings(backgroundRefresh: backgroundRefresh)
        settings.locationAuthorization = locationAuthorization
        settings.notifications = notifications
        return settings
    }
}

extension LifecycleMachine {
    fileprivate var settings: Settings {
        var settings = Settings(backgroundRefresh: backgroundRefresh)
        settings.restrictions = restrictions
        return settings
    }

    mutating func apply(_ settings: Settings, to app: String?) {
        if let app {
            apps[app]?.backgroundRefresh = settings.backgroundRefresh
            if let authorization = settings.locationAuthorization { apps[app]?.locationAuthorization = authorization }
            if let notifications = settings.notifications { apps[app]?.notifications = notifications }
        } else {
            backgroundRefresh = settings.backgroundRefresh
            restrictions = settings.restrictions ?? restrictions
        }
    }

    /// `UIApplication.backgroundRefreshStatus`: what the device forbids, then the switches of the user for the device and for
    /// the app; Low Power Mode turns it off while it lasts (Apple, "Use Low Power Mode").
    public func backgroundRefreshStatus(_ app: String) -> BackgroundRefreshStatus {
        if restrictions.backgroundRefresh { return .restricted }
        return isBackgroundRefreshOn(app) && conditions.lowPowerMode != true ? .available : .denied
    }

    /// Whether both switches are on.
    func isBackgroundRefreshOn(_ app: String) -> Bool {
        backgroundRefresh == .on && apps[app]?.backgroundRefresh == .on
    }
}
