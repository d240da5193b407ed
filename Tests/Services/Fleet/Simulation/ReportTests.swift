import Contracts
import Foundation
import OrderedCollections
import Records
import Reports
import Scenarios
import Testing
import Timeline

@testable import Simulation

/// The report of a simulation, against counts of its log, and its page.
@Suite struct ReportTests {
    /// Two apps, silent pushes over their budget, alerts that expire while the device is off, and force quits.
    private static let scenario = """
        {
          "name": "<b>two apps</b>", "for": "2d", "lateAfter": "30s", "devices": {"count": 6, "mix": "ios18", "seed": 3},
          "people": [
            {"share": 50, "habits": {"opens": ["08:00 news", "09:00±20m mail"], "stay": "5m"}, "forceQuits": "after each use"},
            {"share": 50, "habits": {"opens": ["08:00 news", "09:00±20m mail"], "stay": "5m"}}
          ],
          "apps": [
            {"id": "news", "backgroundModes": ["remote-notification", "fetch"], "handler": {"takes": "3s"}},
            {"id": "mail", "backgroundModes": ["remote-notification"]}
          ],
          "provider": [
            {"at": "08:02", "app": "news", "send": "silent", "every": "1m", "until": "09:00"},
            {"at": "08:30", "app": "mail", "send": "alert", "every": "1h", "until": "20:00", "expiration": "10m"}
          ],
          "faults": [{"at": "14:00", "for": "3h", "reboot": true}]
        }
        """

    private static let run = Task {
        let file = FileManager.default.temporaryDirectory.appending(path: "report-\(UUID()).ndjson")
        defer { try? FileManager.default.removeItem(at: file) }
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        let scenario = try Scenario(jsonBytes: Array(Self.scenario.utf8))
        let report = try await SimulationRun(scenario, checks: true).run(log: FileHandle(forWritingTo: file))
        let lines = try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")).map { try JSON(parsing: $0) }
        return (report: report.document, log: lines)
    }

    private struct Push: Hashable { var app, id: String }

    /// The last outcome of each notification in the log.
    private func outcomes(_ log: [JSON]) -> [String: [String: Int]] {
        var apps: [String: String] = [:]
        var last: [String: String] = [:]
        for event in log {
            guard let data = event["data"], let id = data["notification"]?.string else { continue }
            if event["type"] == "push.notification.received" {
                apps[id] = event["subject"]?.string?.split(separator: "/").last.map(String.init)
            }
            if event["type"] == "push.notification.discarded" || event["type"] == "push.notification.replaced" {
                last[id] = data["status"]?.string
            }
        }
        var counts: [String: [String: Int]] = [:]
        for (id, status) in last { counts[apps[id] ?? "", default: [:]][status, default: 0] += 1 }
        return counts
    }

    @Test func `the figures of pushes equal those of the log`() async throws {
        let (report, log) = try await Self.run.value
        let outcomes = outcomes(log)
        for app in report.apps {
            let received = log.count {
                $0["type"] == "push.notification.received" && $0["subject"]?.string?.hasSuffix("/\(app.id)") == true
            }
            #expect(app.pushes.reduce(0) { $0 + $1.sent } == received)
            for push in app.pushes {
                let lost = push.never.values.reduce(0, +)
                #expect(push.sent == push.inTime + push.late + lost + push.refused.values.reduce(0, +))
                #expect(push.late == push.lateReasons.values.reduce(0, +))
                #expect(push.delayCounts.reduce(0) { $0 + $1.count } == push.inTime + push.late)
                let ended = push.never.filter { !$0.key.hasPrefix("Still") }
                #expect(Dictionary(uniqueKeysWithValues: ended.map { ($0.key, $0.value) }) == outcomes[app.id] ?? [:])
            }
        }
        let all = report.apps.flatMap(\.pushes)
        #expect(all.contains { $0.late > 0 } && all.contains { !$0.never.isEmpty }, "the scenario has both")
        #expect(report.openingsByHour.reduce(0, +) == log.count { $0["type"] == "fetch.app.opened" })
        #expect(report.events == log.count)
    }

    @Test func `the states of all apps fill every step`() async throws {
        let report = try await Self.run.value.report
        let steps = report.states.seconds.values.map(\.count)
        #expect(Set(steps) == [144] && report.states.stepSeconds == 1200)
        for step in 0..<144 {
            let sum = report.states.seconds.values.reduce(0) { $0 + $1[step] }
            // Each state is rounded to a second.
            #expect((12 * 1200 - 3...12 * 1200 + 3).contains(sum), "step \(step)")
        }
        // Two openings of five minutes by each of six people on each of two days.
        let active = report.states.seconds["active"]?.reduce(0, +) ?? 0
        #expect((23 * 300...25 * 300).contains(active), "\(active)")
    }

    @Test func `each reason has examples with the events that led to it`() async throws {
        let (report, log) = try await Self.run.value
        for app in report.apps {
            for push in app.pushes {
                let own = report.pushes.filter { $0.app == app.id && $0.content == push.content }
                #expect(own.count { $0.verdict == "late" } == min(10, push.late))
                for (why, count) in push.never {
                    #expect(own.count { $0.verdict == "never" && $0.why == why } == min(3, count), "\(why)")
                }
            }
        }
        for push in report.pushes {
            let events = log.filter { $0["data"]?["notification"]?.string == push.notification }
            #expect(push.steps.first?.status == "Received")
            #expect(push.steps.count <= events.count && push.steps.count >= 1)
            if push.why.hasPrefix("Discarded") {
                #expect(push.steps.last?.status.hasPrefix(push.why) == true)
            }
        }
        let refused = try #require(report.pushes.first { $0.why == "Discarded – Not Woken" })
        #expect(refused.steps.last?.cause?.contains("forceQuit") == true, "\(refused.steps)")
    }

    @Test func `the numbers of the page are those of the report`() async throws {
        let report = try await Self.run.value.report
        let page = try ReportPage().html(report)
        for app in report.apps {
            for push in app.pushes {
                let row = try #require(
                    page.firstMatch(of: try Regex("<tr data-row=\"\(app.id)\\|\(push.content)\">.*?</tr>")))
                let text = String(page[row.range])
                let never = push.never.values.reduce(0, +)
                for (name, count) in [
                    ("sent", push.sent), ("inTime", push.inTime), ("late", push.late), ("never", never),
                ] {
                    let cell = try #require(
                        text.firstMatch(of: try Regex("data-name=\"\(name)\">(?:<a [^>]*>)?([0-9,]+)<")))
                    #expect(cell[1].substring.map(String.init)?.replacing(",", with: "") == String(count), "\(name)")
                }
            }
        }
        let reasons = report.apps.flatMap(\.pushes).reduce(0) { $0 + $1.never.count + $1.lateReasons.count }
        #expect(page.matches(of: /<tr id="reason-/).count == reasons)
        #expect(page.matches(of: /<details id=/).count == report.pushes.count)
    }

    @Test func `each link of the page has a target and no resource is outside`() async throws {
        let page = try ReportPage().html(try await Self.run.value.report)
        let targets = Set(page.matches(of: /id="([^"]+)"/).map { String($0.1) })
        let links = page.matches(of: /href="([^"]+)"/).map { String($0.1) }
        #expect(!links.isEmpty)
        for link in links { #expect(link.hasPrefix("#") && targets.contains(String(link.dropFirst())), "\(link)") }
        #expect(!page.contains("://") && !page.contains("src="))
        #expect(page.contains("&lt;b&gt;two apps&lt;/b&gt;") && !page.contains("<b>two apps"))
    }

    @Test func `names in a report do not change the markup of its page`() throws {
        var report = Report()
        report.states.stepSeconds = 600
        report.states.seconds = [#"a"><script>alert(1)</script>"#: [600]]
        let page = try ReportPage().html(report)
        #expect(page.contains("a&quot;&gt;&lt;script&gt;") && !page.contains("<script"))
        #expect(page.contains("<style>\(ReportPage.style)</style>") && !page.contains(" style="))
    }

    @Test func `a report is read from its own JSON`() async throws {
        let report = try await Self.run.value.report
        #expect(try Report(jsonBytes: report.jsonBytes).jsonBytes == report.jsonBytes)
        let empty = Report()
        #expect(try ReportPage().html(empty).contains("No push was sent."))
    }
}
