import Dispatch
import Glibc
import Testing

@testable import Postgres

/// A stopped database closes hundreds of connections. Each watch must end without a crash, also if its socket is closed
/// and the descriptor number reused.
@Suite struct SocketWatchTests {
    private static func pair() -> (Int32, Int32) {
        var pair: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        return (pair[0], pair[1])
    }

    @Test func `a watch reports a ready socket once each time it is armed`() async {
        let queue = DispatchQueue(label: "watch")
        let (near, far) = Self.pair()
        let (wakes, told) = AsyncStream<Void>.makeStream()
        let watch = SocketWatch(near, queue: queue) { told.yield() }
        watch.arm(read: true, write: false)
        #expect(write(far, "a", 1) == 1)
        var iterator = wakes.makeAsyncIterator()
        await iterator.next()
        watch.arm(read: true, write: false)
        await iterator.next()
        watch.arm(read: false, write: true)
        await iterator.next()
        watch.cancel()
        close(near)
        close(far)
    }

    @Test(.timeLimit(.minutes(1)))
    func `sockets that are closed at any time do not crash the process`() async {
        await withTaskGroup(of: Void.self) { group in
            for lane in 0..<4 {
                group.addTask {
                    let queue = DispatchQueue(label: "watch \(lane)")
                    let other = DispatchQueue(label: "peer \(lane)")
                    for round in 0..<5_000 {
                        let (near, far) = Self.pair()
                        let watch = SocketWatch(near, queue: queue) {}
                        queue.async { watch.arm(read: true, write: round % 3 == 0) }
                        other.async {
                            if round % 5 == 0 { _ = send(far, "x", 1, Int32(MSG_NOSIGNAL)) }
                            close(far)
                        }
                        if round % 7 == 0 { queue.async { watch.arm(read: true, write: true) } }
                        if round % 4 != 0 { other.sync { _ = usleep(UInt32(round % 11) * 20) } }
                        queue.sync {
                            close(near)
                            watch.cancel()
                        }
                        other.sync {}
                    }
                }
            }
        }
    }
}
