import ArgumentParser
import Foundation
import FoundationXML
import TestSupport
import Testing

@testable import habits

/// `habits`: the picture and the table in the README, and the command.
@Suite(.tags(.processes), .ownThread) struct HabitPictureTests {
    private static let folder = Repository.file("Services/Fetch")

    @Test func `the README has the current picture and table`() throws {
        let outcomes = try HabitsCommand.parse([]).devices.map { try HabitSimulation.run($0) }
        let picture = try String(contentsOf: Self.folder.appending(path: "habits.svg"), encoding: .utf8)
        #expect(
            picture == HabitPlot(outcomes).svg,
            "renew it: swift run habits --svg Services/Fetch/habits.svg, and the table in the README with it")
        let readme = try String(contentsOf: Self.folder.appending(path: "README.md"), encoding: .utf8)
        #expect(
            readme.contains(HabitTable.text(outcomes)),
            "renew the table in Services/Fetch/README.md with the output of swift run habits")
    }

    @Test func `the picture is well-formed XML with a title`() throws {
        let outcomes = try HabitsCommand.parse(["--open", "23:55", "--days", "2"]).devices
            .map { device in
                var device = device
                device.apps[0].name = "a<b>&c"
                return try HabitSimulation.run(device)
            }
        let svg = HabitPlot(outcomes).svg
        #expect(svg.contains("<title id=\"title\">") && svg.contains("role=\"img\""))
        #expect(svg.contains("a&lt;b&gt;&amp;c") && !svg.contains("a<b>"))
        let parser = XMLParser(data: Data(svg.utf8))
        #expect(parser.parse(), "\(String(describing: parser.parserError))")
    }

    @Test(arguments: [("07:30", 450), ("7:30", 450), ("00:00", 0), ("23:59", 1439)])
    func `times of day are parsed`(text: String, minutes: Int) { #expect(TimeOfDay(text)?.minutes == minutes) }

    @Test(arguments: ["7.30", "24:00", "12:60", "12", "12:5", "+1:30", "１2:00", "", ":", "012:00", "12:00:00"])
    func `invalid times of day are refused`(text: String) { #expect(TimeOfDay(text) == nil) }

    @Test func `the command writes a picture and a table`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "habits-\(UUID().uuidString).svg")
        defer { try? FileManager.default.removeItem(at: file) }
        let command = try ChildProcess.start(ChildProcess.product("habits"), ["--svg", file.path])
        #expect(try await command.exit() == .exited(0))
        #expect(command.output.lines.first?.contains("fetches a day") == true)
        #expect(command.errors.lines.isEmpty)
        let committed = try Data(contentsOf: Self.folder.appending(path: "habits.svg"))
        #expect(try Data(contentsOf: file) == committed)
    }

    @Test(arguments: [
        (["--open", "7.30"], "07:30"), (["--time-zone", "Europe/Berln"], "IANA"), (["--days", "0"], "--days"),
        (["--interval", "often"], "minimum"), (["--frob"], "--frob"), (["--open-weekend", "10:00"], "--open"),
    ])
    func `a wrong option gives one line with the remedy`(arguments: [String], word: String) async throws {
        let command = try ChildProcess.start(ChildProcess.product("habits"), arguments)
        #expect(try await command.exit() == .exited(64))
        #expect(command.errors.lines.count == 1)
        #expect(command.errors.lines.first?.contains(word) == true)
        #expect(command.output.lines.isEmpty)
    }

    @Test func `an unwritable file gives one line`() async throws {
        let arguments = ["--days", "1", "--svg", "/nowhere/habits.svg"]
        let command = try ChildProcess.start(ChildProcess.product("habits"), arguments)
        #expect(try await command.exit() == .exited(1))
        #expect(command.errors.lines.count == 1)
        #expect(command.errors.lines.first?.contains("/nowhere/habits.svg") == true)
    }

    @Test func `help exits with status 0`() async throws {
        let command = try ChildProcess.start(ChildProcess.product("habits"), ["--help"])
        #expect(try await command.exit() == .exited(0))
        #expect(command.output.lines.contains { $0.contains("--open <hh:mm>") })
    }
}
