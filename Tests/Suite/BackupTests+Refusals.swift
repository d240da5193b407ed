import Foundation
import TestSupport
import Testing

/// The data of a stopped installation.
struct StoppedState: Equatable {
    /// `pg_control`, which each start of the database and each write changes.
    private let control: Data
    private let content: [String]
    private let archive: [String]

    init(_ installation: Installation) throws {
        let files = FileManager.default
        let home = installation.database
        control = try Data(contentsOf: home.appendingPathComponent("data/global/pg_control"))
        let content = installation.folder.appendingPathComponent("content").path
        self.content = try files.subpathsOfDirectory(atPath: content).sorted()
        let archive = home.appendingPathComponent("archive").path
        self.archive = files.fileExists(atPath: archive) ? try files.subpathsOfDirectory(atPath: archive).sorted() : []
    }
}

extension Installation {
    /// The folder of the private database, which is elsewhere if its user can't enter the data folder.
    var database: URL {
        folder.appendingPathComponent("log/database.log").resolvingSymlinksInPath().deletingLastPathComponent()
    }
}

/// Commands that are refused.
extension BackupTests {
    @Test(arguments: [
        (["backup"], "give a folder for the backup"), (["backup", "--fast", "x"], "unknown option '--fast'"),
        (["backup", "a", "b"], "give one folder"), (["restore"], "give the folder of a backup"),
        (["restore", "--replase", "x"], "unknown option '--replase'"),
        (["restore", "--accept", "x"], "--accept takes no"),
        (["restore", "--data"], "--data needs a folder"),
        (["restore", "--to", "yesterdy", "x"], "--to needs a moment such as"),
        (["restore", "--archive", "/", "x"], "--archive needs --to"),
    ])
    func `a wrong command line gets one line and status 2`(words: [String], message: String) async throws {
        let process = try ChildProcess.start(Repository.file("deploy/\(words[0])").path, Array(words.dropFirst()))
        #expect(try await process.exit(within: 30) == .exited(2))
        #expect(process.errors.lines.count == 1)
        #expect(process.errors.tail().contains(message))
    }

    /// A log that goes back would write other segments with the same names.
    func refuseSnapshot(_ installation: Installation) async throws {
        for (action, status) in [("save", 0), ("restore", 1)] as [(String, Int32)] {
            let snapshot = try ChildProcess.start(
                Repository.file("deploy/snapshot").path, ["--data", installation.folder.path, action, "a"],
                environment: installation.environment)
            #expect(try await snapshot.exit(within: 120) == .exited(status), "\(snapshot.errors.tail())")
            #expect(status == 0 || snapshot.errors.tail().contains("cannot follow a log that goes back"))
        }
    }

    /// A running suite, existing data, a damaged backup and a newer backup are refused, and nothing changes.
    func expectRefusals(_ installation: Installation, _ backup: URL) async throws {
        var state: StoppedState?
        func refuse(_ arguments: [String], _ words: String) async throws {
            let refused = try await installation.run("restore", arguments)
            #expect(refused.status == .exited(1) && refused.output.contains(words), "\(refused.output)")
            if let state { #expect(try StoppedState(installation) == state, "\(words)") }
        }
        try await refuse(["--replace", backup.path], "the suite runs in")
        #expect(try await installation.down().exit(within: 180) == .exited(0))
        state = try StoppedState(installation)
        try await refuse([backup.path], "has data: add --replace")
        let now = Self.text(of: Date())
        try await refuse(["--replace", "--to", now, backup.path], "there is no archive in")
        try await refuse(["--replace", installation.folder.path], "it has no manifest")
        let script = """
            cd "$(dirname "$1")"; cp -a first damaged; printf x >>damaged/database/global/pg_control
            cp -a first newer; sed -i 's/^version .*/version 99.0.0/' newer/manifest
            cd newer; sha256sum manifest >manifest.sha256
            """
        let shell = try ChildProcess.start("/bin/bash", ["-euc", script, "copy", backup.path])
        #expect(try await shell.exit(within: 60) == .exited(0), "\(shell.errors.tail())")
        let parent = backup.deletingLastPathComponent()
        try await refuse(["--replace", parent.appendingPathComponent("damaged").path], "./database/global/pg_control")
        try await refuse(["--replace", parent.appendingPathComponent("newer").path], "is of version 99.0.0")
    }
}
