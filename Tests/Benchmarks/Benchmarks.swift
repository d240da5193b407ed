import ArgumentParser
import Foundation

/// Measures and attacks the suite; the default subcommand measures.
@main
struct Benchmarks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "benchmarks", abstract: "Measures and attacks Dormouse on this machine.",
        subcommands: [
            Measure.self, WholeSuite.self, AttackSuite.self, HostileCrowds.self, KnownToAll.self, Peers.self,
            Growth.self,
        ],
        defaultSubcommand: Measure.self
    )

    /// - Parameter share: from 0 to 1.
    /// - Returns: NaN without values.
    static func percentile(of sorted: [Double], _ share: Double) -> Double {
        sorted.isEmpty ? .nan : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }
}

/// Measures the main figures, each as a ratio to a reference in the same run.
struct Measure: AsyncParsableCommand {
    enum Subject: String, CaseIterable, ExpressibleByArgument {
        case http, appends, latency, deadlines
        case evenDeadlines = "even-deadlines"
        case fleetStreams = "fleet-streams"
        case fetchSchedules = "fetch-schedules"
        case pushAccept = "push-accept"
        case pushDevices = "push-devices"
        case transferBytes = "transfer-bytes"
        case operatorQueries = "operator-queries"
        case dashboard
    }

    static let configuration = CommandConfiguration(
        commandName: "measure",
        abstract: "Measures Dormouse against PostgreSQL and its own web server, in one run on this machine.",
        discussion:
            """
            Needs PostgreSQL's programs, pgbench among them, wrk for `http`, h2load for `push-accept` and \
            `transfer-bytes`, and for that nginx and curl too, Chromium for `dashboard`; starts a private database \
            cluster.
            """)

    @Argument(help: "The subjects: \(Subject.allCases.map(\.rawValue).joined(separator: ", ")); all by default.")
    var subjects: [Subject] = Subject.allCases

    @Option(help: "The duration of each measurement in seconds.")
    var seconds = 10

    @Option(help: "The number of connections of the load generator.")
    var connections = 512

    @Option(help: "Pending deadlines.")
    var deadlines = 1_000_000

    @Option(
        help:
            """
            Devices; by default 10000 on fleet streams, 5000 connected to push, 50000 that fetch schedules, 100000 on \
            the dashboard.
            """)
    var devices: Int?

    @Option(help: "The number of apps on each device that fetch schedules.")
    var apps = 20

    @Option(help: "The size of the large file in MiB.")
    var mebibytes = 1024

    @Option(help: "The number of concurrent transfers of 1 MiB, a multiple of 25.")
    var transfers = 1000

    @Option(help: "The number of workers of Citus for `appends`; 0 measures one PostgreSQL server.")
    var citus = 0

    @Option(help: "The number of events in the log that operators query.")
    var events = 10_000_000

    func validate() throws {
        guard (0...8).contains(citus) else { throw ValidationError("--citus must be from 0 to 8") }
        guard (10_000...100_000_000).contains(events) else {
            throw ValidationError("--events must be from 10000 to 100000000")
        }
        guard (1...65_536).contains(mebibytes) else { throw ValidationError("--mebibytes must be from 1 to 65536") }
        guard (25...1500).contains(transfers), transfers % 25 == 0 else {
            throw ValidationError("--transfers must be a multiple of 25 from 25 to 1500")
        }
        guard devices.map((4...100_000).contains) ?? true else {
            throw ValidationError("--devices must be from 4 to 100000")
        }
        guard (1...100).contains(apps) else { throw ValidationError("--apps must be from 1 to 100") }
        guard (1...600).contains(seconds) else { throw ValidationError("--seconds must be from 1 to 600") }
        guard (1...1000).contains(connections) else { throw ValidationError("--connections must be from 1 to 1000") }
        guard (1...10_000_000).contains(deadlines) else {
            throw ValidationError("--deadlines must be from 1 to 10000000")
        }
    }

    func run() async throws {
        for subject in subjects {
            switch subject {
            case .http: try await TransitionsOverHTTP(seconds: seconds, connections: connections).run()
            case .appends: try await LogAppends(seconds: seconds, workers: citus).run()
            case .latency: try await AppendToHandled(pace: Pace(rate: 5000, seconds: seconds)).run()
            case .fleetStreams: try await FleetStreams(devices: devices ?? 10_000).run()
            case .fetchSchedules:
                try await FetchSchedules(devices: devices ?? 50_000, apps: apps, seconds: seconds).run()
            case .pushAccept: try await AcceptedPushes(seconds: seconds).run()
            case .pushDevices:
                try await ConnectedDevices(devices: devices ?? 5000, pace: Pace(rate: 1000, seconds: seconds)).run()
            case .transferBytes: try await MovedBytes(mebibytes: mebibytes, transfers: transfers).run()
            case .operatorQueries: try await OperatorQueries(events: events).run()
            case .dashboard:
                try await DashboardLoad(events: events, devices: devices ?? 100_000, seconds: seconds).run()
            case .deadlines: try await PendingDeadlines(count: deadlines, seconds: seconds).run()
            case .evenDeadlines:
                try await PendingDeadlines(count: deadlines, seconds: seconds).runEvenly(perSecond: 5000)
            }
        }
    }
}
