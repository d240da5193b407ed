import Dispatch
import Glibc

/// Tells once that a socket became readable or writable. The sources live as long as the socket and rest suspended, so
/// that waiting costs no registration. Used on its queue only.
///
/// They watch a descriptor of their own: libpq closes its own as soon as a connection is lost, and its number may be another
/// connection's before the sources are cancelled. libdispatch, which knows sources by that number, then traps.
final class SocketWatch {
    private let read: any DispatchSourceRead
    private let write: any DispatchSourceWrite
    private var reading = false
    private var writing = false
    private let gone = DispatchGroup()
    /// Negative where there was no descriptor left.
    private let copy: Int32

    /// - Parameter wake: runs on `queue` whenever an armed direction is ready, until ``disarm()``.
    init(_ socket: Int32, queue: DispatchQueue, wake: @escaping @Sendable () -> Void) {
        copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        let descriptor = copy >= 0 ? copy : socket
        read = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        write = DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
        let gone = gone
        gone.enter()
        gone.enter()
        read.setEventHandler(handler: wake)
        write.setEventHandler(handler: wake)
        read.setCancelHandler { gone.leave() }
        write.setCancelHandler { gone.leave() }
    }

    func arm(read wantsRead: Bool, write wantsWrite: Bool) {
        if wantsRead, !reading { read.resume() } else if !wantsRead, reading { read.suspend() }
        if wantsWrite, !writing { write.resume() } else if !wantsWrite, writing { write.suspend() }
        reading = wantsRead
        writing = wantsWrite
    }

    func disarm() { arm(read: false, write: false) }

    /// Ends the watch; `done` runs on `queue` once the socket may be closed. To be called exactly once.
    func cancel(on queue: DispatchQueue, _ done: @escaping @Sendable () -> Void) {
        read.cancel()
        write.cancel()
        // A suspended source never runs its cancel handler.
        arm(read: true, write: true)
        gone.notify(queue: queue) { [copy] in
            if copy >= 0 { close(copy) }
            done()
        }
    }
}
