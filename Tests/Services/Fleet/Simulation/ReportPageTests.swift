import Foundation
import OrderedCollections
import Records
import Reports
import Scenarios
import Testing
import Timeline

@testable import Simulation

/// Every number of the page of a report, against counts of the log.
@Suite struct ReportPageTests {
    private static let page = Task {
        let (report, log) = try await ReportTests.run.value
        return (page: try ReportPage().html(report), report: report, figures: LoggedFigures(log))
    }

    /// The text of an element of the page with two attributes, without its elements.
    private func text(_ page: some StringProtocol, _ name: String, within start: String) throws -> String {
        let row = try #require(page.range(of: start), "\(start)")
        let rest = page[row.upperBound...]
        let end = rest.range(of: "</tr>")?.lowerBound ?? rest.endIndex
        let cell = try #require(
            String(rest[..<end]).firstMatch(
                of: try Regex("data-name=\"\(NSRegularExpression.escapedPattern(for: name))\">(.*?)</(?:td|dd)>")),
            "\(name)")
        return (cell[1].substring.map(String.init) ?? "").replacing(/<[^>]*>/, with: "").trimmingCharacters(
            in: .whitespaces)
    }

    /// The number with a comma between thousands.
    private func number(_ value: Int) -> String {
        let digits = String(value)
        guard digits.count > 3 else { return digits }
        return number(value / 1000) + "," + digits.suffix(3)
    }

    /// The two largest units of a duration.
    private func duration(_ seconds: Double?) -> String {
        guard let seconds else { return "–" }
        guard seconds >= 60 else {
            let tenths = Int((seconds * 10).rounded())
            return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
        }
        var (rest, parts, first) = (Int(seconds.rounded()), [String](), -1)
        for (index, unit) in [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")].enumerated() {
            let count = rest / unit.0
            rest %= unit.0
            if first < 0, count > 0 { first = index }
            if first >= 0, index <= first + 1, count > 0 { parts.append("\(count) \(unit.1)") }
        }
        return parts.joined(separator: " ")
    }

    private func list(_ counts: [String: Int]) -> String {
        counts.isEmpty
            ? "none" : counts.sorted { $0.key < $1.key }.map { "\(number($0.value)) \($0.key)" }.joined(separator: ", ")
    }

    @Test(arguments: ["news", "mail"])
    func `the rows of pushes have the counts and percentiles of the log`(app: String) async throws {
        let (page, report, logged) = try await Self.page.value
        let figures = try #require(logged.apps[app])
        for (content, received) in figures.received {
            let row = "<tr data-row=\"\(app)|\(content)\">"
            let delays = figures.delays[content] ?? []
            let late = delays.count { $0 > 30 }
            for (name, value) in [
                ("sent", received), ("inTime", delays.count - late), ("late", late), ("never", received - delays.count),
                ("refused", 0),
            ] {
                #expect(try text(page, name, within: row) == number(value), "\(content) \(name)")
            }
            for (name, percent) in [("p50", 50), ("p90", 90), ("p99", 99), ("longest", 100)] {
                let value = LoggedFigures.percentile(percent, delays)
                #expect(try text(page, name, within: row) == duration(value), "\(content) \(name)")
            }
            let bar = page[try #require(page.range(of: row)).upperBound...].prefix { $0 != "\n" || true }.prefix(4000)
            for (word, count) in [
                ("in time", delays.count - late), ("late", late), ("never", received - delays.count), ("refused", 0),
            ] {
                #expect(bar.contains("<title>\(word): \(number(count))</title>") == (count > 0), "\(word)")
            }
            let document = try #require(
                report.apps.first { $0.id == app }?.pushes.first { $0.content == content })
            var last = 0.0
            for bucket in document.delayCounts {
                let end = bucket.upTo?.seconds ?? .infinity
                #expect(bucket.count == delays.count { ($0 > last || last == 0) && $0 <= end }, "up to \(end)")
                last = end
            }
            #expect(document.delayCounts.count == 6)
            for (why, count) in figures.lost[content] ?? [:] {
                let reason = "data-reason=\"\(app)|\(content)|never|\(why)\">"
                #expect(try text(page, "count", within: reason) == number(count), "\(why)")
            }
        }
    }

    @Test(arguments: ["news", "mail"])
    func `the row of an app has the counts and percentiles of the log`(app: String) async throws {
        let (page, _, logged) = try await Self.page.value
        let figures = try #require(logged.apps[app])
        let cells: KeyValuePairs = [
            "age50": duration(LoggedFigures.percentile(50, figures.ages)),
            "age90": duration(LoggedFigures.percentile(90, figures.ages)),
            "refreshes": number(figures.refreshes.count),
            "refresh90": duration(LoggedFigures.percentile(90, figures.refreshes)),
            "transfers": "\(number(figures.transfers.count)) of \(number(figures.transfersStarted))",
            "transfer90": duration(LoggedFigures.percentile(90, figures.transfers)), "wakes": list(figures.wakes),
            "wakesRefused": list(figures.wakesRefused), "kills": list(figures.kills),
            "crashes": number(figures.crashes),
        ]
        for (name, value) in cells {
            #expect(try text(page, name, within: "<tr data-app=\"\(app)\">") == value, "\(name)")
        }
        #expect(logged.apps["news"]?.wakes.isEmpty == false && logged.apps["news"]?.wakesRefused.isEmpty == false)
    }

    @Test func `costs and the bars of each hour have the counts of the log`() async throws {
        let (page, _, logged) = try await Self.page.value
        let (energy, bytes) = ("Energy of refreshes and tasks", "Bytes over wifi")
        #expect(try text(page, energy, within: "<dl>") == "\(number(logged.millijoules / 1000)) J")
        #expect(try text(page, bytes, within: "<dl>") == number(logged.bytes))
        #expect(logged.millijoules > 1000 && logged.bytes > 1000)
        for hour in 0..<24 {
            for (name, counts) in [("openings", logged.openings), ("refreshes", logged.refreshes)] {
                #expect(page.contains("<title>\(hour):00, \(name): \(number(counts[hour]))</title>"), "\(hour) \(name)")
            }
        }
        #expect(page.contains("openings (\(number(logged.openings.reduce(0, +))))"))
        #expect(page.contains("completed refreshes (\(number(logged.refreshes.reduce(0, +))))"))
    }

    /// The area of each part of the chart is the time in the state.
    @Test func `the parts of the chart of states have the shares of the times`() async throws {
        let (page, report, _) = try await Self.page.value
        let all = Double(report.states.seconds.values.joined().reduce(0, +))
        var found = 0.0
        for (state, seconds) in report.states.seconds {
            let pattern = "<polygon class=\"fill-\(state)\" points=\"([^\"]*)\"><title>\(state)</title>"
            let part = try #require(page.firstMatch(of: try Regex(pattern)), "\(state)")
            let points = (part[1].substring ?? "").split(separator: " ").map {
                $0.split(separator: ",").compactMap { Double($0) }
            }
            // The shoelace formula.
            let twice = zip(points, points.dropFirst() + points.prefix(1)).reduce(0) { sum, pair in
                sum + pair.0[0] * pair.1[1] - pair.1[0] * pair.0[1]
            }
            let share = abs(twice) / 2 / (940 * 200)
            #expect(abs(share - Double(seconds.reduce(0, +)) / all) < 0.005, "\(state)")
            found += share
        }
        #expect(abs(found - 1) < 0.01)
    }

    @Test func `each part of a bar has a title with its count`() {
        var report = Report()
        var app = AppReport()
        var pushes = PushReport()
        (pushes.content, pushes.sent, pushes.inTime, pushes.late) = ("alert", 2222, 1111, 1000)
        pushes.refused = ["BadDeviceToken": 11, "TopicDisallowed": 100]
        app.pushes = [pushes]
        report.apps = [app]
        let page = try? ReportPage().html(report)
        for title in ["in time: 1,111", "late: 1,000", "refused: 111"] {
            #expect(page?.contains("<title>\(title)</title>") == true, "\(title)")
        }
        #expect(page?.contains("<title>never") == false)
        #expect(page?.contains("data-name=\"refused\">111<") == true)
    }

    @Test func `doubled pushes are the received copies`() async throws {
        let text = """
            {
              "name": "doubled", "for": "1d", "devices": {"count": 5, "mix": "ios18", "seed": 4},
              "people": [{"habits": {"opens": ["08:00"]}}],
              "apps": [{"id": "news", "backgroundModes": ["remote-notification"]}],
              "provider": [{"at": "09:00", "send": "alert", "every": "1h"}],
              "faults": [{"at": "10:30", "for": "8h", "doubledPushes": "60%"}]
            }
            """
        let (report, log) = try await ReportTests.simulate(text)
        var last: [String: Double] = [:]
        var copies = 0
        for event in log where event["type"] == "push.notification.received" {
            let time = event["time"]?.string.flatMap { Instant($0) }.map { Double($0.milliseconds) / 1000 } ?? 0
            let subject = event["subject"]?.string ?? ""
            if last[subject] == time - 1 { copies += 1 }
            last[subject] = time
        }
        let pushes = try #require(report.apps[0].pushes.first)
        #expect(copies > 5 && pushes.doubled == copies)
        #expect(pushes.sent + copies == log.count { $0["type"] == "push.notification.received" })
        #expect(try ReportPage().html(report).contains("news, alert: \(copies) copies of pushes, added by a fault."))
    }
}
