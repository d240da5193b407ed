import Foundation

/// The findings of an attack.
public struct AttackReport: Sendable {
    /// The memory of a replica.
    struct Process: Sendable {
        var name: String
        var starts: Int
        /// The first process's memory when it was ready, in bytes.
        var residentAtStart: Int
        /// The last process's memory after the attack, in bytes.
        var residentAtEnd: Int
    }

    var rows: [String: Audit.Row] = [:]
    var refusals: [String: Int] = [:]
    var events = 0
    var folds = 0
    var uploads = 0
    var hostileAnswers: [String: Int] = [:]
    var faultCounts: [String: Int] = [:]
    var processes: [Process] = []
    /// Findings that are worth reading but are not faults.
    var remarks: [String] = []
    /// Violations that the audit found.
    public internal(set) var faults: [String] = []

    /// Whether there are no faults.
    public var isSound: Bool { faults.isEmpty }

    /// The number of acknowledged commands.
    public var acknowledged: Int { rows.values.reduce(0) { $0 + $1.acknowledged } }

    /// The whole report as text. The last line is `sound`, or the number of faults.
    public var text: String {
        var lines = [
            "", Self.columns("command", ["acknowledged", "refused", "unknown", "in the log", "attempts", "slowest s"]),
        ]
        var all = Audit.Row()
        for (name, row) in rows.sorted(by: { $0.key < $1.key }) {
            lines.append(Self.line(name, row))
            all.acknowledged += row.acknowledged
            all.refused += row.refused
            all.unknown += row.unknown
            all.logged += row.logged
            all.loggedUnknown += row.loggedUnknown
            all.attempts += row.attempts
            all.slowest = max(all.slowest, row.slowest)
        }
        lines.append(Self.line("all", all))
        lines.append("In the log without an acknowledgement: \(all.loggedUnknown).")
        lines.append("\(events) events; \(folds) states compared with their folds; \(uploads) uploads.")
        lines += Self.counts("Refusals", refusals)
        lines += Self.counts("Hostile requests, by answer", hostileAnswers)
        lines += Self.counts("Faults made", faultCounts)
        lines += ["", Self.columns("process", ["starts", "MB at start", "MB at end"])]
        for process in processes {
            lines.append(
                Self.columns(
                    process.name,
                    [
                        "\(process.starts)", "\(process.residentAtStart / 1_000_000)",
                        "\(process.residentAtEnd / 1_000_000)",
                    ]))
        }
        if !remarks.isEmpty { lines += ["", "Remarks:"] + remarks.map { "  \($0)" } }
        lines.append("")
        guard !isSound else { return (lines + ["sound"]).joined(separator: "\n") }
        lines += ["Faults:"] + faults.prefix(200).map { "  \($0)" }
        return (lines + ["not sound: \(faults.count) faults"]).joined(separator: "\n")
    }

    private static func line(_ name: String, _ row: Audit.Row) -> String {
        columns(
            name,
            [
                "\(row.acknowledged)", "\(row.refused)", "\(row.unknown)", "\(row.logged)", "\(row.attempts)",
                String(format: "%.1f", row.slowest),
            ])
    }

    private static func columns(_ name: String, _ values: [String]) -> String {
        name.padding(toLength: max(28, name.count), withPad: " ", startingAt: 0)
            + values.map { String(repeating: " ", count: max(1, 13 - $0.count)) + $0 }.joined()
    }

    private static func counts(_ title: String, _ counts: [String: Int]) -> [String] {
        guard !counts.isEmpty else { return [] }
        return ["", "\(title):"] + counts.sorted { $0.key < $1.key }.map { columns("  " + $0.key, ["\($0.value)"]) }
    }
}
