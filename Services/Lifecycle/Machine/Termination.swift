public import Contracts
public import OrderedCollections
public import Records
public import Timeline

/// How a process ended.
public struct Termination: Record, Equatable {
    public var at = Instant.epoch
    /// Of the background tasks; nil in the foreground.
    public var backgroundTimeRemaining: Interval?
    public var code: TerminationCode?
    /// The state that it was in.
    public var from = AppState.notRunning
    public var reason = EndReason.exit
    /// How long the process lived.
    public var sinceLaunch: Interval?

    public init() {}

    public init(_ event: LifecycleEvent.AppTerminated, at time: Instant) {
        at = time
        backgroundTimeRemaining = event.backgroundTimeRemaining
        code = event.code
        from = event.from
        reason = event.reason
        sinceLaunch = event.sinceLaunch
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("at", &at)
        fields.omittable("backgroundTimeRemaining", &backgroundTimeRemaining)
        fields.omittable("code", &code)
        fields.field("from", &from)
        fields.field("reason", &reason)
        fields.omittable("sinceLaunch", &sinceLaunch)
    }
}

/// How often processes ended, by ``EndReason``: those on screen apart from all others.
public struct ExitCounts: Record, Equatable {
    public var foreground: OrderedDictionary<String, Int> = [:]
    public var background: OrderedDictionary<String, Int> = [:]

    public init() {}

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("background", &background)
        fields.field("foreground", &foreground)
    }

    mutating func count(_ reason: EndReason, in state: AppState) {
        if state.isForeground {
            foreground[reason.rawValue, default: 0] += 1
        } else {
            background[reason.rawValue, default: 0] += 1
        }
    }

    /// Adds another's counts.
    public mutating func add(_ other: ExitCounts) {
        foreground.merge(other.foreground, uniquingKeysWith: +)
        background.merge(other.background, uniquingKeysWith: +)
    }
}
