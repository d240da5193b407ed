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
    /// How long `performFetch` may take; nil before iOS 7, which has no background fetch.
    public var fetchHandler: Interval?

    public init(backgroundTasks: Interval, fetchHandler: Interval?) {
        self.backgroundTasks = backgroundTasks
        self.fetchHandler = fetchHandler
    }
}

/// The limits that a deployment goes by.
public struct LifecyclePolicy: Sendable, Equatable {
    /// 600 s of background tasks ("Backgrounding with tasks"), no fetch.
    public var ios6 = Profile(backgroundTasks: .seconds(600.0), fetchHandler: nil)
    /// 180 s of background tasks, 30 s for a fetch ("Updating an application in the background").
    public var ios7 = Profile(backgroundTasks: .seconds(180.0), fetchHandler: .seconds(30.0))
    /// 30 s of background tasks (secondary sources), 30 s for a fetch.
    public var ios13 = Profile(backgroundTasks: .seconds(30.0), fetchHandler: .seconds(30.0))
    public var ios15 = Profile(backgroundTasks: .seconds(30.0), fetchHandler: .seconds(30.0))
    public var ios18 = Profile(backgroundTasks: .seconds(30.0), fetchHandler: .seconds(30.0))

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
}
