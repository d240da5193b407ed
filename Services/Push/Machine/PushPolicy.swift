public import Contracts
public import Timeline

/// The limits of a deployment. Numbers that Apple does not document are our choice.
public struct PushPolicy: Sendable {
    /// The features and limits of each generation of iOS.
    public var generations = Generations.standard
    /// The number of partitions of the log. Device tokens contain their partition.
    public var partitions: Int
    /// The silent notifications of an app at once (Apple, "Pushing background updates to your App": two or three an
    /// hour).
    public var silentBurst: Int64 = 3
    /// The time until the app may get one more: three an hour.
    public var silentRefill = Interval.minutes(20)
    /// The silent notifications of all apps of a device in a day. Our choice.
    public var silentDaily = 120
    /// Apps that the user did not open for this time get no silent notifications. Our choice.
    public var longUnused = Interval.days(14)
    /// The Live Activities of a device at once. Our choice: their contents fit the state of a device with few apps.
    public var liveActivities = 8
    /// The wakes of an app in progress with which its alerts request no further one. Our choice.
    public var openWakes = 8
    /// The largest size of the notification categories of a device in bytes. Our choice.
    public var categoryBytes = 16384
    /// The updates with priority 10 of a Live Activity at once. Apple ("Starting and updating Live Activities with
    /// ActivityKit push notifications") documents a budget without numbers, so these are our choice.
    public var activityBurst: Int64 = 10
    /// The time until a Live Activity may get one more.
    public var activityRefill = Interval.minutes(4)
    /// The same with frequent updates.
    public var frequentActivityRefill = Interval.seconds(30.0)
    /// The longest wait of priority 5 for a sleeping device. Our choice.
    public var batchingWindow = Interval.minutes(15)
    /// The longest storage of a notification (Apple: 30 days).
    public var storage = Interval.days(30)
    /// The longest storage of a broadcast (Apple, "Sending channel management requests to APNs": 8 hours).
    public var channelStorage = Interval.hours(8)
    /// The time for which a polling device stays connected after its last poll. Our choice.
    public var pollGrace = Interval.seconds(60.0)
    /// An inactive token is `Unregistered` for this time, then `ExpiredToken`. Our choice.
    public var tokenExpiry = Interval.days(30)
    /// The largest size of all unsettled notifications of a device: payloads, and 256 bytes each. Our choice.
    public var backlogBytes = 40960
    /// The largest size of a device's state in bytes, below the runtime's limit of 64 KiB. Unsettled notifications get
    /// the rest.
    public var stateBytes = 57344
    /// Wake refusals after which a silent notification is held again.
    public var temporaryRefusals: Set<WakeRefusal> = [.lowPowerMode, .memoryPressure, .terminating]
    /// The pause before another request of a wake that was refused temporarily. Our choice.
    public var refusalRetry = Interval.minutes(1)

    /// Returns the seconds east of UTC for an IANA name and an instant; 0 for unknown names. It must be a pure function.
    public var timeZoneOffset: @Sendable (_ zone: String, _ moment: Instant) -> Int

    /// Creates the default policy.
    public init(partitions: Int, timeZoneOffset: @escaping @Sendable (String, Instant) -> Int = { _, _ in 0 }) {
        self.partitions = partitions
        self.timeZoneOffset = timeZoneOffset
    }
}
