public import Records

/// The current settings of an app or of the whole device.
public struct Settings: Record, Equatable {
    /// Background App Refresh.
    public var backgroundRefresh: Switch = .on
    /// For an app only.
    public var locationAccuracy: LocationAccuracy?
    /// For an app only.
    public var locationAuthorization: LocationAuthorization?
    /// For an app only.
    public var notifications: NotificationSettings?
    /// For the device only.
    public var restrictions: Restrictions?
    /// For the device only: the local times of the scheduled summary; nil for ``SummaryTimes/usual``.
    public var summaryTimes: [String]?
}

/// The times of the scheduled summary of notifications.
public enum SummaryTimes {
    /// The times that iOS proposes.
    public static let usual = ["08:00", "18:00"]

    /// Returns the minute of the day of a time such as `08:00`; nil for other texts.
    public static func minute(_ time: String) -> Int? {
        let parts = time.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2,
            parts.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy { (48...57).contains($0) } }),
            let hour = Int(parts[0]), let minute = Int(parts[1]), hour < 24, minute < 60
        else { return nil }
        return hour * 60 + minute
    }
}

/// The restrictions of a device.
public struct Restrictions: Record, Equatable {
    /// Whether Background App Refresh is off and the user can't switch it on.
    public var backgroundRefresh: Defaulted<Bool> = false
}

/// A change of an app's settings. A missing member does not change.
public struct AppSettings: Record, Equatable {
    public var backgroundRefresh: Switch?
    /// Precise Location, from iOS 14.
    public var locationAccuracy: LocationAccuracy?
    public var locationAuthorization: LocationAuthorization?
    public var notifications: NotificationSettingsChange?
}

/// A change of the settings of the whole device. A missing member does not change.
public struct DeviceSettings: Record, Equatable {
    public var backgroundRefresh: Switch?
    public var restrictions: Restrictions?
    /// The local times of the scheduled summary of notifications, from iOS 15. Without any, there is no summary.
    public var summaryTimes: [String]?

    enum Constraints {
        static let summaryTimes: Constraint<[String]> = .summaryTimes
    }
}

extension Constraint where T == [String] {
    /// At most 12 times of the day.
    static var summaryTimes: Constraint<[String]> {
        Constraint(
            "must be at most 12 times of the day such as 08:00",
            keywords: [
                ("maxItems", 12), ("items", ["type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"]),
            ]
        ) { $0.count <= 12 && $0.allSatisfy { SummaryTimes.minute($0) != nil } }
    }
}

/// The arguments of `beginBackgroundTask(withName:expirationHandler:)`.
public struct TaskRequest: Record, Equatable {
    public var expirationHandler: Defaulted<Bool> = true
    public var name: String?

    enum Constraints {
        static let name: Constraint<String> = .text(1...128)
    }
}

/// The report of an app that a handler returned.
public struct CallbackCompletion: Record, Equatable {
    public var snapshotLabel: String?

    enum Constraints {
        static let snapshotLabel: Constraint<String> = .text(1...128)
    }
}

/// The report of an app that a wake is completed. The kind of the wake decides which members are required.
public struct WakeCompletion: Record, Equatable {
    /// The bytes that the handler received, for the usage records of the app.
    public var bytesReceived: Int?
    /// For a push of the framework Push to Talk.
    public var pushResult: PushToTalkResult?
    /// For a fetch and for a push with `content-available`.
    public var result: WakeResult?
    /// The label of the new snapshot.
    public var snapshot: String?
    /// For a task request.
    public var success: Bool?

    enum Constraints {
        static let bytesReceived: Constraint<Int> = .range(0...1_000_000_000_000)
        static let snapshot: Constraint<String> = .text(1...128)
    }
}

/// `ProgressReporting.progress` of a continued processing task.
public struct TaskProgress: Record, Equatable {
    public var completedUnitCount = 0
    public var totalUnitCount = 1

    enum Constraints {
        static let completedUnitCount: Constraint<Int> = .range(0...1_000_000_000_000)
        static let totalUnitCount: Constraint<Int> = .range(1...1_000_000_000_000)
    }
}

/// The options of a new activity. Both apply only to location updates.
public struct ActivityRequest: Record, Equatable {
    /// `allowsBackgroundLocationUpdates`: needed in the background from iOS 9.
    public var allowsBackgroundLocationUpdates: Defaulted<Bool> = false
    /// `pausesLocationUpdatesAutomatically`.
    public var pausesLocationUpdatesAutomatically: Defaulted<Bool> = true
}

/// A report of an action of an app's code.
public struct ActionReport: Record, Equatable {
    public var kind = ActionKind.work
    public var thread: Defaulted<ThreadKind> = ThreadKind.main

    public init(_ kind: ActionKind, on thread: ThreadKind = .main) {
        self.kind = kind
        self.thread = thread
    }
}

/// Whether a visit begins or ends: `arrivalDate` and `departureDate` of a `CLVisit`.
public enum VisitKind: String, WireEnum { case arrival, departure }

/// A report that the user arrived at a place or left it.
public struct VisitReport: Record, Equatable {
    public var kind = VisitKind.arrival
}

/// A circle on the ground that an app monitors: `CLCircularRegion`.
public struct Region: Record, Equatable {
    public var latitude: Double
    public var longitude: Double
    public var notifyOnEntry: Defaulted<Bool> = true
    public var notifyOnExit: Defaulted<Bool> = true
    /// The radius in metres. Monitoring fails above the maximum of the device.
    public var radiusMeters: Double

    enum Constraints {
        static let latitude: Constraint<Double> = .range(-90...90)
        static let longitude: Constraint<Double> = .range(-180...180)
        static let radiusMeters: Constraint<Double> = .range(1...100_000_000)
    }
}
