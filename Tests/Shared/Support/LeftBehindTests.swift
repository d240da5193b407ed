import Foundation
import Glibc
import TestSupport
import Testing

@Suite("A test process that is killed leaves nothing behind", .tags(.database, .processes), .timeLimit(.minutes(5)))
struct LeftBehindTests {
    @Test func `a killed test process leaves no postmaster and no folder`() async throws {
        let dead = try await #require(processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]) {
            let cluster = try await PrivateCluster.make(fsync: false)
            let pid = try String(contentsOfFile: "\(cluster.dataDirectory)/postmaster.pid", encoding: .utf8)
                .prefix { $0.isNumber }
            #expect(isAlive(try #require(pid_t(pid))))
            say("left \(pid) \(cluster.socketDirectory)")
            kill(getpid(), SIGKILL)
        }
        let words = try #require(report("left", in: dead.standardOutputContent))
        let pid = try #require(pid_t(words[0]))
        try await eventually(describe: "the postmaster \(pid) ends") { !isAlive(pid) }
        let folder = words[1]
        #expect(folder.hasPrefix("/tmp/dormouse-test-") || folder.hasPrefix("/dev/shm/dormouse-test-"))
        try await eventually(describe: "\(folder) is removed") { !FileManager.default.fileExists(atPath: folder) }
    }

    @Test func `a killed test process leaves no child process`() async throws {
        let dead = try await #require(processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]) {
            let child = try ChildProcess.start("/bin/sh", ["-c", "echo up; sleep 1000 & wait"])
            try await child.waitForLine(containing: "up")
            #expect(isAlive(child.pid))
            say("left \(child.pid)")
            kill(getpid(), SIGKILL)
        }
        let words = try #require(report("left", in: dead.standardOutputContent))
        let pid = try #require(pid_t(words[0]))
        try await eventually(describe: "the child \(pid) ends") { !isAlive(pid) }
    }
}

/// Returns whether a process runs. A dead process that is not reaped yet has no executable in `/proc`.
func isAlive(_ pid: pid_t) -> Bool {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe")) != nil
}

private func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

private func report(_ word: String, in output: [UInt8]) -> [String]? {
    String(decoding: output, as: UTF8.self).split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        .first { $0.first == word }.map { Array($0.dropFirst()) }
}
