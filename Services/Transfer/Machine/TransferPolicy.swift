public import Contracts
public import Timeline

/// The limits of a deployment. Apple does not publish these numbers. They are chosen so that a server under test sees
/// the behaviour of a real device.
public struct TransferPolicy: Sendable, Equatable {
    /// The features and limits of each generation of iOS.
    public var generations = Generations.standard
    /// The delay after the first failed attempt. Each further failure doubles it.
    public var firstRetry = Interval.seconds(1)
    /// The longest delay between attempts.
    public var longestRetry = Interval.minutes(10)
    /// The jitter of a delay in percent, so that devices that failed together do not retry together.
    public var jitterPercent: UInt64 = 25
    /// The number of consecutive failed connections that ends a task without a received byte.
    public var connectTries = 5
    /// The battery level from which discretionary tasks run without a charger.
    public var fullEnough = 0.8
    /// The time to answer a challenge. It passes only while the code of the app runs.
    public var challengeTime = Interval.seconds(30)
    /// The time to answer `willBeginDelayedRequest`, after which the task continues. It passes only while the code of the
    /// app runs.
    public var delayedRequestTime = Interval.seconds(30)
    /// The time to answer `willPerformHTTPRedirection`, after which the task follows the redirect. It passes only while
    /// the code of the app runs.
    public var redirectTime = Interval.seconds(30)
    /// The time after which `didFinishDownloadingTo` counts as returned. It passes only while the code of the app runs.
    public var callbackTime = Interval.seconds(10)
    /// The delay of a task that is started after one wake for its session. The resume-rate limiter doubles it with each
    /// further wake (Apple's engineers on the developer forums: "Testing Background Session Code").
    public var firstDelay = Interval.seconds(60)
    /// The longest delay of the resume-rate limiter.
    public var longestDelay = Interval.hours(24)
    /// The most sessions of a device.
    public var sessionsPerDevice = 16
    /// The most tasks of a session that are unfinished or not yet reported to the app.
    public var tasksPerSession = 64
    /// The most files of an app.
    public var filesPerApp = 64
    /// The most bytes of the files of a device: those of apps, the received bytes of tasks and the bodies of upload tasks.
    public var fileBytes = Int.max
    /// The size of a state, with the growth of its unfinished tasks, from which a device accepts nothing new. A state has
    /// at most 64 KiB.
    public var stateBytes = 48 << 10
    /// The number of bytes by which the state of a task may grow after its creation.
    public var taskGrowth = 512
    /// The longest URL of the resource of an upload, in bytes. An upload with a longer one begins anew when interrupted.
    public var uploadURLBytes = 2048
    /// The size of a state from which a device stores no resume data and no validators of new responses. Interrupted
    /// transfers then restart.
    public var crowdedBytes = 56 << 10

    public init() {}

    /// Returns the delay of the resume-rate limiter for a new task; nil before the first wake.
    ///
    /// It grows with the wakes for the session since the app was last in the foreground.
    public func delay(after relaunches: Int) -> Interval? {
        guard relaunches > 0 else { return nil }
        return min(longestDelay, firstDelay * (1 << Int64(min(relaunches - 1, 20))))
    }
}

extension TransferMachine {
    /// The number of finished and reported tasks that a session keeps.
    public static let keptTasks = 16
    /// The number of attempts that a task keeps.
    public static let keptAttempts = 8
    /// The number of resumable downloads that an app keeps.
    public static let keptResumeData = 16
    /// The number of characters of a redirect target that a task keeps. The log has the full target.
    public static let keptURL = 256
    /// The most segments of an interrupted download. With more, the next attempt restarts.
    public static let keptSegments = 256
}
