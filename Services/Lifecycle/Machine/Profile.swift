public import Contracts
public import Records
public import Timeline

/// The limits of one generation of iOS. A deployment may set any of them otherwise.
///
/// What a generation does not have has no limit: nil.
public struct Profile: Record, Equatable {
    /// How long `didEnterBackground` may take (Apple, "Preparing your UI to run in the background": 5 s).
    public var didEnterBackground = Interval.seconds(5.0)
    /// How long a launch may take until the handlers have returned (watchdog, secondary sources: 20 s).
    public var launch = Interval.seconds(20.0)
    /// How long `willTerminate` may take (Apple, `applicationWillTerminate(_:)`: "approximately five seconds").
    public var willTerminate = Interval.seconds(5.0)
    /// What background tasks get app-wide, after the app entered the background: 600 s on iOS 6 ("Backgrounding with tasks"),
    /// 180 s on iOS 7 ("Updating an application in the background"), 30 s since (secondary sources).
    public var backgroundTasks = Interval.seconds(30.0)
    /// The same in Low Power Mode, which shortens it: half of it (our choice). Before iOS 9 there is no such mode.
    public var backgroundTasksInLowPowerMode = Interval.seconds(15.0)
    /// How long `performFetch` may take (Apple: 30 s); not before iOS 7.
    public var fetchHandler: Interval? = .seconds(30.0)
    /// How long the handler of a notification may take (Apple: 30 s); before iOS 7 a push only alerts.
    public var remoteNotificationHandler: Interval? = .seconds(30.0)
    /// How long a Newsstand app may take for a notification (our choice: as others). Newsstand came with iOS 5 and went with iOS 9.
    public var newsstandHandler: Interval?
    /// How long the handler of a background URL session may take (our choice: as a fetch); not before iOS 7.
    public var backgroundURLSessionHandler: Interval? = .seconds(30.0)
    /// What an app gets for where the device is (Apple, "Location and Maps Programming Guide": about 10 s). It is suspended
    /// afterwards, not killed (our choice).
    public var locationHandler = Interval.seconds(10.0)
    /// How long a `BGAppRefreshTask` may take (Apple, WWDC19 session 707: 30 s); from iOS 13.
    public var refreshTask: Interval? = .seconds(30.0)
    /// How long a `BGProcessingTask` may take (the same session: minutes; 600 s is our choice); from iOS 13.
    public var processingTask: Interval? = .seconds(600.0)
    /// How long the handler of a VoIP push may take until it has reported a call (our choice: as other pushes); from iOS 8.
    public var voipPushHandler: Interval? = .seconds(30.0)
    /// What an app gets to open its VoIP socket again (Apple, `setKeepAliveTimeout(_:handler:)`: 10 s). It is suspended
    /// afterwards. Gone since PushKit.
    public var voipSocket: Interval?
    /// Whether the system makes processes ahead of a launch (Apple, "About the app launch sequence": from iOS 15).
    public var prewarms = false
    /// Whether a region relaunches an app after a force quit (secondary sources: from iOS 8).
    public var regionsOutliveForceQuit = true
    /// Whether a processing task does (Apple's developer technical support: on iOS 18).
    public var processingOutlivesForceQuit = false
    /// Whether Background App Refresh being off ends continuous modes too (the source documents: yes; since iOS 13 they go on,
    /// which is our choice).
    public var refreshSwitchEndsActivities = false
    /// Whether location updates in the background need `allowsBackgroundLocationUpdates` (Apple: from iOS 9).
    public var locationNeedsFlag = true
    /// Whether an app dies of touching its user interface in the background (the source documents: before iOS 7).
    public var uiInBackgroundKills = false

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.defaulted("backgroundTasks", &backgroundTasks, .limit)
        fields.defaulted("backgroundTasksInLowPowerMode", &backgroundTasksInLowPowerMode, .limit)
        fields.defaulted("backgroundURLSessionHandler", &backgroundURLSessionHandler, .ifPresent(.limit))
        fields.defaulted("didEnterBackground", &didEnterBackground, .limit)
        fields.defaulted("fetchHandler", &fetchHandler, .ifPresent(.limit))
        fields.defaulted("launch", &launch, .limit)
        fields.defaulted("locationHandler", &locationHandler, .limit)
        fields.defaulted("locationNeedsFlag", &locationNeedsFlag)
        fields.defaulted("newsstandHandler", &newsstandHandler, .ifPresent(.limit))
        fields.defaulted("prewarms", &prewarms)
        fields.defaulted("processingOutlivesForceQuit", &processingOutlivesForceQuit)
        fields.defaulted("processingTask", &processingTask, .ifPresent(.limit))
        fields.defaulted("refreshSwitchEndsActivities", &refreshSwitchEndsActivities)
        fields.defaulted("refreshTask", &refreshTask, .ifPresent(.limit))
        fields.defaulted("regionsOutliveForceQuit", &regionsOutliveForceQuit)
        fields.defaulted("remoteNotificationHandler", &remoteNotificationHandler, .ifPresent(.limit))
        fields.defaulted("uiInBackgroundKills", &uiInBackgroundKills)
        fields.defaulted("voipPushHandler", &voipPushHandler, .ifPresent(.limit))
        fields.defaulted("voipSocket", &voipSocket, .ifPresent(.limit))
        fields.defaulted("willTerminate", &willTerminate, .limit)
    }

    /// How long the handler of a wake may take; nil where the generation has no such wakes.
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

extension Rule where T == Interval {
    /// From a millisecond to a day.
    fileprivate static var limit: Rule<Interval> {
        Rule("must be from 0.001 to 86400 seconds", keywords: [("minimum", .double(0.001)), ("maximum", .int(86_400))])
        {
            (Interval.milliseconds(1)...Interval.days(1)).contains($0)
        }
    }
}

/// The limits that a deployment goes by, and what is the same for every generation.
public struct LifecyclePolicy: Record, Equatable {
    public var ios6 = Profile.ios6
    public var ios7 = Profile.ios7
    public var ios13 = Profile.ios13
    public var ios15 = Profile.ios15
    public var ios18 = Profile.ios18

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.defaulted("ios13", &ios13)
        fields.defaulted("ios15", &ios15)
        fields.defaulted("ios18", &ios18)
        fields.defaulted("ios6", &ios6)
        fields.defaulted("ios7", &ios7)
    }

    public subscript(_ name: ProfileName) -> Profile {
        switch name {
        case .ios6: ios6
        case .ios7: ios7
        case .ios13: ios13
        case .ios15: ios15
        case .ios18: ios18
        }
    }

    /// How long before the end of their time background tasks get their expiration order. Apple says "shortly before".
    public static let expirationNotice = Interval.seconds(5.0)
    /// How long a locked device stays awake after what woke it (our choice).
    public static let awakeTime = Interval.seconds(10.0)
    /// How many regions an app can monitor (Apple, "Region Monitoring": 20).
    public static let regionsPerApp = 20
    /// The largest radius of a region, in metres (our choice).
    public static let regionRadius = 1_000_000.0
    /// How far beyond a region's boundary a device must be, in metres, or the accuracy where that is worse (secondary sources).
    public static let regionCushion = 200.0
    /// How long it must stay beyond it (Apple, "Region Monitoring and iBeacon": 20 s).
    public static let regionDwell = Interval.seconds(20.0)
    /// What counts as far, in metres (Apple, "Using the significant-change location service": 500 m).
    public static let significantDistance = 500.0
    /// How long an app is left alone after it (the same: not more often than once in five minutes).
    public static let significantPause = Interval.minutes(5)
    /// Without movement for so long, location updates are paused (secondary sources: about 15 minutes).
    public static let pauseOfUpdates = Interval.minutes(15)
    /// Less than this, in metres, or than the accuracy where that is worse, is no movement (our choice).
    public static let movement = 10.0
    /// How often a Newsstand app is woken at most (secondary sources: once a day).
    public static let newsstandPause = Interval.days(1)
    /// So often within ``voipSpan`` an app is resumed for VoIP; then it is ended (our choice, as no source tells).
    public static let voipResumptions = 10
    public static let voipSpan = Interval.minutes(1)
    /// How many background tasks an app may have open (our choice: the state of a device stays small).
    public static let openTasks = 100
}

extension Profile {
    static let ios6 = ios7.but {
        $0.backgroundTasks = .seconds(600.0)
        $0.backgroundTasksInLowPowerMode = .seconds(600.0)
        $0.fetchHandler = nil
        $0.remoteNotificationHandler = nil
        $0.backgroundURLSessionHandler = nil
        $0.uiInBackgroundKills = true
    }
    static let ios7 = ios13.but {
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
    static let ios13 = Profile()
    static let ios15 = ios13.but { $0.prewarms = true }
    static let ios18 = ios15.but { $0.processingOutlivesForceQuit = true }

    private func but(_ change: (inout Profile) -> Void) -> Profile {
        var profile = self
        change(&profile)
        return profile
    }
}
