import Dispatch
import Glibc
import Synchronization

/// Reports once, each time it is armed, that a socket is readable or writable.
///
/// It watches a duplicate descriptor. libpq closes its descriptor as soon as a connection is lost, and another
/// connection may get the same number before the watch ends.
final class SocketWatch: Sendable {
    private let entry: SocketPoller.Entry
    /// Negative if the process has no free descriptor.
    private let copy: Int32
    /// Nil if the kernel can watch no more sockets.
    private let number: UInt64?
    private let isCancelled = Atomic(false)

    /// The poll interval of a socket that can't be watched.
    private static let pace = DispatchTimeInterval.milliseconds(10)

    /// - Parameter wake: runs on `queue` once after each ``arm(read:write:)``, sometimes spuriously.
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

    /// Ends the watch. A wake-up that is already on the queue still runs.
    func cancel() {
        guard !isCancelled.exchange(true, ordering: .relaxed) else { return }
        if let number { SocketPoller.shared.remove(copy, number) }
        if copy >= 0 { close(copy) }
    }
}
