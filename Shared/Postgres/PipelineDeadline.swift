import Dispatch
import Synchronization

/// The deadline of a connection's current call. Any thread may read it at any time.
///
/// The connection ends its own overdue calls. A watchdog reads this value to find a call that still does not return,
/// because the connection's thread is blocked.
public final class PipelineDeadline: Sendable {
    /// In nanoseconds of the system's uptime; 0 without a current call that has a deadline.
    private let uptime = Atomic<UInt64>(0)

    /// Creates a deadline without a current call.
    public init() {}

    /// Starts the deadline of a call.
    ///
    /// - Parameter timeout: the longest duration of the call.
    public func begin(_ timeout: Duration) {
        let (seconds, attoseconds) = timeout.components
        let nanoseconds = UInt64(clamping: seconds) &* 1_000_000_000 &+ UInt64(clamping: attoseconds / 1_000_000_000)
        uptime.store(DispatchTime.now().uptimeNanoseconds &+ nanoseconds, ordering: .relaxed)
    }

    /// Ends the deadline: the call has returned.
    public func end() { uptime.store(0, ordering: .relaxed) }

    /// The identity of the overdue call; nil if no call is overdue.
    public var overdueCall: UInt64? {
        let uptime = uptime.load(ordering: .relaxed)
        return uptime != 0 && uptime < DispatchTime.now().uptimeNanoseconds ? uptime : nil
    }
}
