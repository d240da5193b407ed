import Foundation
import Synchronization
import TestSupport
import Testing

/// The commands of the README, as a new user types them.
@Suite("The README", .tags(.database, .processes), .timeLimit(.minutes(15))) struct ReadmeTests {
    /// A command of the README, and the output that it shows.
    private struct Step {
        var command: String
        var shown = ""

        /// Members whose values differ from run to run.
        private static let variable: Set<String> = [
            "aim", "arrivedAt", "at", "deliveredAt", "now", "score", "secondsRemaining", "shownAt", "sinceLaunch",
            "task", "token", "until", "wokeAt",
        ]

        /// The names of the shown members.
        var names: [String] { shown.matches(of: /"(\w+)":/).map { "\"\($0.1)\":" } }

        /// The shown members with simple values that are always the same.
        var pairs: [String] {
            shown.matches(of: /"(\w+)":("[^"…]*"|true|false|null|[0-9.]+)/)
                .filter { !Self.variable.contains(String($0.1)) }.map { String($0.0) }
        }
    }

    /// Returns the commands of a section.
    private func steps(in section: String) throws -> [Step] {
        let text = try String(contentsOf: Repository.file("README.md"), encoding: .utf8)
        let begin = try #require(text.range(of: "\n## \(section)\n"))
        let rest = text[begin.upperBound...]
        let body = rest[..<(rest.range(of: "\n## ")?.lowerBound ?? rest.endIndex)]
        var steps: [Step] = []
        for block in body.split(separator: "```console\n").dropFirst() {
            for line in block[..<(block.range(of: "```")?.lowerBound ?? block.endIndex)].split(separator: "\n") {
                if line.hasPrefix("$ ") {
                    steps.append(Step(command: String(line.dropFirst(2))))
                } else if let last = steps.indices.last, steps[last].command.hasSuffix("\\") {
                    steps[last].command = String(steps[last].command.dropLast() + line)
                } else if let last = steps.indices.last {
                    steps[last].shown += line
                }
            }
        }
        return steps
    }

    @Test func `the five minutes answer as shown`() async throws {
        let steps = try steps(in: "Five minutes")
        #expect(steps.count > 15 && steps.count { !$0.shown.isEmpty } > 8)
        try await Installation.using { installation in
            let up = try installation.up(["--virtual-time", "--no-fleet", "--detach"])
            #expect(try await up.exit(within: 400) == .exited(0), "\(up.output.tail()) \(up.errors.tail())")
            // The folder of the user: a checkout with the data and the executables.
            let folder = FileManager.default.temporaryDirectory.appending(path: "readme-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let files = FileManager.default
            try files.createDirectory(at: folder.appending(path: ".build"), withIntermediateDirectories: true)
            try files.createSymbolicLink(
                at: folder.appending(path: ".dormouse"), withDestinationURL: installation.folder)
            try files.createSymbolicLink(
                at: folder.appending(path: ".build/release"),
                withDestinationURL: URL(filePath: ChildProcess.product("")))
            var before = "cd '\(folder.path)'\n"
            for step in steps {
                let command = step.command
                    .replacing(/localhost:80(8[0-4])/) { "localhost:\(installation.base + (Int($0.1) ?? 80) - 80)" }
                    .replacing("localhost:2197", with: "localhost:\(installation.base + 97)")
                // Variables and functions are for the commands after it.
                if let name = command.firstMatch(of: #/^(\w+)=\$\(call /#)?.1 {
                    let value = try await answer(of: "\(command); printf '%s' \"$\(name)\"", after: before, [])
                    before += "\(name)='\(value)'\n"
                    continue
                }
                if command.contains(/^\w+(=|\(\))/) { before += command + "\n" }
                let parts = step.names + step.pairs
                let output = try await answer(of: command, after: before, parts)
                for part in parts { #expect(output.contains(part), "\(command): \(output)") }
            }
        }
    }

    /// Runs a command. It runs again until the services have learned of the former ones.
    private func answer(of command: String, after before: String, _ parts: [String]) async throws -> String {
        let changes = command.contains(" -d ") || command.contains(" -X ")
        let last = Mutex("")
        do {
            try await eventually(describe: "an answer to \(command)") {
                let shell = try ChildProcess.start("/bin/bash", ["-c", before + command])
                let status = try await shell.exit()
                let output = shell.output.tail(1000)
                last.withLock { $0 = output + shell.errors.tail() }
                let early = ["device_not_registered", "app_not_installed", "app_not_running"]
                guard status == .exited(0), !early.contains(where: output.contains) else { return false }
                return changes || parts.allSatisfy(output.contains)
            }
        } catch is TimedOut { Issue.record("\(command) fails: \(last.withLock(\.self))") }
        return last.withLock(\.self)
    }
}
