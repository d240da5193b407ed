public import NIOCore

/// Calls a handler by the earliest of its deadlines. It may call too early; then the handler finds nothing due, and sets
/// the next time.
///
/// Most deadlines move back or end. To cancel a scheduled task, NIO searches all tasks of the event loop. So the alarm
/// keeps its task as long as the task comes early enough. Used on one event loop.
public struct Alarm {
    private var pending: (time: NIODeadline, task: Scheduled<Void>)?

    public init() {}

    /// Makes sure that `look` is called by a time, unless an earlier call comes first.
    public mutating func set(by time: NIODeadline, on loop: any EventLoop, _ look: @escaping @Sendable () -> Void) {
        if let pending, pending.time <= time { return }
        pending?.task.cancel()
        pending = (time, loop.scheduleTask(deadline: time, look))
    }

    /// Takes note that `look` was called.
    public mutating func hasRung() { pending = nil }

    /// Prevents any further call.
    public mutating func cancel() {
        pending?.task.cancel()
        pending = nil
    }
}
