import Contracts
import Foundation
import OrderedCollections
import Records
import Reports
import Scenarios
import Testing
import Timeline

@testable import Simulation

/// The report of a log has the figures of the simulation that wrote the log.
@Suite struct LogReportTests {
    private static let scenario = """
        {
          "name": "log", "for": "1d", "devices": {"count": 12, "mix": {"ios26": 50, "ios13": 50}, "seed": 5},
          "people": [
            {
              "habits": {"opens": ["01:00±20m", "8 times 02:00-23:00"]}, "lowPowerMode": "12:00-14:00",
              "forceQuits": "after 20% of uses", "network": {"tunnel": "06:00-06:30 none"},
              "notifications": {"opened": "40%"}
            }
          ],
          "apps": [
            {
              "id": "news", "backgroundModes": ["fetch", "remote-notification"],
              "handler": {"result": {"newData": 80, "crashes": 10, "neverReturns": 10}}
            }
          ],
          "provider": [
            {"at": "00:30", "every": "50m", "send": "silent"},
            {"at": "02:00", "every": "45m", "send": "alert", "expiration": "5m"}
          ],
          "expect": [{"what": "alerts shown", "within": "10m", "of": "delivered", "atLeast": "50%"}]
        }
        """

    private struct Simulated {
        var plan: ScenarioPlan
        var report: Report
        var names: [String]
        var events: [Event]
    }

    /// Simulates the scenario, and reads its log.
    private static func simulated() async throws -> Simulated {
        let scenario = try Scenario(jsonBytes: Array(scenario.utf8))
        let plan = ScenarioPlan(scenario)
        let file = FileManager.default.temporaryDirectory.appending(path: "log-\(UUID().uuidString)")
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        defer { try? FileManager.default.removeItem(at: file) }
        let handle = try FileHandle(forWritingTo: file)
        let report = try await SimulationRun(scenario, threads: 2).run(log: handle).document
        try handle.close()
        let lines = try Data(contentsOf: file).split(separator: UInt8(ascii: "\n"))
        let names = (0..<scenario.devices.count).map { plan.device($0).name }
        return Simulated(plan: plan, report: report, names: names, events: try lines.map { try event(Array($0)) })
    }

    @Test func `the report of a log equals the report of the simulation`() async throws {
        let simulated = try await Self.simulated()
        var report = LogReport(simulated.plan, names: simulated.names)
        try Self.addPushes(simulated.plan, simulated.names, simulated.events, to: &report)
        for event in simulated.events { try report.add(event) }
        let expected = simulated.report
        var found = report.report(until: simulated.plan.end).document
        #expect(found.sha256 == nil && found.origin == .run && expected.origin == .simulation)
        found.origin = expected.origin
        // Facts about devices that no event has.
        found.sha256 = expected.sha256
        found.refusedCalls = expected.refusedCalls
        found.bytes = expected.bytes
        #expect(String(decoding: found.jsonBytes, as: UTF8.self) == String(decoding: expected.jsonBytes, as: UTF8.self))
        #expect(expected.apps[0].pushes.reduce(0) { $0 + $1.sent } > 100)
    }

    @Test func `a report has the pushes of another system`() async throws {
        let simulated = try await Self.simulated()
        var scenario = simulated.plan.scenario
        scenario.provider = .external
        var report = LogReport(ScenarioPlan(scenario), names: simulated.names)
        for event in simulated.events { try report.add(event) }
        // Nobody learns of the pushes that another system can't send.
        let expected = simulated.report.apps[0].pushes.map { push in
            var push = push
            push.withoutToken = 0
            return push
        }
        let found = report.report(until: simulated.plan.end).document
        #expect(found.apps[0].pushes == expected && expected.contains { $0.sent > 50 })
        #expect(found.pushes == simulated.report.pushes && !found.pushes.isEmpty)
    }

    @Test func `pushes of another system have the content of their type and payload`() throws {
        let received: [(PushType, Bool, JSON, Send.Content?)] = [
            (.alert, false, ["aps": ["alert": "a"]], .alert),
            (.alert, false, ["aps": ["alert": "a", "content-available": 1]], .alertWithContent),
            (.alert, true, ["aps": ["content-available": 1]], .silent),
            (.background, true, ["aps": ["content-available": 1]], .silent),
            (.voip, false, [:], .voip), (.pushtotalk, false, [:], .pushToTalk), (.liveactivity, false, [:], nil),
        ]
        for (type, isSilent, payload, content) in received {
            #expect(Send.Content(type, isSilent: isSilent, payload: payload) == content, "\(type) \(payload)")
        }
    }

    @Test func `a summary names the refused calls`() throws {
        let plan = ScenarioPlan(try Scenario(jsonBytes: Array(Self.scenario.utf8)))
        var report = LogReport(plan, names: ["a"])
        #expect(!report.report(until: plan.end).summary.contains("refused calls"))
        report.addRefusedCalls(["app_not_running": 2, "origin_not_allowed": 84])
        let summary = report.report(until: plan.end).summary
        #expect(summary.contains("  refused calls: 2 app_not_running, 84 origin_not_allowed\n"))
    }

    @Test func `a refused push and one without a token are no arrivals`() throws {
        var report = LogReport(ScenarioPlan(try Scenario(jsonBytes: Array(Self.scenario.utf8))), names: ["a"])
        report.addRefused("BadDeviceToken", item: 0, isCopy: false)
        report.addWithoutToken(item: 1)
        report.addAccepted("n", to: 0, item: 1, at: .epoch, isCopy: false)
        report.addAccepted("m", to: 0, item: 1, at: .epoch, isCopy: true)
        let pushes = report.report(until: .epoch).document.apps[0].pushes
        let silent = try #require(pushes.first { $0.content == "silent" })
        #expect(silent.sent == 1 && silent.refused == ["BadDeviceToken": 1])
        let alert = try #require(pushes.first { $0.content == "alert" })
        #expect(alert.sent == 1 && alert.doubled == 1 && alert.withoutToken == 1)
        #expect(alert.never.values.reduce(0, +) == 1)
    }

    /// Adds the planned pushes: those that the log has, and those without a token.
    private static func addPushes(
        _ plan: ScenarioPlan, _ names: [String], _ events: [Event], to report: inout LogReport
    ) throws {
        var received: [String: [(id: String, at: Instant, type: PushType)]] = [:]
        for event in events where event.type == PushEvent.NotificationReceived.type {
            let data = try PushEvent.NotificationReceived(jsonBytes: event.data)
            received[event.key.device ?? "", default: []].append((data.notification, event.time, data.pushType))
        }
        for (index, name) in names.enumerated() {
            for push in plan.pushes(to: index) {
                let type = plan.scenario.provider.sends[push.item].pushType
                let place = received[name]?.firstIndex { $0.at == push.at && $0.type == type }
                if let place, let id = received[name]?.remove(at: place).id {
                    report.addAccepted(id, to: index, item: push.item, at: push.at, isCopy: false)
                } else {
                    report.addWithoutToken(item: push.item)
                }
            }
        }
    }

    private static func event(_ line: [UInt8]) throws -> Event {
        let document = try JSON(parsing: line)
        func text(_ name: String) throws -> String { try #require(document[name]?.string) }
        let subject = try text("subject").split(separator: "/", maxSplits: 1).map(String.init)
        return Event(
            id: try #require(UUID(uuidString: try text("id"))), source: String(try text("source").dropFirst()),
            type: try text("type"), version: 1, key: AggregateKey(subject[0]),
            app: subject.count > 1 ? subject[1] : nil,
            time: try #require(Instant(try text("time"))),
            correlation: try #require(UUID(uuidString: try text("correlationid"))),
            causation: document["causationid"]?.string.flatMap(UUID.init(uuidString:)), traceparent: nil,
            data: (document["data"] ?? .null).bytes)
    }
}
