import Foundation
import Records
import Reports
import Scenarios
import Simulation
import Testing
import Timeline

/// Snapshots of a simulation.
@Suite struct SnapshotTests {
    /// Two days with wakes, refreshes, transfers over midnight, pushes that wait, and faults that last over midnight.
    private static let scenario = """
        {
          "name": "two days", "for": "2d12h",
          "devices": {"count": 4, "mix": {"ios26": 50, "ios18": 30, "ios12": 20}, "timeZone": "Europe/Berlin"},
          "people": [
            {"share": 60, "habits": {"opens": ["07:30±20m", "12:00±1h", "23:50"], "stay": "30m"},
             "notifications": {"opened": "30%"}, "network": {"tunnel": "01:00-02:00 none"}},
            {"share": 40, "forceQuits": "after each use", "habits": {"opens": ["08:00±30m", "20:00±30m"]}}
          ],
          "apps": [
            {"id": "news", "backgroundModes": ["fetch", "remote-notification"],
             "handler": {"takes": "4s±2s", "result": {"newData": 60, "noData": 30, "failed": 5, "neverReturns": 5}},
             "transfers": [{"size": "600MB", "failures": "20%"}]},
            {"id": "mail", "backgroundModes": ["fetch", "processing"], "permittedTaskIdentifiers": ["refresh", "index"],
             "handlersReturn": "reported", "transfers": [{"kind": "upload", "size": "20MB"}]}
          ],
          "provider": [
            {"at": "00:10", "send": "silent", "every": "20m"},
            {"at": "06:00", "send": "alert", "every": "90m", "expiration": "1h", "collapseID": "headline"},
            {"at": "06:30", "app": "mail", "send": "alertWithContent", "every": "3h"}
          ],
          "faults": [
            {"at": "23:55", "for": "10m", "reboot": true, "to": "30%"},
            {"at": "23:30", "for": "1h", "latePushes": "20m±10m"},
            {"at": "15:00", "for": "2h", "doubledPushes": "50%"},
            {"at": "17:00", "for": "2h", "neverReturns": "news"}
          ]
        }
        """

    private static let whole = Task {
        try await SimulationRun(Scenario(jsonBytes: Array(scenario.utf8)), threads: 2, checks: true).run()
    }

    private func scenario(_ change: (inout Scenario) -> Void = { _ in }) throws -> Scenario {
        var scenario = try Scenario(jsonBytes: Array(Self.scenario.utf8))
        change(&scenario)
        return scenario
    }

    private func withFile(_ body: (URL) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).snapshot")
        defer { try? FileManager.default.removeItem(at: file) }
        try await body(file)
    }

    /// Simulates until a time, and then cancels.
    private func simulate(_ run: SimulationRun, until time: Interval, snapshots: URL, resume: URL? = nil) async throws {
        let task = Task {
            try await run.run(snapshots: snapshots, resume: resume) { progress in
                if progress.simulated == time { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        let report = try await task.value
        #expect(!report.isComplete && report.until - report.begin == time)
    }

    @Test(arguments: [Interval.minutes(10), .hours(23) + .minutes(50), .days(1), .hours(41)])
    func `a simulation that continues has the report and the hash of an unbroken one`(time: Interval) async throws {
        let whole = try await Self.whole.value
        try await withFile { file in
            try await simulate(SimulationRun(scenario()), until: time, snapshots: file)
            let rest = try await SimulationRun(scenario(), threads: 3).run(resume: file)
            #expect(rest.digest == whole.digest && rest.events == whole.events)
            #expect(rest.document.jsonBytes == whole.document.jsonBytes)
        }
    }

    @Test func `a simulation continues several times, with checks`() async throws {
        let whole = try await Self.whole.value
        #expect(whole.violations == [])
        try await withFile { file in
            let run = SimulationRun(try scenario(), checks: true)
            try await simulate(run, until: .hours(5), snapshots: file)
            for hours in [25, 26, 51] {
                try await simulate(run, until: .hours(Int64(hours)), snapshots: file, resume: file)
            }
            let rest = try await run.run(resume: file)
            #expect(rest.digest == whole.digest && rest.violations == [])
            #expect(rest.document.jsonBytes == whole.document.jsonBytes)
        }
    }

    @Test func `the last day's snapshot stays after the end`() async throws {
        try await withFile { file in
            let whole = try await SimulationRun(scenario()).run(snapshots: file)
            #expect(try await whole.digest == Self.whole.value.digest)
            let rest = try await SimulationRun(scenario()).run(resume: file) { progress in
                #expect(progress.simulated > .days(2))
            }
            #expect(rest.digest == whole.digest)
        }
    }

    @Test func `a snapshot of another scenario or seed, and a damaged one, are refused`() async throws {
        try await withFile { file in
            try await simulate(SimulationRun(scenario()), until: .hours(1), snapshots: file)
            await #expect(throws: SnapshotError.otherScenario) {
                try await SimulationRun(scenario(), seed: 99).run(resume: file)
            }
            await #expect(throws: SnapshotError.otherScenario) {
                try await SimulationRun(scenario { $0.devices.count = 11 }).run(resume: file)
            }
            var bytes = try Data(contentsOf: file)
            bytes[bytes.count / 2] ^= 1
            try bytes.write(to: file)
            await #expect(throws: SnapshotError.malformed) { try await SimulationRun(scenario()).run(resume: file) }
            try Data("name: a scenario\n".utf8).write(to: file)
            await #expect(throws: SnapshotError.malformed) { try await SimulationRun(scenario()).run(resume: file) }
        }
    }
}
