public import Records

/// Settings of the user, of an app or of the whole device.
public struct Settings: Record, Equatable {
    public var backgroundRefresh: Switch = .on

    public init() {}

    public init(backgroundRefresh: Switch) { self.backgroundRefresh = backgroundRefresh }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("backgroundRefresh", &backgroundRefresh)
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
