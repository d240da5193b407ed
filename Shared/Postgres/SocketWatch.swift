import Dispatch
import Glibc
import Synchronization

/// Tells once that a socket became readable or writable, each time that it is armed.
///
/// It watches a descriptor of its own: libpq closes its own as soon as a connection is lost, and that number may be another
/// connection's before the watch has ended.
final class SocketWatch: Sendable {
    private let entry: SocketPoller.Entry
    /// Negative where there was no descriptor left.
    private let copy: Int32
    /// Nil where the kernel can watch no more sockets.
    private let number: UInt64?
    private let isCancelled = Atomic(false)

    /// How often a socket that can't be watched is looked at.
    private static let pace = DispatchTimeInterval.milliseconds(10)

    /// - Parameter wake: runs on `queue` once after each ``arm(read:write:)``; now and then for nothing.
    init(_ socket: Int32, queue: DispatchQueue, wake: @escaping @Sendable () -> Void) {
        entry = SocketPoller.Entry(queue: queue, wake: wake)
        copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        number = copy >= 0 ? SocketPoller.shared.add(copy, entry) : nil
    }

    deinit { cancel() }

    func arm(read: Bool, write: Bool) {
        if let number, SocketPoller.shared.arm(copy, number, read: read, write: write) { return }
        entry.queue.asyncAfter(deadline: .now() + Self.pace, execute: entry.wake)
    }

    /// Ends the watch. A wake that is already on the queue still runs.
    func cancel() {
        guard !isCancelled.exchange(true, ordering: .relaxed) else { return }
        if let number { SocketPoller.shared.remove(copy, number) }
        if copy >= 0 { close(copy) }
    }
}
