import Records
import TestSupport

/// The services' log lines, counted by level, message and kind of error.
struct LogLines: Sendable {
    struct Kind: Sendable, Hashable {
        var level: String
        var service: String
        var message: String
        /// Whether a stopped, disconnected or slow database explains it.
        var isExpected: Bool
    }

    private(set) var kinds: [Kind: (count: Int, example: String)] = [:]
    /// Lines that are not log lines: traps and their stacks.
    private(set) var others: [String] = []

    /// Counts the lines of a process.
    mutating func add(_ lines: [String]) {
        for line in lines {
            guard let json = try? JSON(parsing: Array(line.utf8)), let level = json["level"]?.string,
                let message = json["message"]?.string
            else {
                if !line.isEmpty { others.append(line) }
                continue
            }
            let error = json["error"]?.string ?? ""
            let kind = Kind(
                level: level, service: json["service"]?.string ?? "", message: message,
                isExpected: Self.isExpected(message, error))
            let known = kinds[kind]
            kinds[kind] = (count: (known?.count ?? 0) + 1, example: known?.example ?? String(line.prefix(600)))
        }
    }

    /// Errors that no fault of the database explains.
    var faults: [String] {
        kinds.filter { ["error", "critical"].contains($0.key.level) && !$0.key.isExpected }
            .map {
                "logged as an error, \($0.value.count) times: \($0.key.service): \($0.key.message)\n    \($0.value.example)"
            }
            .sorted() + others.filter(Self.isTrap).map { "trap: \($0)" }
    }

    /// All other messages with their counts by service, the most frequent first.
    var remarks: [String] {
        var counts: [String: [String: Int]] = [:]
        for (kind, value) in kinds where kind.level == "warning" || kind.isExpected {
            counts["\(kind.level): \(kind.message)", default: [:]][kind.service, default: 0] += value.count
        }
        return counts.sorted { $0.value.values.reduce(0, +) > $1.value.values.reduce(0, +) }.map { message, services in
            let each = services.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            return "\(message) (\(each.joined(separator: ", ")))"
        }
    }

    /// Whether a stopped process, or a stopped, disconnected or slow database, explains a message. The audit checks
    /// readiness after the attack, so a health check's message during the attack is not a fault.
    private static func isExpected(_ message: String, _ error: String) -> Bool {
        let ofHealth: Set = ["failed health check", "failed to probe database, requests that need it get 503"]
        guard !ofHealth.contains(message) else { return true }
        let causes = [
            "no connection to PostgreSQL", "the connection to the database was lost", "database connections were busy",
            "the database connection was closed", "databaseUnavailable", "outcomeUnknown", "stopping", "SQLSTATE 57P0",
            "SQLSTATE 55P03", "SQLSTATE 25P0",
        ]
        return message == "failed to run batch" && causes.contains { error.contains($0) }
    }

    /// Whether a line comes from a process that trapped.
    static func isTrap(_ line: String) -> Bool {
        ["Fatal error", "fatal error", "Program crashed", "*** ", "Precondition failed"].contains { line.contains($0) }
    }
}
