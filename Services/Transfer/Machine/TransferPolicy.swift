public import Timeline

/// The limits that a deployment goes by. Apple publishes none of these numbers; they are chosen so that a test of a server
/// sees what a real device does to it.
public struct TransferPolicy: Sendable, Equatable {
    /// The pause after a first failed attempt; each further one doubles it.
    public var firstRetry = Interval.seconds(1)
    /// The longest pause.
    public var longestRetry = Interval.minutes(10)
    /// How far a pause may lie from its length, in percent: devices that failed together don't come back together.
    public var jitterPercent: UInt64 = 25
    /// So many vain attempts to connect in a row end a task of which nothing has arrived yet.
    public var connectTries = 5
    /// An unplugged battery from this level on is as good as power for discretionary tasks.
    public var fullEnough = 0.8
    /// How long an app has to answer a challenge, while its code runs.
    public var challengeTime = Interval.seconds(30)
    /// When `didFinishDownloadingTo` is taken to have returned, unless the app says so earlier; while its code runs.
    public var callbackTime = Interval.seconds(10)
    /// How long a task waits that is started in the first wake for its session: the resume-rate limiter doubles it with each
    /// further one (Apple's engineers on the developer forums: "Testing Background Session Code").
    public var firstDelay = Interval.seconds(60)
    /// The longest that the limiter lets a task wait.
    public var longestDelay = Interval.hours(24)
    public var sessionsPerDevice = 16
    public var tasksPerSession = 64
    public var filesPerApp = 64
    /// A device whose state has more bytes, or would have once all its tasks move, gets nothing new. A state has at most
    /// 64 KiB.
    public var stateBytes = 48 << 10
    /// How many bytes of state a task may come to take from its creation on.
    public var taskGrowth = 512
    /// A device whose state has more bytes keeps nothing that its tasks can do without: no resume data, and of servers'
    /// answers no texts, so that what is interrupted begins again.
    public var crowdedBytes = 56 << 10

    public init() {}

    /// The resume-rate limiter: whoever is woken for a session and starts tasks there waits the longer, the more often that
    /// has happened since the user last used the app.
    ///
    /// - Returns: nil before the first wake.
    public func delay(after relaunches: Int) -> Interval? {
        guard relaunches > 0 else { return nil }
        return min(longestDelay, firstDelay * (1 << Int64(min(relaunches - 1, 20))))
    }
}

extension TransferMachine {
    /// How many finished tasks a session remembers after its app was told.
    public static let keptTasks = 16
    /// How many attempts a task remembers.
    public static let keptAttempts = 8
    /// How many resume data an app may hold.
    public static let keptResumeData = 16
    /// How many characters of a redirect's target a task remembers; the log has all of them.
    public static let keptURL = 256
    /// What an interrupted download consists of at most; the next attempt begins again.
    public static let keptSegments = 256
}
