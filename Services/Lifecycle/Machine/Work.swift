public import Contracts
public import Records
public import Timeline

// The work of an app.

/// A called handler that has not returned.
public struct PendingCallback: Record, Equatable {
    /// The time at which it returns on a built-in device; nil if a client reports the return.
    public var answerDue: Instant?
    public var callback = Callback.didFinishLaunching
    public var deadline = Instant.epoch

    init(_ callback: Callback, until deadline: Instant) {
        self.callback = callback
        self.deadline = deadline
    }
}

/// An open background task: an assertion against suspension.
public struct BackgroundTask: Record, Equatable {
    public var begunAt = Instant.epoch
    /// Whether the app has an expiration handler for the task.
    public var expirationHandler = true
    /// Whether its expiration handler was called in this run.
    public var isExpiring = false
    public var name: String?
}

/// A wake that the app has not completed.
public struct Wake: Record, Equatable {
    /// The time at which its handler returns on a built-in device; nil if a client completes the wake.
    public var answerDue: Instant?
    /// Whether the app has reported a call, or need not.
    public var callReported = false
    /// The end of its time; nil in the foreground, where it has no limit.
    public var deadline: Instant?
    /// Whether the app has an expiration handler. Without one, the system completes the wake.
    public var expirationHandler = true
    /// Whether the expiration handler was called.
    public var isExpiring = false
    public var kind = WakeKind.fetch
    /// The time of its handler while a limit applies.
    public var limit = Interval.zero
    /// The last progress of a continued processing task; nil before the first.
    public var progress: TaskProgress?
    public var request: String?

    /// The termination reason without a completion; nil if the app survives.
    var timeout: EndReason? {
        // A reported call completes a VoIP push.
        callReported || !expirationHandler ? nil : kind.timeout
    }
}

/// An activity that may keep an app running in the background while it continues.
public struct Activity: Record, Equatable {
    public var movedAt = Instant.epoch
    /// The location of the last movement during location updates. `movedAt` is its time.
    public var movedTo: Location?
    public var request = ActivityRequest()
    public var startedAt = Instant.epoch
}
