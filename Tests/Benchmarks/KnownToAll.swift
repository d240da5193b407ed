import ArgumentParser
import Attack
import Foundation

/// `benchmarks known`: refusals right after an acknowledged launch, and the time of an unknown device's 404.
struct KnownToAll: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "known",
        abstract: "Counts refusals right after an acknowledged launch, and times the 404 of an unknown device.",
        discussion:
            """
            Registers, installs and launches at lifecycle, then at once registers for push, sets an interval and creates a \
            session at random replicas of the other services. The processor time of an accepted command is compared with \
            --before, from a run of another version on the same machine.
            """)

    @Option(help: "The number of devices; commands follow each launch immediately.")
    var rounds = 1000

    @Option(help: "The number of processes of each of lifecycle, fetch, push and transfer.")
    var replicas = 2

    @Option(help: "The number of concurrent clients.")
    var clients = 4

    @Option(help: "The processor time of an accepted command in the version to compare with, in microseconds.")
    var before: Double?

    func validate() throws {
        guard (16...100_000).contains(rounds) else { throw ValidationError("--rounds must be from 16 to 100000") }
        guard (1...8).contains(replicas) else { throw ValidationError("--replicas must be from 1 to 8") }
        guard (1...64).contains(clients) else { throw ValidationError("--clients must be from 1 to 64") }
    }

    func run() async throws {
        var known = KnownDevices()
        known.rounds = rounds
        known.replicas = replicas
        known.clients = clients
        Report.heading("Devices that a service may not know yet")
        let figures = try await known.run { Report.progress($0) }
        let refusals = figures.refusals.values.reduce(0, +)
        Report.figure("commands right after a launch", Double(figures.commands), "")
        Report.bound("refused", Double(refusals), "", limit: 0)
        for (refusal, count) in figures.refusals.sorted(by: { $0.key < $1.key }) {
            Report.figure("  \(refusal)", Double(count), "")
        }
        Report.figure("accepted right after a launch, p50", percentile(figures.atOnce, 0.5) * 1000, "ms")
        Report.figure("accepted right after a launch, p99", percentile(figures.atOnce, 0.99) * 1000, "ms")
        Report.figure("404 of an unknown device, p50", percentile(figures.unknown, 0.5) * 1000, "ms")
        Report.bound("404 of an unknown device, p99", percentile(figures.unknown, 0.99) * 1000, "ms", limit: 50)
        for (other, count) in figures.others.sorted(by: { $0.key < $1.key }) {
            Report.figure("  answered otherwise: \(other)", Double(count), "")
        }
        Report.figure("accepted, known device, p50", percentile(figures.accepted, 0.5) * 1000, "ms")
        Report.figure("accepted, known device, p99", percentile(figures.accepted, 0.99) * 1000, "ms")
        Report.figure("processor time of an accepted command", figures.microsecondsPerCommand, "µs")
        if let before {
            Report.figure("processor time ÷ compared version", figures.microsecondsPerCommand / before, "")
        }
    }

    private func percentile(_ values: [Double], _ share: Double) -> Double {
        Benchmarks.percentile(of: values.sorted(), share)
    }
}
