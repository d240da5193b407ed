public import Contracts
public import Records
public import Timeline

// What an app has under way.

/// A handler that was called and has not returned.
public struct PendingCallback: Record, Equatable {
    public var callback = Callback.didFinishLaunching
    public var deadline = Instant.epoch

    public init() {}

    init(_ callback: Callback, until deadline: Instant) {
        self.callback = callback
        self.deadline = deadline
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("callback", &callback)
        fields.field("deadline", &deadline)
    }
}

/// An open background task: an assertion against suspension.
public struct BackgroundTask: Record, Equatable {
    public var name: String?
    public var expirationHandler = true
    /// Whether its expiration handler was called in this run.
    public var isExpiring = false
    public var begunAt = Instant.epoch

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("begunAt", &begunAt)
        fields.field("expirationHandler", &expirationHandler)
        fields.field("isExpiring", &isExpiring)
        fields.omittable("name", &name)
    }
}

/// A wake that the app has not completed.
public struct Wake: Record, Equatable {
    public var kind = WakeKind.fetch
    public var request: String?
    /// Nil once the user has opened the app: in the foreground nothing limits it.
    public var deadline: Instant?
    /// What its handler gets, whenever it is limited.
    public var limit = Interval.zero
    /// Whether anybody can be told that the time is nearly over. Where nobody can, the system completes it.
    public var expirationHandler = true
    /// Whether its handler was told that the time is nearly over.
    public var isExpiring = false
    /// Whether the app has reported a call since.
    public var callReported = false

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("callReported", &callReported)
        fields.omittable("deadline", &deadline)
        fields.field("expirationHandler", &expirationHandler)
        fields.field("isExpiring", &isExpiring)
        fields.field("kind", &kind)
        fields.field("limit", &limit)
        fields.omittable("request", &request)
    }

    /// What the app dies of when it does not complete; nil where it lives on.
    var timeout: EndReason? {
        // A call that was reported is what the push was for.
        callReported || !expirationHandler ? nil : kind.timeout
    }
}

/// Something that may keep an app running in the background for as long as it goes on.
public struct Activity: Record, Equatable {
    public var startedAt = Instant.epoch
    public var request = ActivityRequest()
    /// Of location updates: where the device moved to last, and when.
    public var movedTo: Location?
    public var movedAt = Instant.epoch

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("movedAt", &movedAt)
        fields.omittable("movedTo", &movedTo)
        fields.field("request", &request)
        fields.field("startedAt", &startedAt)
    }
}
