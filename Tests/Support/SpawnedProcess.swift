import Foundation
import Glibc
import Synchronization

/// The end of a process.
public enum ExitStatus: Sendable, Equatable {
    /// It exited by itself with this code.
    case exited(Int32)
    /// This signal ended it.
    case signalled(Int32)
}

/// A process in its own process group. Its standard input is a socket that only this object holds. So it reads the end
/// of its input when the object is released or the test process ends.
final class SpawnedProcess: Sendable {
    let pid: pid_t
    /// Its standard output.
    let output = Transcript()
    /// Its standard error.
    let errors = Transcript()
    /// Fires after the process is reaped and its output is read to the end.
    let ended = Signal<ExitStatus>()
    private let input: Mutex<Int32?>

    init(_ executable: String, _ arguments: [String], environment: [String: String]) throws(SpawnFailed) {
        let spawn = try Spawn(executable, arguments, environment)
        pid = spawn.pid
        input = Mutex(spawn.input)
        Self.watch(pid, output: (spawn.output, output), errors: (spawn.errors, errors), ended: ended)
    }

    deinit { closeInput() }

    /// Writes a line to its standard input.
    /// - Returns: false if the process no longer reads.
    func write(line: String) -> Bool {
        let bytes = Array("\(line)\n".utf8)
        return input.withLock { input in
            guard let input else { return false }
            return send(input, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
        }
    }

    /// Ends its standard input.
    func closeInput() {
        input.withLock { input in
            if let descriptor = input { _ = close(descriptor) }
            input = nil
        }
    }

    /// Runs a command to its end.
    /// - Returns: its status and both outputs, each as one string.
    static func run(
        _ executable: String, _ arguments: [String], environment: [String: String]
    ) async throws -> (status: ExitStatus, output: String, errors: String) {
        let process = try SpawnedProcess(executable, arguments, environment: environment)
        process.closeInput()
        let status = try await process.ended.value()
        return (status, process.output.lines.joined(separator: "\n"), process.errors.lines.joined(separator: "\n"))
    }

    /// Reads and reaps on separate threads, because both calls would block the cooperative pool.
    private static func watch(
        _ pid: pid_t, output: (Int32, Transcript), errors: (Int32, Transcript), ended: Signal<ExitStatus>
    ) {
        let readers = DispatchGroup()
        for (descriptor, transcript) in [output, errors] {
            readers.enter()
            Thread.detachNewThread {
                read(descriptor, into: transcript)
                readers.leave()
            }
        }
        Thread.detachNewThread {
            // Ends its remaining group too. Until it is reaped, the process keeps the group's number in use.
            var end = siginfo_t()
            while waitid(P_PID, id_t(pid), &end, WEXITED | WNOWAIT) == -1, errno == EINTR {}
            kill(-pid, SIGKILL)
            var status: Int32 = 0
            while waitpid(pid, &status, 0) == -1, errno == EINTR {}
            readers.wait()
            let signal = status & 0x7f
            ended.fire(signal == 0 ? .exited((status >> 8) & 0xff) : .signalled(signal))
        }
    }

    private static func read(_ descriptor: Int32, into transcript: Transcript) {
        var pending: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count == -1, errno == EINTR { continue }
            guard count > 0 else { break }
            pending += chunk[..<count]
            while let newline = pending.firstIndex(of: UInt8(ascii: "\n")) {
                transcript.append(String(decoding: pending[..<newline], as: UTF8.self))
                pending.removeSubrange(...newline)
            }
        }
        if !pending.isEmpty { transcript.append(String(decoding: pending, as: UTF8.self)) }
        transcript.end()
        close(descriptor)
    }
}
