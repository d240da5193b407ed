import ArgumentParser
import CommandLines
import FleetService
import Foundation

/// The program. It prints one line for invalid options and a summary at the end. Its exit status reports whether the
/// suite passed.
@main
struct Fleet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Simulates devices and their users, with a running Dormouse or in this process.",
        version: "fleet \(Version.current)",
        subcommands: [Run.self, Push.self, Simulate.self, Compare.self, ScenarioCommand.self])

    /// The suite gave a forbidden response, lost acknowledged data, or registered no device.
    static let failed: Int32 = 1

    static func main() async { await runAndExit(as: "fleet") { $0 is FleetError } }
}
