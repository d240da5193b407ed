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

    public init() {}

    public init(backgroundRefresh: Switch) { self.backgroundRefresh = backgroundRefresh }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("backgroundRefresh", &backgroundRefresh)
        fields.omittable("locationAuthorization", &locationAuthorization)
        fields.omittable("notifications", &notifications)
        fields.omittable("restrictions", &restrictions)
    }
}

/// What a device does not allow its user.
public struct Restrictions: Record, Equatable {
    /// Background App Refresh is off, and can't be changed.
    public var backgroundRefresh = false

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.defaulted("backgroundRefresh", &backgroundRefresh)
    }
}

/// What the user sets for an app; what is missing stays as it was.
public struct AppSettings: Record, Equatable {
    public var backgroundRefresh: Switch?
    public var locationAuthorization: LocationAuthorization?
    public var notifications: Switch?

    public init() {}

    public init(backgroundRefresh: Switch) { self.backgroundRefresh = backgroundRefresh }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("backgroundRefresh", &backgroundRefresh)
        fields.omittable("locationAuthorization", &locationAuthorization)
        fields.omittable("notifications", &notifications)
    }
}

/// What is set for the whole device; what is missing stays as it was.
public struct DeviceSettings: Record, Equatable {
    public var backgroundRefresh: Switch?
    public var restrictions: Restrictions?

    public init() {}

    public init(backgroundRefresh: Switch) { self.backgroundRefresh = backgroundRefresh }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("backgroundRefresh", &backgroundRefresh)
        fields.omittable("restrictions", &restrictions)
    }
}

/// What an app asks for with `beginBackgroundTask(withName:expirationHandler:)`.
public struct TaskRequest: Record, Equatable {
    public var name: String?
    public var expirationHandler = true

    public init() {}

    public init(name: String? = nil, expirationHandler: Bool = true) {
        self.name = name
        self.expirationHandler = expirationHandler
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.defaulted("expirationHandler", &expirationHandler)
        fields.omittable("name", &name, .text(1...128))
    }
}

/// What an app says when a handler returned.
public struct CallbackCompletion: Record, Equatable {
    public var snapshotLabel: String?

    public init() {}

    public init(snapshotLabel: String?) { self.snapshotLabel = snapshotLabel }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("snapshotLabel", &snapshotLabel, .text(1...128))
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

    public init() {}

    public init(result: WakeResult? = nil, success: Bool? = nil, snapshot: String? = nil) {
        self.result = result
        self.snapshot = snapshot
        self.success = success
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("bytesReceived", &bytesReceived, .range(0...1_000_000_000_000))
        fields.omittable("result", &result)
        fields.omittable("snapshot", &snapshot, .text(1...128))
        fields.omittable("success", &success)
    }
}

/// How an app begins an activity. Both are of location updates alone.
public struct ActivityRequest: Record, Equatable {
    /// `allowsBackgroundLocationUpdates`: needed in the background from iOS 9.
    public var allowsBackgroundLocationUpdates = false
    /// `pausesLocationUpdatesAutomatically`.
    public var pausesLocationUpdatesAutomatically = true

    public init() {}

    public init(allowsBackgroundLocationUpdates: Bool, pausesLocationUpdatesAutomatically: Bool = true) {
        self.allowsBackgroundLocationUpdates = allowsBackgroundLocationUpdates
        self.pausesLocationUpdatesAutomatically = pausesLocationUpdatesAutomatically
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.defaulted("allowsBackgroundLocationUpdates", &allowsBackgroundLocationUpdates)
        fields.defaulted("pausesLocationUpdatesAutomatically", &pausesLocationUpdatesAutomatically)
    }
}

/// What an app's code does.
public struct ActionReport: Record, Equatable {
    public var kind = ActionKind.work
    public var thread = ThreadKind.main

    public init() {}

    public init(_ kind: ActionKind, on thread: ThreadKind = .main) {
        self.kind = kind
        self.thread = thread
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("kind", &kind)
        fields.defaulted("thread", &thread)
    }
}

/// A circle on the ground that an app monitors: `CLCircularRegion`.
public struct Region: Record, Equatable {
    public var latitude = 0.0
    public var longitude = 0.0
    /// Above the device's maximum, monitoring fails.
    public var radiusMeters = 0.0
    public var notifyOnEntry = true
    public var notifyOnExit = true

    public init() {}

    public init(latitude: Double, longitude: Double, radiusMeters: Double) {
        self.latitude = latitude
        self.longitude = longitude
        self.radiusMeters = radiusMeters
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("latitude", &latitude, .range(-90...90))
        fields.field("longitude", &longitude, .range(-180...180))
        fields.defaulted("notifyOnEntry", &notifyOnEntry)
        fields.defaulted("notifyOnExit", &notifyOnExit)
        fields.field("radiusMeters", &radiusMeters, .range(1...100_000_000))
    }
}
