import Foundation
import Records
import TestSupport

/// The load of one number of connections.
struct SuiteLoad: Sendable {
    let connections: Int
    let plain: LoadResult
    let commands: LoadResult
    let caughtUp: CatchUp
    /// From the start of the load until every service had read the log, or for a minute after the load.
    let cost: SuiteCounters
    /// The time in which the transactions were counted.
    let transactionSeconds: Double

    var count: Double { Double(commands.latencies.count) }
    var ratio: Double { commands.perSecond / plain.perSecond }

    /// Returns the transactions of a command.
    ///
    /// - Parameter idle: the transactions a second without load.
    func transactions(idle: Double) -> Double { (Double(cost.transactions) - idle * transactionSeconds) / count }
}

/// The load of a simulated fleet.
struct SteadyFleet: Sendable {
    let devices: Int
    let cost: SuiteCounters
    let passed: Bool
    let summary: String

    var eventsPerSecond: Double { Double(cost.events) / cost.seconds }
    var transactionsPerEvent: Double { Double(cost.transactions) / Double(cost.events) }
}

/// All figures of a run.
struct SuiteFigures: Sendable {
    let loads: [SuiteLoad]
    let idle: SuiteCounters
    var fleet: SteadyFleet?
    /// The reason why there are no figures of the fleet.
    var fleetFailure: String?

    private static let processes = MeasuredSuite.services + ["PostgreSQL"]

    private var idleTransactions: Double { Double(idle.transactions) / idle.seconds }
    private var followers: [String] { Set(loads.flatMap(\.caughtUp.lag.keys)).sorted() }

    var isSound: Bool {
        loads.allSatisfy { $0.commands.failureCount == 0 && $0.plain.failureCount == 0 }
            && fleet?.passed ?? true && fleetFailure == nil
    }

    func print() {
        Report.heading("The whole suite with device tokens: one app transition a request")
        Table.print(
            [
                "connections", "commands/s", "plain/s", "ratio", "p50 ms", "p99 ms", "failed", "transactions",
                "WAL bytes",
            ],
            loads.map { load in
                [
                    "\(load.connections)", Table.number(load.commands.perSecond), Table.number(load.plain.perSecond),
                    String(format: "%.3f", load.ratio), Table.number(load.commands.milliseconds(0.5)),
                    Table.number(load.commands.milliseconds(0.99)),
                    "\(load.commands.failureCount + load.plain.failureCount)",
                    Table.number(load.transactions(idle: idleTransactions)),
                    Table.number(Double(load.cost.walBytes) / load.count),
                ]
            })
        Report.line("  plain: GET /healthz over 64 connections. Transactions and WAL bytes are those of a command.")
        for load in loads {
            for result in [load.plain, load.commands] {
                for (failure, count) in result.failures.sorted(by: { $0.key < $1.key }) {
                    Report.line("  \(load.connections) connections: \(count) × \(failure)")
                    Report.line("    \(result.examples[failure] ?? "")")
                }
            }
        }
        let usedProcesses = Self.processes + ["client"]
        Report.heading("Processor time of a command in µs")
        Table.print(
            ["connections"] + usedProcesses,
            loads.map { load in
                ["\(load.connections)"] + usedProcesses.map { Table.number(load.cost.microseconds($0) / load.count) }
            })
        Report.heading("Context switches of a command")
        Table.print(
            ["connections"] + Self.processes,
            loads.map { load in
                ["\(load.connections)"]
                    + Self.processes.map { Table.number(Double(load.cost.usage[$0]?.switches ?? 0) / load.count) }
            })
        Report.heading("Unread events at the end of the load, and seconds until all are read")
        Table.print(
            ["connections"] + followers,
            loads.map { load in
                ["\(load.connections)"]
                    + followers.map { follower in
                        let seconds = load.caughtUp.seconds[follower].map { String(format: "%.2f", $0) } ?? "over 60"
                        return "\(load.caughtUp.lag[follower] ?? 0), \(seconds) s"
                    }
            })
        Report.heading("Without load for \(Table.number(idle.seconds)) s")
        Table.print(
            [""] + Self.processes, [["% of a core"] + Self.processes.map { String(format: "%.2f", idle.percent($0)) }])
        Report.figure("transactions", idleTransactions, "per second")
        if let fleet { print(fleet) }
        if let fleetFailure { Report.line("\nThe fleet failed: \(fleetFailure)") }
    }

    private func print(_ fleet: SteadyFleet) {
        Report.heading("A fleet of \(fleet.devices) devices for \(Table.number(fleet.cost.seconds)) s")
        Report.figure("events", fleet.eventsPerSecond, "per second")
        Report.figure("processor time of the suite", fleet.cost.cores, "cores")
        Report.figure("processor time of an event", fleet.cost.cores / fleet.eventsPerSecond * 1000, "ms")
        Report.figure("transactions of an event", fleet.transactionsPerEvent, "")
        Table.print(
            [""] + Self.processes,
            [["% of a core"] + Self.processes.map { String(format: "%.1f", fleet.cost.percent($0)) }])
        if !fleet.passed { Report.line("The fleet failed:\n\(fleet.summary)") }
    }
}

/// A table with right-aligned columns.
enum Table {
    static func print(_ header: [String], _ rows: [[String]]) {
        let lines = [header] + rows
        let widths = header.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        for line in lines {
            let cells = zip(line, widths).map { String(repeating: " ", count: $1 - $0.count) + $0 }
            Report.line("  " + cells.joined(separator: "  "))
        }
    }

    /// Returns a number with three significant digits, or more before the point.
    static func number(_ value: Double) -> String {
        String(format: value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value)
    }
}
