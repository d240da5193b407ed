import Foundation
import Glibc
import TestSupport
import Testing

@Suite("A child process", .tags(.processes), .timeLimit(.minutes(5)))
struct ChildProcessTests {
    @Test func `a child process gets arguments and environment, and returns lines and status`() async throws {
        let child = try ChildProcess.start(
            "/bin/sh", ["-c", "echo \"$1 $PET\"; printf 'no newline' >&2; exit 3", "sh", "a b"],
            environment: ["PET": "dormouse"])
        #expect(try await child.exit() == .exited(3))
        #expect(child.output.lines == ["a b dormouse"])
        #expect(child.errors.lines == ["no newline"])
        #expect(try await child.waitForLine(containing: "newline") == "no newline")
    }

    @Test func `signals stop, continue and end a child process`() async throws {
        let script = "trap 'echo told; exit 4' TERM; echo up; while :; do sleep 0.01; done"
        let child = try ChildProcess.start("/bin/sh", ["-c", script])
        try await child.waitForLine(containing: "up")
        child.signal(SIGSTOP)
        let pid = child.pid
        try await eventually(describe: "it is stopped") { try state(of: pid) == "T" }
        child.signal(SIGTERM)
        #expect(child.output.lines == ["up"])
        child.signal(SIGCONT)
        try await child.waitForLine(containing: "told")
        #expect(try await child.exit() == .exited(4))

        let other = try ChildProcess.start("/bin/sleep", ["1000"])
        other.signal(SIGKILL)
        #expect(try await other.exit() == .signalled(SIGKILL))
    }

    @Test func `a wait for a missing line fails with the lines that came`() async throws {
        let ended = try ChildProcess.start("/bin/echo", ["squeak"])
        let failure = await #expect(throws: ChildFailed.self) { try await ended.waitForLine(containing: "roar") }
        #expect(failure?.description.contains("squeak") == true)

        let running = try ChildProcess.start("/bin/sleep", ["1000"])
        await #expect(throws: ChildFailed.self) { try await running.waitForLine(containing: "roar", within: 0.01) }
        await #expect(throws: ChildFailed.self) { try await running.exit(within: 0.01) }
    }

    @Test func `a child process and its children end with their owner`() async throws {
        var child: ChildProcess? = try ChildProcess.start("/bin/sh", ["-c", "sleep 1000 & echo grandchild $!; wait"])
        let line = try #require(try await child?.waitForLine(containing: "grandchild "))
        let (pid, grandchild) = (try #require(child?.pid), try #require(pid_t(line.dropFirst("grandchild ".count))))
        #expect(isAlive(pid) && isAlive(grandchild))
        child = nil
        try await eventually(describe: "both end") { !isAlive(pid) && !isAlive(grandchild) }
    }

    @Test func `executables are found beside the tests`() throws {
        let lifecycle = ChildProcess.product("lifecycle")
        #expect(FileManager.default.isExecutableFile(atPath: lifecycle))
        #expect(throws: SpawnFailed.self) { try ChildProcess.start(ChildProcess.product("no such product")) }
    }

    /// Returns the letter of a process's state in `/proc`.
    private func state(of pid: pid_t) throws -> Character? {
        let status = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        return status.split(separator: ")").last?.first { $0 != " " }
    }
}
