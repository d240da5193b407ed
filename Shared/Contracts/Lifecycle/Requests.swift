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

/// What an app says at the end of a wake.
public struct WakeCompletion: Record, Equatable {
    public var result: WakeResult?
    /// The label of the new snapshot.
    public var snapshot: String?

    public init() {}

    public init(result: WakeResult?, snapshot: String? = nil) {
        self.result = result
        self.snapshot = snapshot
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("result", &result)
        fields.omittable("snapshot", &snapshot, .text(1...128))
    }
}
