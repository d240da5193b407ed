import FleetService
import Foundation
import Synchronization
import TestSupport
import Testing
import Timeline

/// Fleets against the real `lifecycle`. They live until what is waited for has happened.
@Suite(.serialized, .timeLimit(.minutes(5))) struct LiveTests {
    @Test func aFleetLivesWithLifecycleAlone() async throws {
        let bench = try await LifecycleBench.make()
        let service = try await bench.start()
        let run = try bench.fleet(devices: 5)
        await run.live {
            try? await eventually(within: 60, describe: "launches and suspensions") {
                let counts = run.ledger.counts
                return counts.devices == 5 && counts.launches >= 5 && counts.suspensions >= 5 && counts.tasksBegun > 0
            }
        }
        let counts = run.ledger.counts
        #expect(counts.devices == 5)
        #expect(counts.launches >= 5)
        #expect(counts.suspensions >= 5)
        #expect(counts.isGood, "\(counts.violationTexts) \(counts.complaints)")
        #expect(counts.errors == 0, "\(counts.refusals) \(counts.complaints)")
        service.signal(SIGTERM)
        _ = try await service.exit()
        try await bench.cluster.destroy()
    }

    @Test func aFleetGoesOnWhereLifecycleWasKilledAndLosesNothing() async throws {
        let bench = try await LifecycleBench.make()
        let first = try await bench.start()
        let run = try bench.fleet(devices: 5)
        async let life: Void = run.live {
            do {
                try await eventually(within: 60, describe: "suspensions") { run.ledger.counts.suspensions >= 3 }
                first.signal(SIGKILL)
                _ = try await first.exit()
                try await eventually(within: 60, describe: "attempts in vain") { run.ledger.counts.retries >= 5 }
                let second = try await bench.start()
                let before = run.ledger.counts
                try await eventually(within: 60, describe: "more suspensions") {
                    let counts = run.ledger.counts
                    return counts.suspensions >= before.suspensions + 3 && counts.streamsOpened > before.streamsOpened
                }
                // Held until the end, so that it lives as long as the fleet.
                Self.second.withLock { $0 = second }
            } catch {
                Issue.record(error)
            }
        }
        await life
        let counts = run.ledger.counts
        #expect(counts.isGood, "\(counts.violationTexts) \(counts.complaints)")
        #expect(counts.streamsOpened >= 2)
        Self.second.withLock { $0 }?.signal(SIGTERM)
        try await bench.cluster.destroy()
    }

    private static let second = Mutex<ChildProcess?>(nil)

    @Test func theProgramWritesItsSummaryAndStopsAtASignal() async throws {
        let bench = try await LifecycleBench.make()
        let service = try await bench.start()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("fleet-\(bench.port).json")
        let key = FileManager.default.temporaryDirectory.appendingPathComponent("fleet-\(bench.port).key")
        try LifecycleBench.operatorKey.write(to: key, atomically: true, encoding: .utf8)
        defer { for file in [file, key] { try? FileManager.default.removeItem(at: file) } }
        let fleet = try ChildProcess.start(
            ChildProcess.product("fleet"),
            [
                "run", "--devices", "3", "--for", "5m", "--rate", "600", "--begin-at", "08:00", "--target",
                bench.address, "--operator-key-file", key.path, "--summary-json", file.path,
            ])
        try await fleet.waitForLine(containing: "3 devices", within: 60)
        fleet.signal(SIGINT)
        #expect(try await fleet.exit() == .exited(0))
        #expect(fleet.output.tail().contains("kept its word"))
        #expect(try String(contentsOf: file, encoding: .utf8).contains(#""devices":3"#))
        service.signal(SIGTERM)
        _ = try await service.exit()
        try await bench.cluster.destroy()
    }

    @Test func aWrongKeyEndsTheRunWithAClearWord() async throws {
        let bench = try await LifecycleBench.make()
        let service = try await bench.start()
        let fleet = try ChildProcess.start(ChildProcess.product("fleet"), ["run", "--target", bench.address])
        #expect(try await fleet.exit() == .exited(1))
        #expect(fleet.output.tail().contains("is the operator key the right one?"))
        service.signal(SIGTERM)
        _ = try await service.exit()
        try await bench.cluster.destroy()
    }

    @Test(arguments: [
        ["run", "--devices", "none"], ["run"], ["run", "--endpoints", "/nonexistent"], ["fly"],
        ["run", "--target", "http://localhost:1", "--ca", "/nonexistent"],
    ])
    func wrongOptionsAreOneClearLine(arguments: [String]) async throws {
        let fleet = try ChildProcess.start(ChildProcess.product("fleet"), arguments)
        #expect(try await fleet.exit() == .exited(64))
        let lines = fleet.errors.tail().split(separator: "\n")
        #expect(lines.count == 1 && lines[0].hasPrefix("fleet: "), "\(lines)")
    }
}
