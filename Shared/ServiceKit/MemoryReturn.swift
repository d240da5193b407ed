import CMalloc
import Foundation
import HTTPKit
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// Returns memory to the system after a peak of connections.
///
/// glibc keeps freed memory: an arena shrinks only at its end, and a long-lived allocation nearly always lies there.
/// Ten thousand connections leave 150 MiB and more behind. `malloc_trim` returns every free page.
struct MemoryReturn: Service {
    /// The number of files that must have closed since the peak.
    static let leastClosed = 500
    private static let pause = Duration.seconds(5)

    let connections: ConnectionCount
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            var watch = PeakWatch()
            while true {
                try await Task.sleep(for: Self.pause)
                let open = Self.openFiles()
                guard watch.hasPassed(open: open, peak: open + connections.takeExcess()) else { continue }
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

/// Detects that most files of a peak have closed.
struct PeakWatch {
    private var highest = 0

    /// - Parameters:
    ///   - open: the number of open files now.
    ///   - peak: the peak of open files since the last call.
    /// - Returns: true once after each peak, when at least half of its files have closed.
    mutating func hasPassed(open: Int, peak: Int) -> Bool {
        highest = max(highest, open, peak)
        guard highest - open >= MemoryReturn.leastClosed, open <= highest / 2 else { return false }
        highest = open
        return true
    }
}
