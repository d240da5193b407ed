import Glibc
import Synchronization

/// How long the threads of this process wait for a processor.
///
/// Linux counts for each thread the time in which it ran, and in which it could run but waited
/// (`/proc/self/task/*/schedstat`). In a process with free processors the second is at most about as long as the first.
final class ProcessorWait: Sendable {
    /// The shortest time between two readings. A reading of 10 threads needs 0.1 ms.
    private static let interval = Duration.milliseconds(100)
    /// Shorter times say little.
    private static let least: UInt64 = 2_000_000

    /// The times of all threads in nanoseconds.
    struct Times: Equatable {
        var ran: UInt64 = 0
        var waited: UInt64 = 0
    }

    private struct State {
        var read: ContinuousClock.Instant?
        var times = Times()
        var share: Double?
    }

    private let state = Mutex(State())

    /// Returns the share of the waiting, from 0 to 1, of the time in which threads ran or waited: a weighted mean of the
    /// last readings. Nil if the system does not tell.
    func share(at now: ContinuousClock.Instant) -> Double? {
        let isDue = state.withLock { state in
            guard state.read.map({ $0 + Self.interval <= now }) ?? true else { return false }
            state.read = now
            return true
        }
        let times = isDue ? Self.read() : nil
        return state.withLock { state in
            guard let times else { return state.share }
            // A thread that ends takes its times with it.
            let ran = times.ran &- min(times.ran, state.times.ran)
            let waited = times.waited &- min(times.waited, state.times.waited)
            guard ran + waited >= Self.least else { return state.share }
            state.times = times
            let share = Double(waited) / Double(ran + waited)
            state.share = state.share.map { $0 + (share - $0) / 2 } ?? share
            return state.share
        }
    }

    /// Returns the times of all threads of this process; nil if the system does not tell.
    static func read() -> Times? {
        guard let folder = opendir("/proc/self/task") else { return nil }
        defer { closedir(folder) }
        var sum: Times?
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name.first != ".", let own = times(ofThread: name) else { continue }
            sum = Times(ran: (sum?.ran ?? 0) + own.ran, waited: (sum?.waited ?? 0) + own.waited)
        }
        return sum
    }

    private static func times(ofThread thread: String) -> Times? {
        let file = open("/proc/self/task/\(thread)/schedstat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { buffer in
            let count = Glibc.read(file, buffer.baseAddress, buffer.count)
            return count > 0 ? times(in: String(decoding: buffer[..<count], as: UTF8.self)) : nil
        }
    }

    /// Reads the text of `schedstat`: nanoseconds on a processor, nanoseconds of waiting, and the number of times on one.
    static func times(in text: String) -> Times? {
        let words = text.split { $0 == " " || $0 == "\n" }
        guard words.count == 3, let ran = UInt64(words[0]), let waited = UInt64(words[1]) else { return nil }
        return Times(ran: ran, waited: waited)
    }
}
