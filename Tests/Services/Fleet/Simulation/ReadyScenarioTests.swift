import Foundation
import ScenarioFiles
import Scenarios
import Testing
import Timeline

@testable import Simulation

/// The files in `deploy/scenarios`, each with 20 devices.
@Suite struct ReadyScenarioTests {
    private static let names = [
        "commuter-tunnel", "force-quitter", "holiday-roaming", "low-battery-day", "morning-herd", "new-os-rollout",
        "silent-push-flood", "two-gigabytes-on-a-train",
    ]

    private func simulate(_ name: String) async throws -> SimulationReport {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../..")
        var scenario = try ScenarioFile.read(Data(contentsOf: root.appending(path: "deploy/scenarios/\(name).yaml")))
        scenario.devices.count = 20
        // The largest logs show the same after two days.
        if ["morning-herd", "new-os-rollout"].contains(name) { scenario.duration = TimeSpan(.days(2)) }
        return try await SimulationRun(scenario, threads: 2).run()
    }

    @Test(arguments: names)
    func `a ready scenario meets its expectations for the reason that it names`(name: String) async throws {
        let report = try await simulate(name)
        let isGood = report.isGood
        #expect(isGood, "\(report.summary)")
        let app = report.figures[0]
        switch name {
        case "commuter-tunnel":
            #expect(Array(app[.alert].never.keys) == ["Replaced By"])
            #expect(app[.alert].delays.contains { $0 > .minutes(1) })
        case "force-quitter": #expect(app.wakesRefused["forceQuit"] != nil)
        case "holiday-roaming":
            #expect(app.wakesRefused["lowDataMode"] != nil)
            #expect(app[.silent].never["Replaced By"] != nil)
        case "low-battery-day": #expect(app[.silent].delays.contains { $0 > .hours(1) })
        case "new-os-rollout": #expect(app.crashes > 0)
        case "silent-push-flood":
            #expect(!app.kills.isEmpty)
            #expect(app[.silent].doubled > 0)
        case "two-gigabytes-on-a-train":
            // The train leaves at 09:00 and arrives at 13:00.
            let large = app.transfers.filter { $0 > .hours(4) }
            #expect(large.count == 20)
            #expect(app.wakes["continuedProcessingTask"] ?? 0 > 0)
        default: #expect(report.figures.openings[7] > report.figures.openings[5])
        }
    }
}
