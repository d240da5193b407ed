public import Timeline

/// The texts of the progress line and the summary.
public enum Report {
    /// Returns one line of statistics.
    public static func line(_ counts: Counts, states: [String: Int], elapsed: Interval, of duration: Interval) -> String
    {
        var parts = ["\(time(elapsed))/\(time(duration))", "\(counts.devices) devices"]
        let shown = SimulatedApp.State.allCases.compactMap { state in
            states[state.rawValue].map { "\($0) \(state.rawValue)" }
        }
        if !shown.isEmpty { parts.append(shown.joined(separator: " ")) }
        parts += [
            "\(counts.orderCount) orders", "\(counts.wakesCompleted) wakes", "\(counts.killCount) kills",
            "\(counts.pushes) pushes", size(counts.bytes), "\(counts.errors) errors",
        ]
        return parts.joined(separator: " · ")
    }

    /// Returns the line with a progress bar, cut to the width of the terminal.
    public static func bar(_ line: String, elapsed: Interval, of duration: Interval, width: Int) -> String {
        let cells = 12
        let done = min(cells, Int(elapsed.milliseconds * Int64(cells) / max(1, duration.milliseconds)))
        let bar = String(repeating: "█", count: done) + String(repeating: "░", count: cells - done)
        return String("\(bar) \(line)".prefix(max(20, width - 1)))
    }

    /// Returns the summary.
    public static func summary(_ counts: Counts, states: [String: Int], elapsed: Interval) -> String {
        func list(_ counts: [String: Int]) -> String {
            counts.isEmpty
                ? "none" : counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        }
        var lines = [
            "",
            "\(counts.devices) devices, \(time(elapsed)): \(counts.requests) requests, \(counts.retries) retries",
            "  apps          \(list(states))",
            "  launches      \(counts.launches), suspensions \(counts.suspensions)",
            "  orders        \(list(counts.orders)); \(counts.repeatedOrders) repeated",
            "  wakes         \(counts.wakesCompleted) completed",
            "  terminations  \(list(counts.kills))",
            "  pushes        \(counts.pushes) sent, \(counts.notifications) delivered, refused: \(list(counts.pushRefusals))",
            "  transfers     \(counts.downloads) downloads started, \(size(counts.bytes)) received",
            "  refusals      \(list(counts.refusals))",
            "  errors        \(counts.errors)",
        ]
        lines += counts.complaints.map { "    \($0)" }
        if !counts.notOffered.isEmpty {
            lines.append("  not offered   " + counts.notOffered.sorted().joined(separator: ", "))
        }
        if counts.isGood, counts.devices == 0 {
            lines.append("FAILED: no device could be registered.")
        } else if counts.isGood {
            lines.append("PASSED: no forbidden response and no lost data.")
        } else {
            lines.append(
                "FAILED: \(counts.violations) forbidden responses, \(counts.lostOrders) lost versions or callbacks")
            lines += counts.violationTexts.sorted { $0.key < $1.key }.map { "    \($0.value) × \($0.key)" }
        }
        return lines.joined(separator: "\n")
    }

    static func time(_ interval: Interval) -> String {
        let seconds = interval.milliseconds / 1000
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return hours > 0 ? "\(hours):\(two(minutes)):\(two(seconds % 60))" : "\(minutes):\(two(seconds % 60))"
    }

    static func size(_ bytes: Int) -> String {
        if bytes < 1000 { return "\(bytes) B" }
        if bytes < 1_000_000 { return "\(bytes / 100 / 10) kB" }
        return "\(bytes / 1_000_000).\(bytes / 100_000 % 10) MB"
    }
}
