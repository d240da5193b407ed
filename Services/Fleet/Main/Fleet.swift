import ArgumentParser
import FleetService
import Foundation

/// The program: one clear line for wrong options, the summary at the end, an exit status that tells whether the suite kept
/// its word.
@main
struct Fleet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet", abstract: "Simulates devices with people, who use a running Dormouse.",
        subcommands: [Run.self, Push.self])

    /// The suite answered what it must never answer, lost what it had acknowledged, or let no device live.
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
            // Help and the like are no errors; of a true one the first line says it all.
            guard exitCode(for: error) != .success else { exit(withError: error) }
            FileHandle.standardError.write(Data("fleet: \(line(for: error))\n".utf8))
            Foundation.exit(wrongUsage)
        }
    }

    private static func line(for error: any Error) -> String {
        if let error = error as? FleetError { return error.description }
        return message(for: error).split(separator: "\n").first.map(String.init) ?? "wrong options"
    }
}
