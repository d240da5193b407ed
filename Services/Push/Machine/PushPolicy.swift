public import Contracts
public import Timeline

/// The limits that a deployment goes by. Where Apple documents no number, the number is our choice.
public struct PushPolicy: Sendable, Equatable {
    /// How many partitions the log has: device tokens embed theirs.
    public var partitions: Int
    /// Silent notifications an app may get at once (Apple, "Pushing background updates to your App": two or three an hour).
    public var silentBurst: Int64 = 3
    /// One more after so long: three an hour.
    public var silentRefill = Interval.minutes(20)
    /// Silent notifications of all apps of a device in a day. Our choice.
    public var silentDaily = 120
    /// Apps that the user did not open for so long get none. Our choice.
    public var longUnused = Interval.days(14)
    /// How long priority 5 waits at most for a device that sleeps. Our choice.
    public var batchingWindow = Interval.minutes(15)
    /// How long a notification is stored at most (Apple: 30 days).
    public var storage = Interval.days(30)
    /// How long a broadcast is stored at most (Apple, "Sending channel management requests to APNs": 8 hours).
    public var channelStorage = Interval.hours(8)
    /// How long after its last poll's end a polling device counts as connected. Our choice.
    public var pollGrace = Interval.seconds(60.0)
    /// Void tokens are `Unregistered` for so long, then `ExpiredToken`. Our choice.
    public var tokenExpiry = Interval.days(30)
    /// Bytes that a device's unsettled notifications may have together, each with 256 beside its payload. Our choice.
    public var backlogBytes = 40960
    /// Bytes of a device's state that notifications leave to it: it stays below the runtime's 64 KiB. What else it holds comes
    /// first.
    public var stateBytes = 57344
    /// Refusals of `lifecycle` after which a silent notification is held again.
    public var temporaryRefusals: Set<WakeRefusal> = [.lowPowerMode, .memoryPressure, .terminating]
    /// After so long a wake is asked for again that was refused for what passes by itself. Our choice.
    public var refusalRetry = Interval.minutes(1)

    public init(partitions: Int) { self.partitions = partitions }
}
