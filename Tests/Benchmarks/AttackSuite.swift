import ArgumentParser
import Attack
import Foundation
import UnixSignals

/// `benchmarks attack`: attacks the whole suite and judges it.
struct AttackSuite: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attack",
        abstract: "Attacks the whole suite with hostile requests, killed and stopped processes and database restarts.",
        discussion:
            """
            Starts PostgreSQL and the five services on loopback, and signals these processes only. Prints its seed, a \
            progress line every 10 s, a table of counts, and `sound` or what is wrong. Ctrl-C ends the attack early and \
            judges it; a second one ends the command at once.
            """)

    @Option(help: "Minutes of the attack, without the start and the audit.")
    var minutes = 1.0

    @Option(help: "The seed of all random choices; random by default.")
    var seed: UInt64?

    @Option(help: "The number of processes of each of lifecycle, fetch, push and transfer.")
    var replicas = 2

    @Option(help: "The number of devices of the honest clients.")
    var devices = 16

    @Option(help: "Commands per second of the honest clients.")
    var rate = 40

    @Option(help: "Hostile requests per second; 0 for none.")
    var hostile = 20

    @Option(help: "Mean seconds between two faults; 0 for none.")
    var faults = 4.0

    func validate() throws {
        guard minutes > 0, minutes <= 24 * 60 else { throw ValidationError("--minutes must be from 0 to 1440") }
        guard (1...8).contains(replicas) else { throw ValidationError("--replicas must be from 1 to 8") }
        guard (1...500).contains(devices) else { throw ValidationError("--devices must be from 1 to 500") }
        guard (1...1000).contains(rate) else { throw ValidationError("--rate must be from 1 to 1000") }
        guard (0...1000).contains(hostile) else { throw ValidationError("--hostile must be from 0 to 1000") }
        guard (0...3600).contains(faults) else { throw ValidationError("--faults must be from 0 to 3600") }
    }

    func run() async throws {
        var options = AttackOptions(
            seed: seed ?? .random(in: .min ... .max), duration: .seconds(minutes * 60))
        options.replicas = replicas
        options.devices = devices
        options.commandsPerSecond = rate
        options.hostilePerSecond = hostile
        options.timeBetweenFaults = faults > 0 ? .seconds(faults) : nil
        let attack = Attack(options) { Report.line($0) }
        let report = try await ending(attack) { try await attack.run() }
        Report.line(report.text)
        if !report.isSound { throw ExitCode.failure }
    }

    /// Runs an attack that ends early at the first SIGINT or SIGTERM, and at once at the second.
    private func ending<Value: Sendable>(
        _ attack: Attack, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask {
                var count = 0
                for await _ in signals {
                    count += 1
                    guard count == 1 else { throw ExitCode(130) }
                    Report.line("ending early")
                    attack.stop()
                }
                return nil
            }
            group.addTask { try await body() }
            defer { group.cancelAll() }
            while let value = try await group.next() { if let value { return value } }
            throw ExitCode.failure
        }
    }
}
