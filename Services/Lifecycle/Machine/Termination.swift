public import Contracts
public import OrderedCollections
public import Records
public import Timeline

/// The end of a process.
public struct Termination: Record, Equatable {
    public var at = Instant.epoch
    /// The remaining time of background tasks; nil in the foreground.
    public var backgroundTimeRemaining: Interval?
    public var code: TerminationCode?
    /// The state before the end.
    public var from = AppState.notRunning
    public var reason = EndReason.exit
    /// The lifetime of the process.
    public var sinceLaunch: Interval?

    public init(_ event: LifecycleEvent.AppTerminated, at time: Instant) {
        at = time
        backgroundTimeRemaining = event.backgroundTimeRemaining
        code = event.code
        from = event.from
        reason = event.reason
        sinceLaunch = event.sinceLaunch
    }
}

/// The number of ends of processes by ``EndReason``, on screen and in other states.
public struct ExitCounts: Record, Equatable {
    public var background: OrderedDictionary<String, Int> = [:]
    public var foreground: OrderedDictionary<String, Int> = [:]

    mutating func count(_ reason: EndReason, in state: AppState) {
        if state.isForeground {
            foreground[reason.rawValue, default: 0] += 1
        } else {
            background[reason.rawValue, default: 0] += 1
        }
    }

    /// Adds other counts.
    public mutating func add(_ other: ExitCounts) {
        foreground.merge(other.foreground, uniquingKeysWith: +)
        background.merge(other.background, uniquingKeysWith: +)
    }
}
