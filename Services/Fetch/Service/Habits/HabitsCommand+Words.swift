import ArgumentParser
import Contracts
import Foundation
import Timeline

// Parses the values of the options.
extension HabitsCommand {
    static func time(_ text: String) throws -> TimeOfDay {
        guard let time = TimeOfDay(text) else { throw ValidationError("write a time of day, such as 07:30") }
        return time
    }

    static func interval(_ text: String) throws -> FetchInterval {
        if text == "minimum" { return .minimum }
        let longest = FetchInterval.longest.seconds
        guard let seconds = Double(text), (0...longest).contains(seconds) else {
            throw ValidationError("write minimum or a number of seconds from 0 to \(Int(longest))")
        }
        return .atLeast(.seconds(seconds))
    }

    static func word(_ text: String) throws -> WakeResult {
        guard let result = WakeResult(rawValue: text) else {
            throw ValidationError("write newData, noData or failed")
        }
        return result
    }

    static func zone(_ text: String) throws -> String {
        guard TimeZone(identifier: text) != nil else {
            throw ValidationError("write a name of the IANA time zone database, such as Europe/Berlin")
        }
        return text
    }

    static func hold(_ condition: Bool, _ message: String) throws {
        guard condition else { throw ValidationError(message) }
    }
}

/// The commands of `fetch` that need neither settings nor a database.
public enum Habits {
    /// The name of the command.
    public static let command = "habits"

    /// Runs ``command`` with its arguments and exits. A failure is one line on standard error. The exit status is 64
    /// (`EX_USAGE` of sysexits.h) for wrong arguments, or 1 for other failures.
    public static func run(_ arguments: [String]) -> Never {
        do {
            let command = try HabitsCommand.parse(arguments)
            try command.run()
            exit(0)
        } catch let failure as HabitsFailed {
            leave(failure.description, status: 1)
        } catch {
            let status = HabitsCommand.exitCode(for: error)
            // A request for help is a success.
            if status == .success {
                print(HabitsCommand.fullMessage(for: error))
                exit(0)
            }
            let line = HabitsCommand.message(for: error).split(separator: "\n").first.map(String.init) ?? "failed"
            let isUsage = status == .validationFailure
            leave(isUsage ? line + " (see fetch habits --help)" : line, status: isUsage ? 64 : 1)
        }
    }

    private static func leave(_ line: String, status: Int32) -> Never {
        FileHandle.standardError.write(Data("fetch habits: \(line)\n".utf8))
        exit(status)
    }
}
