public import Contracts
public import Records
public import Timeline

/// The limits of one generation of iOS. A deployment can change each of them.
///
/// The limit of a missing feature is nil.
public struct Profile: Record, Equatable {
    /// The default limit of `performFetch`.
    public static let fetchHandler = TimeLimits.fetchHandler

    /// The time of all background tasks of an app after it enters the background: 600 s on iOS 6 ("Backgrounding with
    /// tasks"), 180 s from iOS 7 and 30 s from iOS 13 (secondary sources).
    public var backgroundTasks: Defaulted<Interval> = Interval.seconds(30.0)
    /// The same in Low Power Mode: half of it (our choice). The mode exists since iOS 9.
    public var backgroundTasksInLowPowerMode: Defaulted<Interval> = Interval.seconds(15.0)
    /// The limit of the handler of a background URL session (our choice: as a fetch); from iOS 7.
    public var backgroundURLSessionHandler: Defaulted<Interval?> = .seconds(30.0)
    /// The limit of `didEnterBackground` (Apple, "Preparing your UI to run in the background": 5 s).
    public var didEnterBackground: Defaulted<Interval> = Interval.seconds(5.0)
    /// The limit of `performFetch` (Apple: 30 s); from iOS 7.
    public var fetchHandler: Defaulted<Interval?> = Profile.fetchHandler
    /// The limit of the launch handlers (watchdog, secondary sources: 20 s).
    public var launch: Defaulted<Interval> = Interval.seconds(20.0)
    /// The limit of a location event (Apple, "Location and Maps Programming Guide": about 10 s). Afterwards the app is
    /// suspended, not killed (our choice).
    public var locationHandler: Defaulted<Interval> = Interval.seconds(10.0)
    /// Whether location updates in the background need `allowsBackgroundLocationUpdates` (Apple: from iOS 9).
    public var locationNeedsFlag: Defaulted<Bool> = true
    /// The limit of a Newsstand app for a notification (our choice: as others). Newsstand existed from iOS 5 to iOS 8.
    public var newsstandHandler: Defaulted<Interval?> = nil
    /// Whether the system prewarms processes (Apple, "About the app launch sequence": from iOS 15).
    public var prewarms: Defaulted<Bool> = false
    /// Whether a processing task does the same (Apple's developer technical support: on iOS 18).
    public var processingOutlivesForceQuit: Defaulted<Bool> = false
    /// The limit of a `BGProcessingTask` (the same session: minutes; 600 s is our choice); from iOS 13.
    public var processingTask: Defaulted<Interval?> = .seconds(600.0)
    /// Whether turning Background App Refresh off also ends activities (the source documents: yes; from iOS 13 they
    /// continue, which is our choice).
    public var refreshSwitchEndsActivities: Defaulted<Bool> = false
    /// The limit of a `BGAppRefreshTask` (Apple, WWDC19 session 707: 30 s); from iOS 13.
    public var refreshTask: Defaulted<Interval?> = .seconds(30.0)
    /// Whether a region relaunches an app despite a force quit (secondary sources: from iOS 8).
    public var regionsOutliveForceQuit: Defaulted<Bool> = true
    /// The limit of the handler of a notification (Apple: 30 s); before iOS 7 a push only alerts.
    public var remoteNotificationHandler: Defaulted<Interval?> = .seconds(30.0)
    /// Whether a change of the user interface in the background kills an app (the source documents: before iOS 7).
    public var uiInBackgroundKills: Defaulted<Bool> = false
    /// The time in which the handler of a VoIP push must report a call (our choice: as other pushes); from iOS 8.
    public var voipPushHandler: Defaulted<Interval?> = .seconds(30.0)
    /// The time to reopen a VoIP socket (Apple, `setKeepAliveTimeout(_:handler:)`: 10 s). Afterwards the app is
    /// suspended. PushKit replaced this.
    public var voipSocket: Defaulted<Interval?> = nil
    /// The limit of `willTerminate` (Apple, `applicationWillTerminate(_:)`: "approximately five seconds").
    public var willTerminate: Defaulted<Interval> = Interval.seconds(5.0)

    enum Constraints {
        static let backgroundTasks: Constraint<Interval> = .limit
        static let backgroundTasksInLowPowerMode: Constraint<Interval> = .limit
        static let backgroundURLSessionHandler: Constraint<Interval?> = .ifPresent(.limit)
        static let didEnterBackground: Constraint<Interval> = .limit
        static let fetchHandler: Constraint<Interval?> = .ifPresent(.limit)
        static let launch: Constraint<Interval> = .limit
        static let locationHandler: Constraint<Interval> = .limit
        static let newsstandHandler: Constraint<Interval?> = .ifPresent(.limit)
        static let processingTask: Constraint<Interval?> = .ifPresent(.limit)
        static let refreshTask: Constraint<Interval?> = .ifPresent(.limit)
        static let remoteNotificationHandler: Constraint<Interval?> = .ifPresent(.limit)
        static let voipPushHandler: Constraint<Interval?> = .ifPresent(.limit)
        static let voipSocket: Constraint<Interval?> = .ifPresent(.limit)
        static let willTerminate: Constraint<Interval> = .limit
    }

    /// Returns the time limit of a kind of wake; nil if the generation does not have it.
    public func limit(of kind: WakeKind) -> Interval? {
        switch kind {
        case .fetch: fetchHandler
        case .push: remoteNotificationHandler
        case .newsstand: newsstandHandler
        case .transfer: backgroundURLSessionHandler
        case .region, .significantChange: locationHandler
        case .refreshTask: refreshTask
        case .processingTask: processingTask
        case .voipPush: voipPushHandler
        case .voipSocket: voipSocket
        }
    }
}

extension Constraint where T == Interval {
    /// From a millisecond to a day.
    fileprivate static var limit: Constraint<Interval> {
        Constraint(
            "must be from 0.001 to 86400 seconds", keywords: [("minimum", .double(0.001)), ("maximum", .int(86_400))]
        ) {
            (Interval.milliseconds(1)...Interval.days(1)).contains($0)
        }
    }
}

/// The limits of a deployment, for each generation and for all.
public struct LifecyclePolicy: Record, Equatable {
    public var ios13: Defaulted<Profile> = Profile.ios13
    public var ios15: Defaulted<Profile> = Profile.ios15
    public var ios18: Defaulted<Profile> = Profile.ios18
    public var ios6: Defaulted<Profile> = Profile.ios6
    public var ios7: Defaulted<Profile> = Profile.ios7

    /// Returns the limits of a profile.
    public subscript(_ name: ProfileName) -> Profile {
        switch name {
        case .ios6: ios6
        case .ios7: ios7
        case .ios13: ios13
        case .ios15: ios15
        case .ios18: ios18
        }
    }

    /// The time between the expiration order and the end of background tasks. Apple says "shortly before".
    public static let expirationNotice = Interval.seconds(5.0)
    /// The time that a locked device stays awake after it was woken (our choice).
    public static let awakeTime = Interval.seconds(10.0)
    /// The maximum number of monitored regions of an app (Apple, "Region Monitoring": 20).
    public static let regionsPerApp = 20
    /// The maximum radius of a region, in metres (our choice).
    public static let regionRadius = 1_000_000.0
    /// The minimum distance beyond a region's boundary, in metres, or the accuracy if worse (secondary sources).
    public static let regionCushion = 200.0
    /// The minimum stay beyond the boundary (Apple, "Region Monitoring and iBeacon": 20 s).
    public static let regionDwell = Interval.seconds(20.0)
    /// The distance of a significant change, in metres (Apple, "Using the significant-change location service": 500 m).
    public static let significantDistance = 500.0
    /// The minimum time between reports of significant changes (the same: not more often than once in five minutes).
    public static let significantPause = Interval.minutes(5)
    /// The time without movement after which location updates pause (secondary sources: about 15 minutes).
    public static let pauseOfUpdates = Interval.minutes(15)
    /// The minimum distance of a movement, in metres, or the accuracy if it is worse (our choice).
    public static let movement = 10.0
    /// The minimum time between wakes of a Newsstand app (secondary sources: once a day).
    public static let newsstandPause = Interval.days(1)
    /// The maximum number of VoIP wakes within ``voipSpan``. One more kills the app (our choice; no source has a
    /// number).
    public static let voipResumptions = 10
    /// The period of ``voipResumptions``.
    public static let voipSpan = Interval.minutes(1)
    /// The maximum number of open background tasks of an app (our choice: it keeps the state of a device small).
    public static let openTasks = 100
}

extension Profile {
    public static let ios6 = ios7.but {
        $0.backgroundTasks = .seconds(600.0)
        $0.backgroundTasksInLowPowerMode = .seconds(600.0)
        $0.fetchHandler = nil
        $0.remoteNotificationHandler = nil
        $0.backgroundURLSessionHandler = nil
        $0.uiInBackgroundKills = true
    }
    public static let ios7 = ios13.but {
        $0.backgroundTasks = .seconds(180.0)
        $0.backgroundTasksInLowPowerMode = .seconds(180.0)
        $0.newsstandHandler = .seconds(30.0)
        $0.refreshTask = nil
        $0.processingTask = nil
        $0.voipPushHandler = nil
        $0.voipSocket = .seconds(10.0)
        $0.regionsOutliveForceQuit = false
        $0.refreshSwitchEndsActivities = true
        $0.locationNeedsFlag = false
    }
    public static let ios13 = Profile()
    public static let ios15 = ios13.but { $0.prewarms = true }
    public static let ios18 = ios15.but { $0.processingOutlivesForceQuit = true }

    private func but(_ change: (inout Profile) -> Void) -> Profile {
        var profile = self
        change(&profile)
        return profile
    }
}
