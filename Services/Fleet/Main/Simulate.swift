import ArgumentParser
import FleetService
import Foundation
import Records
import Reports
import Scenarios
import Simulation
import Synchronization
import Timeline
import UnixSignals

/// `fleet simulate FILE`.
struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Simulates a scenario in this process, in virtual time and without a running Dormouse.",
        discussion: "The exit status is 0 if all expectations are met, 1 if not or after Ctrl-C, and 2 for a bad file.")

    @Argument(help: "The scenario: a YAML or JSON file.")
    var file: String
    @OptionGroup var options: SimulationOptions
    @Option(help: "Writes each event to this file as a line of CloudEvents JSON.")
    var log: String?
    @Option(help: "Writes report.html, report.json and pushes.csv to this directory.")
    var report: String?
    @Option(
        help:
            "A JSON file that overrides profiles and readings, as PROFILES_FILE of the services; the default is PROFILES_FILE."
    )
    var profiles: String?
    @Option(help: "Writes a snapshot to this file after each simulated day, and at Ctrl-C.")
    var snapshot: String?
    @Option(help: "Continues from a snapshot of the same scenario, seed, devices, days and profiles.")
    var resume: String?
    @Flag(help: "Checks the invariants after every event, and at the end that each state is the fold of its events.")
    var check = false

    /// The time between two lines of progress where there is no terminal.
    private static let linePause = Duration.seconds(5)

    func run() async throws {
        let scenario = try ScenarioInput.read(file, refusing: SimulationRun.faults, options.change)
        let directory = try report.map { try ReportFiles.makeDirectory($0) }
        let run = SimulationRun(
            scenario, seed: options.seed, threads: options.threads, checks: check,
            generations: try ScenarioInput.generations(profiles))
        let began = ContinuousClock.now
        let outcome = try await simulate(run, to: try log.map { try Self.makeFile($0) })
        let elapsed = ContinuousClock.now - began
        let cores = min(options.threads, ProcessInfo.processInfo.activeProcessorCount)
        Terminal.write(outcome.summary + "\n" + outcome.speed(in: elapsed, cores: cores) + "\n")
        if let directory { try ReportFiles.write(outcome.document, to: directory) }
        if !outcome.isGood { throw ExitCode(Fleet.failed) }
    }

    /// Runs until the end, or until the user interrupts.
    private func simulate(_ run: SimulationRun, to log: FileHandle?) async throws -> SimulationReport {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        let work = Task {
            let lineTime = Mutex(ContinuousClock.now)
            let files = [snapshot, resume].map { path in path.map { URL(filePath: $0) } }
            return try await run.run(log: log, snapshots: files[0], resume: files[1]) { progress in
                let line =
                    "\(TimeSpan(progress.simulated))/\(TimeSpan(progress.duration)) · \(progress.devices) devices · "
                    + "\(progress.events) events"
                if isTerminal { Terminal.write("\r\u{1B}[2K" + line) }
                let isTime = lineTime.withLock { last in
                    guard last + Self.linePause <= .now else { return false }
                    last = .now
                    return true
                }
                if !isTerminal, isTime { Terminal.write(line + "\n") }
            }
        }
        let interruption = Task {
            for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) { return work.cancel() }
        }
        defer { interruption.cancel() }
        let report = try await work.value
        if isTerminal { Terminal.write("\r\u{1B}[2K") }
        return report
    }

    private static func makeFile(_ path: String) throws -> FileHandle {
        guard FileManager.default.createFile(atPath: path, contents: nil), let file = FileHandle(forWritingAtPath: path)
        else { throw FleetError("cannot write the log to \(path)") }
        return file
    }
}
