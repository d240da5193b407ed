public import Contracts
public import Timeline

/// The limits of a deployment.
public struct LifecyclePolicy: Sendable, Equatable {
    /// The features and limits of each generation of iOS.
    public var generations: Generations

    public init(generations: Generations = .standard) { self.generations = generations }

    /// Returns the features and limits of a profile.
    public subscript(_ name: ProfileName) -> Profile { generations[name] }

    /// The time between the expiration order and the end of background tasks. Apple says "shortly before".
    public static let expirationNotice = Interval.seconds(5.0)
    /// The time that a locked device stays awake after it was woken (our choice).
    public static let awakeTime = Interval.seconds(10.0)
    /// The maximum number of monitored regions of an app (Apple, "Region Monitoring": 20).
    public static let regionsPerApp = 20
    /// The time without a beacon of a region after which the device has left it (secondary sources: up to 30 s).
    public static let beaconAbsence = Interval.seconds(30.0)
    /// The maximum number of conditions in all monitors of an app (our choice: as for regions).
    public static let conditionsPerApp = 20
    /// The maximum number of monitors of an app (our choice: it keeps the state of a device small).
    public static let monitorsPerApp = 20
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
    /// The minimum time between reports of significant changes, and between visits, with reduced accuracy. Our choice:
    /// Apple (`kCLLocationAccuracyReduced`) says "at most a few times per hour", and secondary sources four times.
    public static let reducedPause = Interval.minutes(15)
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
    /// The number of uncalled completion handlers after which HealthKit delivers no more (Apple,
    /// `HKObserverQueryCompletionHandler`: three).
    public static let healthMisses = 3
    /// The time before the next delivery for each miss (our choice; Apple says "using a backoff algorithm").
    public static let healthRetry = Interval.minutes(1)
    /// The maximum number of types of samples of an app (our choice: it keeps the state of a device small).
    public static let healthTypesPerApp = 20

    /// Returns the frequency of deliveries. Step counts come at most once an hour (Apple,
    /// `enableBackgroundDelivery(for:frequency:withCompletion:)`).
    static func healthFrequency(_ frequency: HealthFrequency, of sampleType: String) -> HealthFrequency {
        sampleType == "stepCount" && frequency == .immediate ? .hourly : frequency
    }

    /// The number of VoIP pushes without a call within ``unreportedSpan`` after which the app gets no more of them. Apple
    /// (`PKPushType.voIP`) says "repeatedly"; the number is our choice.
    public static let unreportedCalls = 3
    /// The period of ``unreportedCalls``. Our choice: Apple names no end. A new installation ends it too.
    public static let unreportedSpan = Interval.days(1)
    /// The maximum number of open background tasks of an app (our choice: it keeps the state of a device small).
    public static let openTasks = 100
}

extension Profile {
    /// Returns the time limit of a kind of wake; nil if the generation does not have it.
    public func limit(of kind: WakeKind) -> Interval? { limit(of: kind.limit) }
}

extension WakeKind {
    fileprivate var limit: TimeLimit {
        switch self {
        case .fetch: .fetchHandler
        case .push: .remoteNotificationHandler
        case .newsstand: .newsstandHandler
        case .pushToTalk: .pushToTalkHandler
        case .transfer: .backgroundURLSessionHandler
        case .region, .significantChange, .visit, .monitor: .locationHandler
        case .refreshTask: .refreshTask
        case .processingTask: .processingTask
        case .continuedProcessingTask: .continuedProcessingProgress
        case .voipPush: .voipPushHandler
        case .voipSocket: .voipSocket
        case .bluetoothCentral, .bluetoothPeripheral: .bluetoothHandler
        case .health: .healthHandler
        case .notificationResponse: .notificationResponseHandler
        }
    }
}
