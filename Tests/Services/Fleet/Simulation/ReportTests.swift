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
            {"id": "mail", "backgroundModes": ["remote-notification"], "transfers": [{"kind": "upload", "size": "2MB"}]}
          ],
          "provider": [
            {"at": "08:02", "app": "news", "send": "silent", "every": "1m", "until": "09:00"},
            {"at": "08:30", "app": "mail", "send": "alert", "every": "1h", "until": "20:00", "expiration": "10m"},
            {"at": "13:50", "app": "mail", "send": "alert", "every": "10m", "until": "14:40", "collapseID": "score"}
          ],
          "faults": [{"at": "14:00", "for": "3h", "reboot": true}]
        }
        """

    static let run = Task { try await simulate(scenario) }

    /// Simulates a scenario, and returns its report and the lines of its log.
    static func simulate(_ text: String) async throws -> (report: Report, log: [JSON]) {
        let file = FileManager.default.temporaryDirectory.appending(path: "report-\(UUID()).ndjson")
        defer { try? FileManager.default.removeItem(at: file) }
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        let scenario = try Scenario(jsonBytes: Array(text.utf8))
        let report = try await SimulationRun(scenario, checks: true).run(log: FileHandle(forWritingTo: file))
        let lines = try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")).map { try JSON(parsing: $0) }
        return (report: report.document, log: lines)
    }

    @Test func `the figures of pushes equal those of the log`() async throws {
        let (report, log) = try await Self.run.value
        let logged = LoggedFigures(log)
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
                #expect(
                    Dictionary(uniqueKeysWithValues: ended.map { ($0.key, $0.value) }) == logged.apps[app.id]?.lost[
                        push.content] ?? [:])
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
                let late = own.filter { $0.verdict == "late" }
                #expect(late.count >= min(10, push.late))
                for (why, count) in push.lateReasons {
                    #expect(late.count { $0.why == why } >= min(3, count), "\(why)")
                }
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

    @Test func `a rarer reason to be late has examples beside the latest pushes`() {
        var worst = WorstPushes()
        func push(_ number: Int, _ why: String, minutes: Int64) -> PushHistory {
            var push = PushHistory()
            (push.notification, push.why, push.verdict) = ("n\(number)", why, "late")
            push.arrivedAt = push.sentAt + .minutes(minutes)
            return push
        }
        for number in 0..<30 { worst.add(push(number, "Held – Silent Budget", minutes: 60 + Int64(number))) }
        for number in 30..<35 { worst.add(push(number, "Stored – Device Offline", minutes: Int64(number))) }
        var other = WorstPushes()
        other.add(push(40, "Stored – Device Offline", minutes: 50))
        worst.add(other)
        let expected = (20..<30).reversed().map { "n\($0)" } + ["n40", "n34", "n33"]
        #expect(worst.all.map(\.notification) == expected)
        // A snapshot has only these.
        var restored = WorstPushes()
        for push in worst.all { restored.add(push) }
        #expect(restored.all == worst.all)
    }

    @Test func `waits and replacements lead to the events that explain them`() async throws {
        let (report, log) = try await Self.run.value
        var kinds: Set<PushReasonKind> = []
        for push in report.pushes {
            let own = log.filter {
                $0["subject"]?.string?.hasPrefix("device:\(push.device)/") == true
                    || $0["subject"]?.string == "device:\(push.device)"
            }
            for step in push.steps {
                kinds.formUnion(step.reasons.map(\.reason))
                let end = try #require(
                    own.lastIndex {
                        $0["data"]?["notification"]?.string == push.notification && $0["time"]?.string == "\(step.at)"
                    })
                func times(_ type: String, _ holds: (JSON) -> Bool = { _ in true }) -> [String] {
                    own[..<end].filter { $0["type"]?.string == type && holds($0["data"] ?? .null) }
                        .compactMap { $0["time"]?.string }
                }
                let found = step.reasons.map { "\($0.at)" }
                switch step.status {
                case "Stored – Device Offline":
                    #expect(found == times("push.device.disconnected").suffix(1))
                    #expect(step.reasons.first?.event.contains("cause powerLost") == true, "\(step)")
                case "Held – Silent Budget" where step.until != nil:
                    let refunded = own[..<end].filter { $0["data"]?["charged"] == false }
                        .compactMap { $0["data"]?["notification"]?.string }
                    // A push is charged again after a refund.
                    let paid = times("push.budget.changed") { data in
                        data["charged"] == true && !refunded.contains(data["notification"]?.string ?? "")
                    }
                    #expect(found == paid.suffix(3).reversed())
                case let status where status.hasPrefix("Replaced By"):
                    let newer = try #require(status.split(separator: " ").last).description
                    #expect(found == times("push.notification.received") { $0["notification"]?.string == newer })
                default: break
                }
            }
        }
        #expect(kinds.isSuperset(of: [.disconnection, .budget, .replacement]), "\(kinds)")
        let page = try ReportPage().html(report)
        #expect(page.contains("Paid from the silent budget: push.budget.changed (app news, charged true)"))
    }

    @Test func `late and never lead to all their reasons, and each reason to its examples`() async throws {
        let report = try await Self.run.value.report
        let page = try ReportPage().html(report)
        for (name, verdict) in [("late", "late"), ("never", "never")] {
            for app in report.apps {
                for push in app.pushes {
                    let reasons = verdict == "late" ? push.lateReasons : push.never
                    guard !reasons.isEmpty else { continue }
                    let row = try #require(page.range(of: "data-row=\"\(app.id)|\(push.content)\""))
                    let link = try #require(
                        page[row.upperBound...].firstMatch(of: try Regex("data-name=\"\(name)\"><a href=\"#([^\"]+)\""))
                    )
                    let group = try #require(page.range(of: "<tbody id=\"\(link[1].substring ?? "")\">"))
                    let rest = page[group.upperBound...]
                    let rows = rest[..<(try #require(rest.range(of: "</tbody>"))).lowerBound]
                    #expect(rows.matches(of: /<tr id=/).count == reasons.count)
                    for why in reasons.keys {
                        let reason = try #require(
                            rows.range(of: "data-reason=\"\(app.id)|\(push.content)|\(verdict)|\(why)\""))
                        #expect(rows[reason.upperBound...].prefix { $0 != "\n" }.contains("<a href=\"#push-"), "\(why)")
                    }
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

    @Test func `a page names the files and the end of what it reports`() throws {
        var report = Report()
        report.complete = false
        report.endReason = "It was <interrupted>."
        report.ignoredFaults = ["kill"]
        for (origin, word, command) in [
            (ReportOrigin.simulation, "simulation", "fleet simulate"), (.run, "run", "fleet run --scenario"),
        ] {
            report.origin = origin
            let page = try ReportPage().html(report)
            #expect(page.contains("The \(word) ended at 1970-01-01 00:00. It was &lt;interrupted&gt;."))
            #expect(page.contains("<code>kill</code> had no effect in this \(word)."))
            #expect(page.contains(command) && page.contains("report.json") && !page.contains("format=json"))
        }
        report.origin = .log
        let page = try ReportPage().html(report)
        #expect(page.contains("format=json") && !page.contains("report.json"))
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
