import CMalloc
import Foundation
import HTTPKit
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// Returns memory to the system after a crowd of connections has closed.
///
/// glibc keeps freed memory: an arena shrinks only at its end, and a long-lived allocation nearly always lies there.
/// Ten thousand connections leave 150 MiB and more behind. `malloc_trim` returns every free page.
struct MemoryReturn: Service {
    /// The fewest closed files that count as a crowd.
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
                // This takes tens of milliseconds, so it runs on a thread for blocking work.
                try? await NIOThreadPool.singleton.runIfActive { _ = malloc_trim(0) }
                logger.debug("returned freed memory to the system")
            }
        }
    }

    /// The number of files and sockets that the process has open, of any port.
    private static func openFiles() -> Int {
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        return count
    }
}

/// Detects that a crowd has left.
struct CrowdWatch {
    private var most = 0

    /// - Parameters:
    ///   - open: the number of open files now.
    ///   - peak: the peak of open files since the last call.
    /// - Returns: whether a crowd was open, and at least half of it is gone; once for each crowd.
    mutating func hasLeft(open: Int, most peak: Int) -> Bool {
        most = max(most, open, peak)
        guard most - open >= MemoryReturn.crowd, open <= most / 2 else { return false }
        most = open
        return true
    }
}
