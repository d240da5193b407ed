import Foundation
import TestSupport
import Testing

@Suite(.tags(.stockClient), .timeLimit(.minutes(2))) struct PythonEnvironmentTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("python-\(UUID().uuidString)")

    private func remove() {
        for path in [folder.path, folder.path + ".lock"] { try? FileManager.default.removeItem(atPath: path) }
    }

    @Test func `two tests with the same packages share one environment`() async throws {
        defer { remove() }
        // Each environment contains `pip`, so this needs no package index.
        async let first = PythonEnvironment.make(["pip"], in: folder.path)
        async let second = PythonEnvironment.make(["pip"], in: folder.path)
        let environments = try await [first, second]
        #expect(environments.map(\.interpreter) == Array(repeating: folder.path + "/bin/python", count: 2))
        let script = folder.appendingPathComponent("script.py")
        try Data("import sys\nprint(sys.prefix)\nprint(sys.argv[1])\n".utf8).write(to: script)
        #expect(try await environments[0].run(script.path, ["hello"]) == [folder.path, "hello"])
        try Data("raise SystemExit('no')\n".utf8).write(to: script)
        await #expect(throws: PythonFailed.self) { try await environments[0].run(script.path) }
    }

    @Test func `an unreachable package index is named in the error`() async throws {
        defer { remove() }
        let failure = await #expect(throws: PythonFailed.self) {
            try await PythonEnvironment.make(
                ["--index-url=http://127.0.0.1:1/simple", "httpx==0.28.1"], in: folder.path)
        }
        #expect(failure?.description.contains("is pypi.org reachable from here?") == true)
        // The incomplete environment is not marked as complete.
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/complete"))
    }
}
