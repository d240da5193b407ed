import Dispatch
import Synchronization

/// When the call that a connection has under way must have returned. Any thread may read it at any time.
///
/// The connection ends its own overdue calls. This value is for a watchdog: it shows a call that does not return even so,
/// because the connection's thread is blocked.
public final class CallDeadline: Sendable {
    /// In nanoseconds of the system's uptime; 0 while no call with a deadline is under way.
    private let moment = Atomic<UInt64>(0)

    /// Creates one with no call under way.
    public init() {}

    /// Notes that a call begins.
    ///
    /// - Parameter timeout: how long it may take.
    public func begin(_ timeout: Duration) {
        let (seconds, attoseconds) = timeout.components
        let nanoseconds = UInt64(clamping: seconds) &* 1_000_000_000 &+ UInt64(clamping: attoseconds / 1_000_000_000)
        moment.store(DispatchTime.now().uptimeNanoseconds &+ nanoseconds, ordering: .relaxed)
    }

    /// Notes that the call has returned.
    public func end() { moment.store(0, ordering: .relaxed) }

    /// What tells the overdue call from others; nil while no call is overdue.
    public var overdueCall: UInt64? {
        let moment = moment.load(ordering: .relaxed)
        return moment != 0 && moment < DispatchTime.now().uptimeNanoseconds ? moment : nil
    }
}
