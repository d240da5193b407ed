import ArgumentParser
import FleetService
import Foundation

/// The program. It prints one line for invalid options and a summary at the end. Its exit status reports whether the
/// suite passed.
@main
struct Fleet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet", abstract: "Simulates devices and their users with a running Dormouse.",
        subcommands: [Run.self, Push.self])

    /// The suite gave a forbidden response, lost acknowledged data, or registered no device.
    static let failed: Int32 = 1
    /// `EX_USAGE`.
    static let wrongUsage: Int32 = 64

    static func main() async {
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let status as ExitCode {
            Foundation.exit(status.rawValue)
        } catch {
            // Help is not an error. The first line of an error is sufficient.
            guard exitCode(for: error) != .success else { exit(withError: error) }
            FileHandle.standardError.write(Data("fleet: \(line(for: error))\n".utf8))
            Foundation.exit(wrongUsage)
        }
    }

    private static func line(for error: any Error) -> String {
        if let error = error as? FleetError { return error.description }
        return message(for: error).split(separator: "\n").first.map(String.init) ?? "invalid options"
    }
}
