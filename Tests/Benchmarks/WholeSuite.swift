import ArgumentParser
import Foundation
import Records
import UnixSignals

/// `benchmarks suite`: the cost of a command in the whole suite, as users run it.
struct WholeSuite: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "suite",
        abstract: "Measures commands with device tokens while every service follows the log.",
        discussion:
            """
            Starts the five services with the settings of deploy/up over a private PostgreSQL server, and registers \
            devices. Each request is one app transition. Before each load, the run measures the plain answer (GET \
            /healthz) of the same server over 64 connections. The load generator uses the same processors.

            The cost of a command includes the work until every service has read the log. The run fails if any command \
            fails. Ctrl-C ends it and removes everything.
            """)

    @Option(help: "The duration of each load in seconds.")
    var seconds = 5

    @Option(help: "The numbers of connections, separated by commas.")
    var connections = "1,8,64,512"

    @Option(help: "The number of devices, at least one for each connection.")
    var devices = 2000

    @Option(help: "The duration of the measurement without load in seconds.")
    var idle = 10

    @Flag(help: "Also measures the steady load of 500 simulated devices for 30 seconds.")
    var fleet = false

    @Option(help: "The number of workers of Citus on this machine; 0 measures one PostgreSQL server.")
    var citus = 0

    @Option(help: "Writes the figures as JSON to this file.")
    var json: String?

    private var counts: [Int] { connections.split(separator: ",").compactMap { Int($0) } }

    func validate() throws {
        guard (1...600).contains(seconds) else { throw ValidationError("--seconds must be from 1 to 600") }
        guard (1...600).contains(idle) else { throw ValidationError("--idle must be from 1 to 600") }
        guard (0...8).contains(citus) else { throw ValidationError("--citus must be from 0 to 8") }
        guard (1...100_000).contains(devices) else { throw ValidationError("--devices must be from 1 to 100000") }
        guard !counts.isEmpty, counts.count == connections.split(separator: ",").count,
            counts.allSatisfy({ (1...4096).contains($0) })
        else { throw ValidationError("--connections must be numbers from 1 to 4096, such as 1,8,64") }
        guard counts.allSatisfy({ $0 <= devices }) else {
            throw ValidationError("--devices must be at least the highest number of connections")
        }
    }

    func run() async throws {
        let measurement = SuiteMeasurement(
            seconds: seconds, connections: counts, devices: devices, idleSeconds: idle, hasFleet: fleet,
            workers: citus)
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let figures = try await withThrowingTaskGroup(of: SuiteFigures?.self) { group in
            group.addTask {
                for await _ in signals { throw ExitCode(130) }
                return nil
            }
            group.addTask { try await measurement.run() }
            defer { group.cancelAll() }
            while let figures = try await group.next() { if let figures { return figures } }
            throw ExitCode.failure
        }
        figures.print()
        if citus > 0 {
            Report.line("  On Citus with \(citus) workers. Transactions and WAL bytes are those of the coordinator.")
        }
        if let json { try Data(figures.document.bytes).write(to: URL(fileURLWithPath: json)) }
        if !figures.isSound { throw ExitCode.failure }
    }
}
