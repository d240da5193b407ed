import FleetService
import Foundation
import Synchronization
import TestSupport
import Testing
import Timeline

/// Fleets with the real `lifecycle`. Each runs until the expected events have happened.
@Suite(.tags(.database, .processes), .serialized, .timeLimit(.minutes(5))) struct LiveTests {
    @Test func `a fleet runs with lifecycle alone`() async throws {
        let fixture = try await LifecycleFixture.make()
        let service = try await fixture.start()
        let run = try fixture.fleet(devices: 5)
        await run.live {
            try? await eventually(within: 60, describe: "launches and suspensions") {
                let counts = run.statistics.counts
                return counts.devices == 5 && counts.launches >= 5 && counts.suspensions >= 5 && counts.tasksBegun > 0
            }
        }
        let counts = run.statistics.counts
        #expect(counts.devices == 5)
        #expect(counts.launches >= 5)
        #expect(counts.suspensions >= 5)
        #expect(counts.isGood, "\(counts.violationTexts) \(counts.complaints)")
        #expect(counts.errors == 0, "\(counts.refusals) \(counts.complaints)")
        service.signal(SIGTERM)
        _ = try await service.exit()
        try await fixture.cluster.destroy()
    }

    @Test func `a fleet survives a kill of lifecycle without lost data`() async throws {
        let fixture = try await LifecycleFixture.make()
        let first = try await fixture.start()
        let run = try fixture.fleet(devices: 5)
        async let life: Void = run.live {
            do {
                try await eventually(within: 60, describe: "suspensions") { run.statistics.counts.suspensions >= 3 }
                first.signal(SIGKILL)
                _ = try await first.exit()
                // Not later: the stream may be open again before `start()` returns.
                let before = run.statistics.counts
                try await eventually(within: 60, describe: "failed attempts") { run.statistics.counts.retries >= 5 }
                let second = try await fixture.start()
                // At this rate a night of the users takes 50 s.
                try await eventually(within: 150, describe: "more suspensions") {
                    let counts = run.statistics.counts
                    return counts.suspensions >= before.suspensions + 3 && counts.streamsOpened > before.streamsOpened
                }
                // Keeps the process until the fleet ends.
                Self.second.withLock { $0 = second }
            } catch {
                Issue.record("\(error): \(run.statistics.counts)")
            }
        }
        await life
        let counts = run.statistics.counts
        #expect(counts.isGood, "\(counts.violationTexts) \(counts.complaints)")
        #expect(counts.streamsOpened >= 2)
        Self.second.withLock { $0 }?.signal(SIGTERM)
        try await fixture.cluster.destroy()
    }

    private static let second = Mutex<ChildProcess?>(nil)

    @Test func `the program writes its summary and stops at a signal`() async throws {
        let fixture = try await LifecycleFixture.make()
        let service = try await fixture.start()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("fleet-\(fixture.port).json")
        let key = FileManager.default.temporaryDirectory.appendingPathComponent("fleet-\(fixture.port).key")
        try LifecycleFixture.operatorKey.write(to: key, atomically: true, encoding: .utf8)
        defer { for file in [file, key] { try? FileManager.default.removeItem(at: file) } }
        let fleet = try ChildProcess.start(
            ChildProcess.product("fleet"),
            [
                "run", "--devices", "3", "--for", "5m", "--rate", "600", "--begin-at", "08:00", "--target",
                fixture.address, "--operator-key-file", key.path, "--summary-json", file.path,
            ])
        try await fleet.waitForLine(containing: "3 devices", within: 60)
        fleet.signal(SIGINT)
        #expect(try await fleet.exit() == .exited(0))
        #expect(fleet.output.tail().contains("PASSED"))
        #expect(try String(contentsOf: file, encoding: .utf8).contains(#""devices":3"#))
        service.signal(SIGTERM)
        _ = try await service.exit()
        try await fixture.cluster.destroy()
    }

    @Test func `a wrong operator key ends the run with an explanation`() async throws {
        let fixture = try await LifecycleFixture.make()
        let service = try await fixture.start()
        let fleet = try ChildProcess.start(ChildProcess.product("fleet"), ["run", "--target", fixture.address])
        #expect(try await fleet.exit() == .exited(1))
        #expect(fleet.output.tail().contains("check the operator key"))
        service.signal(SIGTERM)
        _ = try await service.exit()
        try await fixture.cluster.destroy()
    }

    @Test(arguments: [
        ["run", "--devices", "none"], ["run"], ["run", "--endpoints", "/nonexistent"], ["fly"],
        ["run", "--target", "http://localhost:1", "--ca", "/nonexistent"],
    ])
    func `invalid options print one line`(arguments: [String]) async throws {
        let fleet = try ChildProcess.start(ChildProcess.product("fleet"), arguments)
        #expect(try await fleet.exit() == .exited(64))
        let lines = fleet.errors.tail().split(separator: "\n")
        #expect(lines.count == 1 && lines[0].hasPrefix("fleet: "), "\(lines)")
    }
}
