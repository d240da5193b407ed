public import ArgumentParser
import Foundation

extension ParsableCommand {
    /// Runs the command and ends the process.
    ///
    /// Help goes to standard output. An error becomes one line on standard error. The exit status is that of an
    /// `ExitCode`, 64 (`EX_USAGE` of sysexits.h) for wrong arguments, or 1 for all other errors.
    ///
    /// - Parameters:
    ///   - arguments: those of the process by default.
    ///   - name: the command as the user types it.
    ///   - isUsage: whether another error is about wrong arguments.
    public static func runAndExit(
        _ arguments: [String]? = nil, as name: String, isUsage: @Sendable (any Error) -> Bool = { _ in false }
    ) async -> Never {
        do {
            var command = try parseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            Foundation.exit(0)
        } catch {
            let status = isUsage(error) ? .validationFailure : exitCode(for: error)
            // Help is not an error.
            if status == .success || error is ExitCode { exit(withError: error) }
            let line = message(for: error).split(separator: "\n").first ?? "wrong arguments"
            FileHandle.standardError.write(Data("\(name): \(line)\n".utf8))
            exit(withError: status)
        }
    }
}
