import CMalloc
import Foundation
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// Gives memory back to the system after a crowd of connections has left.
///
/// glibc keeps what is freed: an arena shrinks at its end only, and something that lives on lies there nearly always. Ten
/// thousand connections leave 150 MiB and more behind. `malloc_trim` gives back every page that is free.
struct MemoryReturn: Service {
    /// So many fewer files open than there were are a crowd that has left.
    static let crowd = 500
    private static let pause = Duration.seconds(5)

    let connections: ConnectionCount
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            var watch = CrowdWatch()
            while true {
                try await Task.sleep(for: Self.pause)
                let open = Self.openFiles()
                guard watch.hasLeft(open: open, most: open + connections.takeExcess()) else { continue }
                // Tens of milliseconds, so not on a thread that others need.
                try? await NIOThreadPool.singleton.runIfActive { _ = malloc_trim(0) }
                logger.debug("gave memory back to the system")
            }
        }
    }

    /// How many files and sockets the process has open, of whatever port.
    private static func openFiles() -> Int {
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        return count
    }
}

/// Counts the connections of a port, also those of a crowd that comes and goes between two looks.
final class ConnectionCount: Sendable {
    private let state = Mutex((now: 0, most: 0))

    /// Counts a connection until it is closed.
    func add(_ channel: any Channel) {
        state.withLock { state in
            state.now += 1
            state.most = max(state.most, state.now)
        }
        channel.closeFuture.whenComplete { _ in self.state.withLock { $0.now -= 1 } }
    }

    /// How many more there were at a time than there are now, since the last call.
    func takeExcess() -> Int {
        state.withLock { state in
            defer { state.most = state.now }
            return state.most - state.now
        }
    }
}

/// Tells when a crowd has left.
struct CrowdWatch {
    private var most = 0

    /// - Parameters:
    ///   - open: how many files are open now.
    ///   - peak: how many were open at a time since the last call.
    /// - Returns: whether there were many more, and at least half of them are gone. Once for each crowd.
    mutating func hasLeft(open: Int, most peak: Int) -> Bool {
        most = max(most, open, peak)
        guard most - open >= MemoryReturn.crowd, open <= most / 2 else { return false }
        most = open
        return true
    }
}
