public import Glibc

import Foundation

/// A child process did not meet the expectation of a test.
public struct ChildFailed: Error, CustomStringConvertible {
    /// The expectation, and the last lines of the child.
    public let description: String
}

/// A process that a test starts, watches and kills.
///
/// It never outlives its test: the release of this object or the end of the test process, even by SIGKILL, kills it
/// with its process group. A watcher in its group waits for the end of a stream that only this process holds.
public final class ChildProcess: Sendable {
    /// The lines of standard output so far.
    public var output: Transcript { process.output }
    /// The lines of standard error so far.
    public var errors: Transcript { process.errors }
    /// Its process id. The watcher replaces itself by the executable, so it is the executable's own.
    public var pid: pid_t { process.pid }

    private let process: SpawnedProcess
    private let name: String

    // The watcher starts first and holds none of the child's streams, so that the test sees their end.
    private static let watched = #"""
        exec 3<&0 </dev/null
        ( while read -r _; do :; done <&3; kill -KILL -$$ ) >/dev/null 2>&1 &
        exec 3<&- "$@"
        """#

    private init(_ executable: String, _ arguments: [String], environment: [String: String]) throws(SpawnFailed) {
        guard FileManager.default.isExecutableFile(atPath: executable) else {
            throw SpawnFailed(description: "no executable at \(executable)")
        }
        name = (executable as NSString).lastPathComponent
        process = try SpawnedProcess(
            "/bin/sh", ["-c", Self.watched, "watcher", executable] + arguments, environment: environment)
    }

    /// Starts an executable.
    /// - Parameters:
    ///   - executable: its path; see ``product(_:)`` for those of this package.
    ///   - environment: added to the environment of the test process.
    /// - Throws: ``SpawnFailed`` if the executable does not exist.
    public static func start(
        _ executable: String, _ arguments: [String] = [], environment: [String: String] = [:]
    ) throws(SpawnFailed) -> ChildProcess {
        let inherited = ProcessInfo.processInfo.environment
        return try ChildProcess(executable, arguments, environment: inherited.merging(environment) { $1 })
    }

    /// The path of an executable that this package builds: beside the test bundle.
    public static func product(_ name: String) -> String {
        let runner = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let bundle = runner ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent(name).path
    }

    /// Waits for a line on standard output or standard error, old or new.
    /// - Returns: the line.
    /// - Throws: ``ChildFailed`` with its last lines if the output ends before, or after `seconds`.
    @discardableResult
    public func waitForLine(containing text: String, within seconds: Double = 60) async throws -> String {
        let streams = [output, errors]
        let line = try? await withTimeout(seconds: seconds) {
            await withTaskGroup(of: String?.self) { group in
                for stream in streams { group.addTask { await stream.first { $0.contains(text) } } }
                defer { group.cancelAll() }
                for await line in group where line != nil { return line }
                return nil
            }
        }
        guard let line = line ?? nil else { throw failure("no line with “\(text)” within \(seconds) s") }
        return line
    }

    /// Sends it a signal, such as `SIGKILL`, `SIGSTOP`, `SIGCONT` or `SIGTERM`. Does nothing after its end.
    public func signal(_ signal: Int32) {
        guard !process.ended.hasFired else { return }
        kill(pid, signal)
    }

    /// Waits until it has ended and its output is read to the end.
    /// - Throws: ``ChildFailed`` with its last lines after `seconds`.
    @discardableResult
    public func exit(within seconds: Double = 60) async throws -> ExitStatus {
        let ended = process.ended
        do {
            return try await withTimeout(seconds: seconds) { try await ended.value() }
        } catch is TimedOut {
            throw failure("still running after \(seconds) s")
        }
    }

    private func failure(_ what: String) -> ChildFailed {
        ChildFailed(description: "\(name): \(what)\n--- stdout\n\(output.tail())\n--- stderr\n\(errors.tail())")
    }
}
