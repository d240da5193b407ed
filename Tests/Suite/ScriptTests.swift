import Foundation
import TestSupport
import Testing

/// Parts of the deploy scripts.
@Suite(.tags(.processes), .timeLimit(.minutes(1))) struct ScriptTests {
    private static let functions = Repository.file("deploy/lib/output.sh").path

    /// Without care, bash 5.2 reports a syntax error in the trap, and goes on.
    @Test(arguments: ["TERM", "INT"]) func `a signal before a command substitution is not lost`(_ signal: String)
        async throws
    {
        let script = """
            source "$0"
            on_signals 'echo the action; exit 99' TERM INT
            trap 'echo the end' EXIT
            # The first substitution sends the signal, and bash sees it when it reads the second one.
            [[ a == "$(kill -\(signal) $$)" || b == "$(echo c)" ]]
            echo lost
            """
        let shell = try ChildProcess.start("/usr/bin/env", ["bash", "-c", script, Self.functions])
        #expect(try await shell.exit() == .exited(99), "\(shell.errors.tail())")
        #expect(shell.output.lines == ["the action", "the end"])
        #expect(shell.errors.lines.isEmpty)
    }

    @Test func `a signal during a command is not lost`() async throws {
        let script = """
            source "$0"
            on_signals 'exit 99' TERM
            (sleep 0.1; kill -TERM $$) &
            while :; do sleep 0.05; done
            """
        let shell = try ChildProcess.start("/usr/bin/env", ["bash", "-c", script, Self.functions])
        #expect(try await shell.exit() == .exited(99), "\(shell.errors.tail())")
    }

    // MARK: Operators' keys

    @Test func `deploy/up keeps the keys of other operators`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("secret".utf8).write(to: folder.appendingPathComponent("operator-key"))
        try Data(Self.keys("deploy").utf8).write(to: folder.appendingPathComponent("operator-keys"))
        let script = """
            secrets=$1
            source "$0"
            make_operator_keys
            make_operator_keys
            """
        let functions = Repository.file("deploy/lib/suite.sh").path
        let shell = try ChildProcess.start("/usr/bin/env", ["bash", "-euc", script, functions, folder.path])
        #expect(try await shell.exit() == .exited(0), "\(shell.errors.tail())")
        try expectNewKey("deploy", in: folder)
    }

    @Test func `the secrets of the containers keep the keys of other operators`() async throws {
        try await Self.withSecrets { folder, run in
            try Data(Self.keys("compose").utf8).write(to: folder.appendingPathComponent("operator-keys"))
            for _ in 1...2 { try await run() }
            try expectNewKey("compose", in: folder)
        }
    }

    /// A running container has mounted the file itself, and does not see another one of the same name.
    @Test func `the secrets of the containers change the file of keys in place`() async throws {
        try await Self.withSecrets { folder, run in
            let keys = folder.appendingPathComponent("operator-keys")
            // The longer file must not leave its end behind the new lines.
            let former = Self.keys("compose") + "compose read \(String(repeating: "4", count: 5000))\n"
            try Data(former.utf8).write(to: keys)
            try FileManager.default.setAttributes([.posixPermissions: 0o440], ofItemAtPath: keys.path)
            let file = try await Self.identity(of: keys)
            try await run()
            #expect(try await Self.identity(of: keys) == file)
            try expectNewKey("compose", in: folder)
            let first = try String(contentsOf: keys, encoding: .utf8)
            try FileManager.default.removeItem(at: folder.appendingPathComponent("operator-key"))
            try await run()
            #expect(try await Self.identity(of: keys) == file)
            let second = try String(contentsOf: keys, encoding: .utf8)
            #expect(second != first && second.count == first.count)
            #expect(second.hasSuffix("\nalice read 11\nbob read,operate 33\n"))
            // The script leaves no temporary file.
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(names.count == 11 && names.allSatisfy { !$0.contains(".") }, "\(names)")
        }
    }

    /// Calls the body with the folder of a copy of `deploy/docker/secrets`, where "secret" is the operator key, and with
    /// a function that runs the copy.
    private static func withSecrets(_ body: (URL, () async throws -> Void) async throws -> Void) async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: root) }
        let folder = root.appendingPathComponent(".dormouse/compose")
        let script = root.appendingPathComponent("deploy/docker/secrets")
        for one in [folder, script.deletingLastPathComponent()] {
            try FileManager.default.createDirectory(at: one, withIntermediateDirectories: true)
        }
        try FileManager.default.copyItem(at: Repository.file("deploy/docker/secrets"), to: script)
        try Data("secret".utf8).write(to: folder.appendingPathComponent("operator-key"))
        try await body(folder) {
            let process = try ChildProcess.start(script.path)
            #expect(try await process.exit() == .exited(0), "\(process.errors.tail())")
        }
    }

    /// Returns the inode, the mode and the owner of a file.
    private static func identity(of file: URL) async throws -> [String] {
        let process = try ChildProcess.start("/usr/bin/stat", ["--format", "%i %a %u:%g", file.path])
        try #require(try await process.exit() == .exited(0), "\(process.errors.tail())")
        return process.output.lines
    }

    /// A file with an old key of the script, and keys of two others.
    private static func keys(_ own: String) -> String { "alice read 11\n\(own) read,operate 22\nbob read,operate 33\n" }

    /// The key has the digest of "secret", and the others stay.
    private func expectNewKey(_ own: String, in folder: URL) throws {
        let text = try String(contentsOf: folder.appendingPathComponent("operator-keys"), encoding: .utf8)
        let digest = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
        #expect(text == "\(own) read,operate \(digest)\nalice read 11\nbob read,operate 33\n")
    }
}
