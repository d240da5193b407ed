import Foundation

/// Prints results: a heading, figures, and ratios with their targets.
enum Report {
    static func heading(_ text: String) { say("\n\(text)") }

    static func figure(_ name: String, _ value: Double, _ unit: String) {
        say("  \(name.padding(toLength: 46, withPad: " ", startingAt: 0)) \(number(value)) \(unit)")
    }

    /// Prints the progress of a long measurement.
    static func progress(_ text: String) { say("  … \(text)") }

    /// Prints a line unchanged.
    static func line(_ text: String) { say(text) }

    /// - Parameter reach: the lowest acceptable ratio.
    /// - Returns: whether it is reached.
    @discardableResult
    static func ratio(_ name: String, _ value: Double, reach: Double) -> Bool {
        let verdict = value >= reach ? "reached" : "NOT reached"
        say("  \(name.padding(toLength: 46, withPad: " ", startingAt: 0)) \(number(value)) (\(reach): \(verdict))")
        return value >= reach
    }

    /// - Parameter limit: the highest acceptable value.
    /// - Returns: whether it is kept.
    @discardableResult
    static func bound(_ name: String, _ value: Double, _ unit: String, limit: Double) -> Bool {
        let verdict = value <= limit ? "kept" : "NOT kept"
        say(
            "  \(name.padding(toLength: 46, withPad: " ", startingAt: 0)) \(number(value)) \(unit) (at most \(number(limit)): \(verdict))"
        )
        return value <= limit
    }

    /// Flushes every line, also into a file or a pipe.
    private static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    private static func number(_ value: Double) -> String {
        String(format: value >= 1000 ? "%.0f" : value >= 10 ? "%.1f" : "%.3f", value)
    }
}

func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? .nan : (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
}

/// The arguments of every measured service.
let benchmarkSettings = ["--insecure-dev", "--log-level", "error"]

/// A required tool failed, or is missing.
struct ToolFailed: Error, CustomStringConvertible {
    let description: String
}

/// Runs a stock tool to its end.
func tool(_ name: String, _ arguments: [String]) throws -> String {
    let folders =
        ["/usr/bin", "/usr/local/bin"]
        + ((try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql"))?
            .sorted().reversed().map { "/usr/lib/postgresql/\($0)/bin" } ?? [])
    guard let path = folders.map({ "\($0)/\(name)" }).first(where: FileManager.default.isExecutableFile) else {
        throw ToolFailed(
            description: "\(name) is not installed: apt-get install \(name == "pgbench" ? "postgresql-contrib" : name)")
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw ToolFailed(description: "\(name) failed:\n\(output)") }
    return output
}

extension String {
    /// The number that follows a label in a tool's output.
    func number(after label: String) -> Double? {
        guard let found = range(of: label) else { return nil }
        let rest = self[found.upperBound...].drop { $0 == " " || $0 == ":" || $0 == "=" }
        return Double(rest.prefix { $0.isNumber || $0 == "." })
    }
}
