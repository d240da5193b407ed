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
