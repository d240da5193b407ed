import Attack
import TestSupport
import Testing

/// A small form of `benchmarks attack`, so that the command and its audit keep working.
@Suite("A short attack", .tags(.database, .processes), .serialized, .timeLimit(.minutes(6))) struct AttackTests {
    @Test func `the suite withstands a short attack of hostile requests, killed and stopped processes`() async throws {
        var options = AttackOptions(seed: 17, duration: .seconds(8))
        options.devices = 4
        options.commandsPerSecond = 30
        options.hostilePerSecond = 40
        options.timeBetweenFaults = .seconds(2)
        let report = try await Attack(options) { print($0) }.run()
        #expect(report.isSound, "\(report.text)")
        #expect(report.acknowledged > 20, "\(report.text)")
    }
}
