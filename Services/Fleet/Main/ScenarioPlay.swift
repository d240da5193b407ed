import ArgumentParser
import FleetService
import Foundation
import Records
import Scenarios
import Simulation
import Timeline
import UnixSignals

/// The options of `fleet run --scenario`.
struct ScenarioPlayOptions: ParsableArguments {
    @Option(help: "A scenario file, whose devices, people and provider replace those of the other options.")
    var scenario: String?
    @Option(help: "Writes the report of the scenario to this directory, as `fleet simulate` does.")
    var report: String?
    @Option(help: "Writes the device tokens to this file, as lines of JSON.")
    var tokens: String?
    @Option(help: "Posts the device tokens to this URL, in batches.")
    var webhook: String?
    @Option(
        help: """
            Kills and starts services for faults of the kind kill: fleet calls COMMAND kill SERVICE and COMMAND start SERVICE. \
            For a suite of ./deploy/up: './deploy/fault --data DIR'.
            """)
    var killCommand: String?

    /// The time between two lines of progress where there is no terminal.
    private static let linePause = Duration.seconds(5)

    func validate() throws {
        guard scenario == nil else { return }
        let options = [("report", report), ("tokens", tokens), ("webhook", webhook), ("kill-command", killCommand)]
        for (name, value) in options where value != nil {
            throw ValidationError("--\(name) needs --scenario")
        }
    }

    /// Runs a scenario in a running suite.
    func play(_ file: String, _ pool: CrowdOptions, _ suite: Endpoints) async throws {
        if let devices = pool.devices, !(1...100_000).contains(devices) {
            throw FleetError("--devices must be 1 to 100000")
        }
        let scenario = try ScenarioInput.read(file) { scenario in
            if let devices = pool.devices { scenario.devices.count = devices }
        }
        var options = ScenarioOptions()
        options.fleet = pool.fleet ?? options.fleet
        options.seed = pool.seed
        options.concurrency = pool.concurrency
        options.limit = pool.time
        options.tokens = tokens
        options.webhook = webhook
        options.killCommand = killCommand
        let directory = try report.map { try ReportFiles.makeDirectory($0) }
        let recorder = LogRecorder()
        let run = try ScenarioRun(scenario, options, suite, run: UUID().uuidString, recorder: recorder)
        let (end, endReason) = try await live(run)
        let counts = run.statistics.counts
        guard let end, let outcome = recorder.report(until: end, endReason: endReason, refusals: counts.refusals)
        else { throw FleetError("the run ended before the scenario began") }
        Terminal.write(outcome.summary + "\n")
        for complaint in counts.complaints { Terminal.write("  \(complaint)\n") }
        for (text, count) in counts.violationTexts.sorted(by: { $0.key < $1.key }) {
            Terminal.write("  forbidden: \(count) × \(text)\n")
        }
        if let directory { try ReportFiles.write(outcome.document, to: directory) }
        if let summary = pool.summaryJson {
            guard FileManager.default.createFile(atPath: summary, contents: Data(counts.document.bytes)) else {
                throw FleetError("cannot write the summary to \(summary)")
            }
        }
        if !outcome.isGood || !counts.isGood { throw ExitCode(Fleet.failed) }
    }

    /// - Throws: ``FleetError`` if the scenario cannot begin.
    /// - Returns: the first instant that the run has not reached, and why it ended early, as a sentence. The instant is nil
    ///   if the scenario did not begin.
    private func live(_ run: ScenarioRun) async throws -> (end: Instant?, reason: String?) {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        let progress = Task {
            while (try? await Task.sleep(for: isTerminal ? .milliseconds(500) : Self.linePause)) != nil {
                Terminal.write((isTerminal ? "\r\u{1B}[2K" : "") + Self.line(run) + (isTerminal ? "" : "\n"))
            }
        }
        defer {
            progress.cancel()
            if isTerminal { Terminal.write("\r\u{1B}[2K") }
        }
        do {
            let end = try await run.live {
                for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) { return }
            }
            return (end, run.progress.endReason.map(Self.text))
        } catch is CancellationError {
            return (run.progress.reached, Self.text(.interrupted))
        } catch {
            // There is something to report once the scenario has begun.
            guard let reached = run.progress.reached else { throw error }
            return (reached, "It failed: \(error).")
        }
    }

    private static func text(_ reason: ScenarioRun.EndReason) -> String {
        switch reason {
        case .interrupted: "It was interrupted."
        case .limit: "The time of --for was over."
        }
    }

    private static func line(_ run: ScenarioRun) -> String {
        let (progress, counts) = (run.progress, run.statistics.counts)
        let done = TimeSpan(.seconds(progress.done.milliseconds / 1000))
        return [
            "\(done)/\(TimeSpan(progress.duration))\(progress.isVirtual ? "" : " in real time")",
            "\(progress.devices) devices", "\(counts.requests) requests", "\(counts.orderCount) orders",
            "\(counts.pushes) pushes", "\(counts.notifications) delivered",
        ].joined(separator: " · ")
    }
}
