public import Contracts
public import Timeline

/// The limits of one generation of iOS.
public struct Profile: Sendable, Equatable {
    /// How long `didEnterBackground` may take (Apple, "Preparing your UI to run in the background": 5 s).
    public var didEnterBackground = Interval.seconds(5.0)
    /// How long a launch may take until the handlers have returned (watchdog, secondary sources: 20 s).
    public var launch = Interval.seconds(20.0)
    /// What background tasks get app-wide, after the app entered the background.
    public var backgroundTasks: Interval
    /// The same in Low Power Mode, which shortens it: half of it (our choice). The generations before iOS 9 have no such mode.
    public var backgroundTasksInLowPowerMode: Interval
    /// How long `willTerminate` may take (Apple, `applicationWillTerminate(_:)`: "approximately five seconds").
    public var willTerminate = Interval.seconds(5.0)
    /// How long `performFetch` may take (Apple: 30 s); nil before iOS 7, which has no background fetch.
    public var fetchHandler: Interval?
    /// How long the handler of a notification may take (Apple: 30 s); nil before iOS 7, where a push only alerts.
    public var remoteNotificationHandler: Interval?
    /// How long the handler of a background URL session may take (our choice: as a fetch); nil before iOS 7.
    public var backgroundURLSessionHandler: Interval?
    /// Whether the system makes processes ahead of a launch (Apple, "About the app launch sequence": from iOS 15).
    public var prewarms: Bool

    public init(
        backgroundTasks: Interval, inLowPowerMode: Interval? = nil, handlers: Interval?, prewarms: Bool = false
    ) {
        self.backgroundTasks = backgroundTasks
        backgroundTasksInLowPowerMode = inLowPowerMode ?? backgroundTasks
        fetchHandler = handlers
        remoteNotificationHandler = handlers
        backgroundURLSessionHandler = handlers
        self.prewarms = prewarms
    }

    /// How long the handler of a wake may take; nil where the generation has no such wakes.
    public func limit(of reason: WakeReason) -> Interval? {
        switch reason {
        case .fetch: fetchHandler
        case .push: remoteNotificationHandler
        case .transfer: backgroundURLSessionHandler
        }
    }
}

/// The limits that a deployment goes by.
public struct LifecyclePolicy: Sendable, Equatable {
    /// 600 s of background tasks ("Backgrounding with tasks"), no wakes of iOS 7.
    public var ios6 = Profile(backgroundTasks: .seconds(600.0), handlers: nil)
    /// 180 s of background tasks, 30 s for a wake ("Updating an application in the background").
    public var ios7 = Profile(backgroundTasks: .seconds(180.0), handlers: .seconds(30.0))
    /// 30 s of background tasks (secondary sources), 30 s for a wake.
    public var ios13 = Profile(
        backgroundTasks: .seconds(30.0), inLowPowerMode: .seconds(15.0), handlers: .seconds(30.0))
    public var ios15 = Profile(
        backgroundTasks: .seconds(30.0), inLowPowerMode: .seconds(15.0), handlers: .seconds(30.0), prewarms: true)
    public var ios18 = Profile(
        backgroundTasks: .seconds(30.0), inLowPowerMode: .seconds(15.0), handlers: .seconds(30.0), prewarms: true)

    public init() {}

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
}
