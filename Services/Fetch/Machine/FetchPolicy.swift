public import Contracts
public import Timeline

/// The limits and weights of a deployment. Scores are integers in thousandths, so that every processor decides the same.
public struct FetchPolicy: Sendable {
    /// The features and limits of each generation of iOS.
    public var generations = Generations.standard
    /// The shortest interval (secondary sources: 15 min).
    public var floor = Interval.minutes(15)
    /// The length of a slot, in which an app has at most one refresh. Slots begin at multiples of it since 1970.
    public var slot = Interval.minutes(15)
    /// The first part of each slot, over which devices spread to protect backends. Less than ``slot``.
    public var jitter = Interval.minutes(5)
    /// The search range for slots after the earliest time.
    public var horizon = Interval.hours(24)

    /// The battery level below which refreshes wait for a charger (Apple: 20 %).
    public var batteryLimit = 0.2

    /// The weight of the learned usage in a score.
    public var usageWeight = 600
    /// The weight of the network in a score.
    public var networkWeight = 250
    /// The weight of the activity on the device in a score.
    public var deviceActivityWeight = 150

    /// The score that a slot must reach at the earliest time. From there it falls to 0 within ``thresholdDecay(_:)``.
    public var threshold = 600
    /// The time in which the threshold falls to 0, in effective intervals of the app. It is limited to the horizon.
    public var thresholdDecayIntervals: Int64 = 8
    /// The score that a slot loses for each effective interval of waiting.
    public var delayCost = 60
    /// The least effective interval. It lets an app with the interval `minimum` get as many refreshes as others.
    public var leastPace = Interval.hours(1)

    /// The time between a refresh and the predicted opening.
    public var openingLead = Interval.minutes(20)

    /// The limit of wakes per second of the whole suite, from 1 to 1,000; nil for no limit.
    public var ceiling: Int? = 100
    /// The most by which a wake may come before its best time if that is taken.
    public var reach = Interval.hours(2)
    /// The least time between two wakes of a device that are more than ``coalescing`` apart.
    public var deviceSpacing = Interval.minutes(5)
    /// The most between two wakes of a device that count as one.
    public static let coalescing = Interval.seconds(Int64(30))

    /// The daily budget of the refreshes of an app (our choice).
    public var appBudget = Budget(millijoules: 60_000, bytes: 20_000_000)
    /// The daily budget of all refreshes of a device (our choice; 600 J are about 1 % of a phone's battery).
    public var deviceBudget = Budget(millijoules: 600_000, bytes: 200_000_000)
    /// The energy of a wake in millijoules. These costs are our choice, in the order of published measurements. Refreshes
    /// on a charger cost nothing.
    public var wakeCost = 500
    /// The energy of a handler per second, in millijoules.
    public var handlerPower = 300
    /// The energy of 100 kB over Wi-Fi, in millijoules.
    public var radioCostWifi = 100
    /// The energy of 100 kB over cellular, in millijoules.
    public var radioCostCellular = 500

    /// The time after which a locked device counts as unused, so that processing may begin.
    public var idleTime = Interval.minutes(5)
    /// The time for which processing waits for a charger if the user opened the app within ``usedWithin``. After a
    /// day, one more day is left to find the device unused. Apple, WWDC19 session 707: the task is tried within 2 days
    /// if the app was used in the past week.
    public var processingPatience = Interval.days(1)
    /// The same for other apps (our choice: tried within a week).
    public var processingPatienceUnused = Interval.days(6)
    /// The time for which an app counts as used after an opening.
    public var usedWithin = Interval.days(7)

    /// The maximum number of continued processing tasks that run on a device at one time (our choice; Apple, "Performing
    /// long-running tasks on iOS and iPadOS", names "a maximum number of concurrent tasks").
    public static let continuedTasksPerDevice = 2

    /// Returns the limit of pending requests of a kind (Apple, `BGTaskScheduler.submit(_:)`: 1 refresh and 10 processing
    /// tasks). Health research requests count as processing (our choice, since their class inherits from it). The limit of
    /// continued processing is our choice.
    public static func pendingLimit(_ kind: TaskRequestKind) -> Int {
        switch kind {
        case .refresh: 1
        case .processing, .healthResearch, .continuedProcessing: 10
        }
    }

    /// The time in which `lifecycle` must answer a due refresh. Without an answer it counts as refused.
    public var answerLimit = Interval.minutes(2)
    /// The time after the limit of its wake at which a refresh without a known end is given up. It is long because
    /// `lifecycle` enforces the limit and lifts it when the user opens the app.
    public var endLimit = Interval.minutes(10)

    /// Returns the seconds east of UTC for an IANA name and an instant; 0 for unknown names. It must be a pure function, so
    /// all replicas need the same edition of the database.
    public var timeZoneOffset: @Sendable (_ zone: String, _ moment: Instant) -> Int

    /// Creates the default policy.
    public init(timeZoneOffset: @escaping @Sendable (String, Instant) -> Int = { _, _ in 0 }) {
        self.timeZoneOffset = timeZoneOffset
    }

    /// Returns the effective interval, in which waiting is measured; nil if the app wants no refreshes.
    func effectiveInterval(_ app: ScheduledApp) -> Interval? {
        switch app.interval {
        case .never: nil
        case .minimum: app.reliability.effectiveInterval(max(floor, leastPace))
        case .atLeast(let interval): app.reliability.effectiveInterval(max(floor, leastPace, interval))
        }
    }

    /// Returns the minimum gap between two refreshes; nil if the app wants none.
    func spacing(_ app: ScheduledApp) -> Interval? {
        app.interval == .never ? nil : app.reliability.minimumGap(asked(app.interval))
    }

    /// Returns the requested interval, or the floor if that is longer.
    func asked(_ interval: FetchInterval) -> Interval {
        switch interval {
        case .never, .minimum: floor
        case .atLeast(let interval): max(floor, interval)
        }
    }

    /// Returns the features and limits of a device; nil if it is not registered.
    public func profile(of device: FetchMachine) -> Profile? { device.profile.map { generations[$0] } }

    /// Returns the energy that a refresh costs, in millijoules.
    ///
    /// - Parameter limit: the time limit of its handler.
    func cost(elapsed: Interval, limit: Interval, bytes: Int, _ conditions: Conditions) -> Int {
        guard conditions.battery?.charging != true else { return 0 }
        // `lifecycle` ends a longer handler, also if its end never becomes known.
        let running = min(max(.zero, elapsed), limit)
        let radio = conditions.network?.kind == .cellular ? radioCostCellular : radioCostWifi
        return wakeCost + handlerPower * Int(running.milliseconds) / 1000 + radio * (min(max(0, bytes), 1 << 50) / 1000)
            / 100
    }

    /// Returns the time after which any slot is good enough.
    func thresholdDecay(_ effectiveInterval: Interval) -> Interval {
        min(
            horizon,
            Interval(milliseconds: min(effectiveInterval.milliseconds, horizon.milliseconds) * thresholdDecayIntervals))
    }
}
