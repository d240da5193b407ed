public import Records

/// The settings of an app, or of the whole device, as they are.
public struct Settings: Record, Equatable {
    /// Background App Refresh.
    public var backgroundRefresh: Switch = .on
    /// Of an app.
    public var locationAuthorization: LocationAuthorization?
    /// Of an app.
    public var notifications: Switch?
    /// Of the device.
    public var restrictions: Restrictions?
}

/// What a device does not allow its user.
public struct Restrictions: Record, Equatable {
    /// Background App Refresh is off, and can't be changed.
    public var backgroundRefresh: Defaulted<Bool> = false
}

/// What the user sets for an app; what is missing stays as it was.
public struct AppSettings: Record, Equatable {
    public var backgroundRefresh: Switch?
    public var locationAuthorization: LocationAuthorization?
    public var notifications: Switch?
}

/// What is set for the whole device; what is missing stays as it was.
public struct DeviceSettings: Record, Equatable {
    public var backgroundRefresh: Switch?
    public var restrictions: Restrictions?
}

/// What an app asks for with `beginBackgroundTask(withName:expirationHandler:)`.
public struct TaskRequest: Record, Equatable {
    public var expirationHandler: Defaulted<Bool> = true
    public var name: String?

    enum Constraints {
        static let name: Rule<String> = .text(1...128)
    }
}

/// What an app says when a handler returned.
public struct CallbackCompletion: Record, Equatable {
    public var snapshotLabel: String?

    enum Constraints {
        static let snapshotLabel: Rule<String> = .text(1...128)
    }
}

/// What an app says at the end of a wake. Which of it is needed depends on the kind of wake.
public struct WakeCompletion: Record, Equatable {
    /// What the handler loaded, for the ledger of the app.
    public var bytesReceived: Int?
    /// Of a fetch and of a push.
    public var result: WakeResult?
    /// The label of the new snapshot.
    public var snapshot: String?
    /// Of a task request.
    public var success: Bool?

    enum Constraints {
        static let bytesReceived: Rule<Int> = .range(0...1_000_000_000_000)
        static let snapshot: Rule<String> = .text(1...128)
    }
}

/// How an app begins an activity. Both are of location updates alone.
public struct ActivityRequest: Record, Equatable {
    /// `allowsBackgroundLocationUpdates`: needed in the background from iOS 9.
    public var allowsBackgroundLocationUpdates: Defaulted<Bool> = false
    /// `pausesLocationUpdatesAutomatically`.
    public var pausesLocationUpdatesAutomatically: Defaulted<Bool> = true
}

/// What an app's code does.
public struct ActionReport: Record, Equatable {
    public var kind = ActionKind.work
    public var thread: Defaulted<ThreadKind> = ThreadKind.main

    public init(_ kind: ActionKind, on thread: ThreadKind = .main) {
        self.kind = kind
        self.thread = thread
    }
}

/// A circle on the ground that an app monitors: `CLCircularRegion`.
public struct Region: Record, Equatable {
    public var latitude: Double
    public var longitude: Double
    public var notifyOnEntry: Defaulted<Bool> = true
    public var notifyOnExit: Defaulted<Bool> = true
    /// Above the device's maximum, monitoring fails.
    public var radiusMeters: Double

    enum Constraints {
        static let latitude: Rule<Double> = .range(-90...90)
        static let longitude: Rule<Double> = .range(-180...180)
        static let radiusMeters: Rule<Double> = .range(1...100_000_000)
    }
}
