public import Contracts
public import Timeline

/// The limits and weights that a deployment goes by. Scores are whole thousandths, so that every machine decides the same.
public struct FetchPolicy: Sendable {
    /// No interval is shorter than this (secondary sources: 15 min).
    public var floor = Interval.minutes(15)
    /// Refreshes happen once in a slot of this length at most; slots begin at whole multiples of it since 1970.
    public var slot = Interval.minutes(15)
    /// Devices spread over the first part of each slot, so that a backend isn't stampeded. Less than ``slot``.
    public var jitter = Interval.minutes(5)
    /// How far ahead of the earliest moment a slot is searched.
    public var horizon = Interval.hours(24)

    /// A battery below this level, not charging, must wait (Apple: 20 %).
    public var batteryLimit = 0.2

    public var usageWeight = 600
    public var networkWeight = 250
    public var deviceActivityWeight = 150

    /// The score that a slot must reach at the earliest moment. From there it falls to 0 within ``patience(_:)``.
    public var threshold = 600
    /// The patience in paces of the app: its interval, never shorter than ``leastPace``. At most the horizon.
    public var patiencePaces: Int64 = 8
    /// What waiting for one pace costs a slot.
    public var delayCost = 60
    /// The pace of an app that asked for `minimum`, and of all that asked for less than this: who wants refreshes as often as the
    /// system likes gets no fewer than others.
    public var leastPace = Interval.hours(1)

    /// How long before the predicted opening a refresh aims.
    public var openingLead = Interval.minutes(20)

    /// At most so many wakes a second over the whole suite, from 1 to 1,000; nil for no such ceiling.
    public var ceiling: Int? = 100
    /// How long before its aim a wake may come where others are in its way. None of them waits for an opening in vain that way.
    public var reach = Interval.hours(2)
    /// Two wakes of a device are so far apart at least, unless they are one: no longer apart than ``coalescing``.
    public var deviceSpacing = Interval.minutes(5)
    public static let coalescing = Interval.seconds(Int64(30))

    /// What the refreshes of an app can spend in a day, and those of all apps of a device (our choice; 600 J are about 1 % of a
    /// phone's battery).
    public var appBudget = Budget(millijoules: 60_000, bytes: 20_000_000)
    public var deviceBudget = Budget(millijoules: 600_000, bytes: 200_000_000)
    /// What the handler of a refresh has (Apple: 30 s).
    static let refreshLimit = Interval.seconds(Int64(30))
    /// What a wake costs, in millijoules; then what its handler costs per second, and its radio per 100 kB. Our choice, of the
    /// order that published measurements have. On a charger nothing is spent.
    public var wakeCost = 500
    public var handlerPower = 300
    public var radioCostWifi = 100
    public var radioCostCellular = 500

    /// A device that has been locked for so long is likely unused: processing may begin.
    public var idleTime = Interval.minutes(5)
    /// How long processing waits for a charger, from the earliest moment on, if the user opened the app within ``usedWithin``:
    /// a day leaves another one to find the device unused in (Apple, WWDC19 session 707: it is tried within 2 days if the app
    /// was used in the past week).
    public var processingPatience = Interval.days(1)
    /// The same for other apps (our choice: tried within a week).
    public var processingPatienceUnused = Interval.days(6)
    public var usedWithin = Interval.days(7)

    /// How many requests of a kind can be pending (Apple, `BGTaskScheduler.submit(_:)`: 1 refresh task and 10 processing tasks).
    public static func pendingLimit(_ kind: TaskRequestKind) -> Int {
        switch kind {
        case .refresh: 1
        case .processing: 10
        }
    }

    /// How long `lifecycle` may take to answer a due refresh before it counts as refused.
    public var answerLimit = Interval.minutes(2)
    /// How long after the limit of its wake a refresh whose end never became known is given up. Long, because the limit is
    /// `lifecycle`'s to judge, and falls away when the user opens the app meanwhile.
    public var endLimit = Interval.minutes(10)

    /// Seconds east of UTC, for a name of the IANA database and a moment; 0 for names that are not known. It must be a pure
    /// function: all replicas need the same edition of the database.
    public var timeZoneOffset: @Sendable (_ zone: String, _ moment: Instant) -> Int

    public init(timeZoneOffset: @escaping @Sendable (String, Instant) -> Int = { _, _ in 0 }) {
        self.timeZoneOffset = timeZoneOffset
    }

    /// The length of time that an app's waiting is measured by; nil where it wants no refreshes.
    func pace(_ app: ScheduledApp) -> Interval? {
        switch app.interval {
        case .never: nil
        case .minimum: app.standing.pace(max(floor, leastPace))
        case .atLeast(let interval): app.standing.pace(max(floor, leastPace, interval))
        }
    }

    /// The least time between two refreshes; nil where none are wanted.
    func spacing(_ app: ScheduledApp) -> Interval? {
        app.interval == .never ? nil : app.standing.pause(asked(app.interval))
    }

    /// What the app asked for, and the floor.
    func asked(_ interval: FetchInterval) -> Interval {
        switch interval {
        case .never, .minimum: floor
        case .atLeast(let interval): max(floor, interval)
        }
    }

    /// What a refresh costs its device, in millijoules.
    func cost(elapsed: Interval, bytes: Int, _ conditions: Conditions) -> Int {
        guard conditions.battery?.charging != true else { return 0 }
        // Who runs longer is ended by `lifecycle`, also where its end never becomes known.
        let running = min(max(.zero, elapsed), Self.refreshLimit)
        let radio = conditions.network?.kind == .cellular ? radioCostCellular : radioCostWifi
        return wakeCost + handlerPower * Int(running.milliseconds) / 1000 + radio * (min(max(0, bytes), 1 << 50) / 1000)
            / 100
    }

    /// How old a refresh gets until any slot will do.
    func patience(_ pace: Interval) -> Interval {
        min(horizon, Interval(milliseconds: min(pace.milliseconds, horizon.milliseconds) * patiencePaces))
    }
}
