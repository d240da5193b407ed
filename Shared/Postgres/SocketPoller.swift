import CLibpq
import Dispatch
import Glibc
import Synchronization

/// Waits for all sockets of the process on one thread, with `epoll(7)`.
///
/// Dispatch sources are no alternative: on Linux they end the process ("Source finalized twice") if a socket is closed
/// while its sources are cancelled, as when a database stops. Here a kernel event holds no pointer, only a number, and
/// unknown numbers are ignored.
final class SocketPoller: Sendable {
    static let shared = SocketPoller()

    private let epoll: Int32
    private let entries = Mutex<[UInt64: Entry]>([:])
    private let lastNumber = Atomic<UInt64>(0)

    /// A handler and its queue.
    struct Entry: Sendable {
        let queue: DispatchQueue
        let wake: @Sendable () -> Void

        func tell() { queue.async(execute: wake) }
    }

    private init() {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        precondition(epoll >= 0, "epoll_create1 failed with errno \(errno)")
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil,
            { poller in
                guard let poller else { return nil }
                Unmanaged<SocketPoller>.fromOpaque(poller).takeUnretainedValue().run()
            }, Unmanaged.passRetained(self).toOpaque())
        precondition(failure == 0, "pthread_create failed with errno \(failure)")
        pthread_detach(thread)
    }

    /// Registers `descriptor` without arming it.
    /// - Returns: its number, or nil if the kernel refuses.
    func add(_ descriptor: Int32, _ entry: Entry) -> UInt64? {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        entries.withLock { $0[number] = entry }
        guard control(EPOLL_CTL_ADD, descriptor, number, events: Self.once) else {
            entries.withLock { $0[number] = nil }
            return nil
        }
        return number
    }

    /// Requests one wake-up, when a direction is ready or the socket has an error or is closed.
    func arm(_ descriptor: Int32, _ number: UInt64, read: Bool, write: Bool) -> Bool {
        var events = Self.once
        if read { events |= EPOLLIN.rawValue | EPOLLRDHUP.rawValue }
        if write { events |= EPOLLOUT.rawValue }
        return control(EPOLL_CTL_MOD, descriptor, number, events: events)
    }

    /// Unregisters `descriptor`, which must still be open. One last wake-up may already be on the queue.
    func remove(_ descriptor: Int32, _ number: UInt64) {
        entries.withLock { $0[number] = nil }
        _ = control(EPOLL_CTL_DEL, descriptor, number, events: 0)
    }

    private static let once = EPOLLONESHOT.rawValue

    private func control(_ operation: Int32, _ descriptor: Int32, _ number: UInt64, events: UInt32) -> Bool {
        var event = epoll_event(events: events, data: epoll_data_t(u64: number))
        return epoll_ctl(epoll, operation, descriptor, &event) == 0
    }

    private func run() -> Never {
        var events = [epoll_event](repeating: epoll_event(), count: 64)
        while true {
            let count = epoll_wait(epoll, &events, Int32(events.count), -1)
            guard count >= 0 else {
                precondition(errno == EINTR, "epoll_wait failed with errno \(errno)")
                continue
            }
            entries.withLock { entries in
                for event in events.prefix(Int(count)) { entries[event.data.u64]?.tell() }
            }
        }
    }
}
