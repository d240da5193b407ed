import Contracts
import Foundation
import OrderedCollections
import Records
import Reports
import Scenarios
import Simulation
import Testing
import Timeline

/// Two reports side by side.
@Suite struct ComparisonTests {
    /// Returns a report with one app and its silent pushes.
    private func report(
        inTime: Int, late: OrderedDictionary<String, Int> = [:], never: OrderedDictionary<String, Int> = [:],
        _ change: (inout AppReport) -> Void = { _ in }
    ) -> Report {
        var pushes = PushReport()
        pushes.content = "silent"
        pushes.inTime = inTime
        pushes.lateReasons = late
        pushes.late = late.values.reduce(0, +)
        pushes.never = never
        pushes.sent = inTime + pushes.late + never.values.reduce(0, +)
        var app = AppReport()
        app.id = "news"
        app.pushes = [pushes]
        change(&app)
        var report = Report()
        report.apps = [app]
        return report
    }

    private func compare(_ one: Report, _ other: Report) -> Comparison {
        Comparison(("ios18", one), ("ios26", other))
    }

    @Test func `a sentence says how many pushes arrive and why`() {
        let one = report(inTime: 900, never: ["Discarded – Not Woken": 80, "Still held": 20])
        let other = report(inTime: 837, never: ["Discarded – Not Woken": 150, "Still held": 13])
        #expect(
            compare(one, other).sentences == [
                "ios26 hands over 7 % fewer silent pushes of news (837 of 1,000 instead of 900 of 1,000), "
                    + "because of 70 more “Discarded – Not Woken”."
            ])
        #expect(
            compare(other, one).sentences.first?.hasSuffix("because of 70 fewer “Discarded – Not Woken”.") == true)
    }

    @Test func `a sentence says how many pushes are late and what they waited for`() {
        let one = report(inTime: 90, late: ["Held – Silent Budget": 10])
        let other = report(inTime: 70, late: ["Held – Silent Budget": 25, "Stored – Device Offline": 5])
        #expect(
            compare(one, other).sentences == [
                "ios26 has 20 more late silent pushes of news (30 instead of 10), "
                    + "because of 15 more “Held – Silent Budget”, 5 more “Stored – Device Offline”."
            ])
    }

    @Test func `sentences explain the age of the content and the ends of apps`() {
        let one = report(inTime: 10) { app in
            app.contentAgeSeconds = ["p90": .hours(2)]
            app.refreshes = 40
        }
        let other = report(inTime: 10) { app in
            app.contentAgeSeconds = ["p90": .hours(3)]
            app.refreshes = 25
            app.wakesRefused = ["forceQuit": 12]
            app.kills = ["0x8badf00d": 2]
        }
        #expect(
            compare(one, other).sentences == [
                "With ios26, the content of news is 1 h older at its openings (p90 3 h instead of 2 h), "
                    + "because of 15 fewer completed refreshes, 12 more “wakes refused for forceQuit”.",
                "ios26 ends news 2 times more (2 instead of 0), because of 2 more “0x8badf00d”.",
            ])
    }

    @Test func `equal reports have no difference`() {
        let one = report(inTime: 900, never: ["Still held": 20])
        let comparison = compare(one, one)
        #expect(comparison.isEqual && comparison.sentences.isEmpty)
        #expect(comparison.summary() == "ios18 and ios26: all \(comparison.figures.count) figures are equal")
    }

    @Test func `the largest differences come first`() throws {
        let one = report(inTime: 900, never: ["Still held": 100]) { $0.crashes = 1 }
        let other = report(inTime: 800, never: ["Still held": 200]) { $0.crashes = 100 }
        let comparison = compare(one, other)
        let weights = comparison.figures.map { figure -> Double in
            guard let first = figure.first, let second = figure.second else { return 0 }
            return figure.unit == .share ? abs(second - first) : abs(second - first) / max(first, second, 1)
        }
        #expect(weights == weights.sorted(by: >))
        #expect(comparison.figures.first?.name == "Crashes" && comparison.figures.first?.difference == 99)
        let share = try #require(comparison.figures.first { $0.name == "In time" })
        #expect(share.first == 0.9 && share.second == 0.8 && share.content == "silent")
        let summary = comparison.summary()
        #expect(summary.contains("news silent: In time") && summary.contains("-10 points"))
        #expect(summary.contains("news: Crashes") && summary.contains("+99 (+9900 %)"))
        let lines = comparison.csv.split(separator: "\r\n")
        #expect(lines.count == comparison.figures.count + 1)
        #expect(lines[1] == "Crashes,news,,count,1.0,100.0,99.0")
        let page = try ComparisonPage().html(comparison)
        #expect(page.contains("<h1>ios18 and ios26</h1>") && page.contains("<td data-label=\"ios18\" class=\"n\">90 %"))
        #expect(!page.contains("://") && !page.contains("src="))
        #expect(page.matches(of: /<tr><th scope="row">/).count == comparison.figures.count)
    }

    @Test func `names in a comparison do not change the markup of its page`() throws {
        var one = report(inTime: 1)
        one.states.seconds = [#""><script>"#: [60]]
        let comparison = Comparison(("<b>one</b>", one), ("two", report(inTime: 2)))
        let page = try ComparisonPage().html(comparison)
        #expect(page.contains("&lt;b&gt;one") && !page.contains("<script") && !page.contains("<b>one"))
        #expect(try Comparison(jsonBytes: comparison.jsonBytes) == comparison)
    }

    /// Apps of iOS 15 are suspended after 5 s, and those of iOS 12 after 180 s of background tasks. The sums of the
    /// figures are those of the two reports.
    @Test func `two generations on one seed differ only in what the generation decides`() async throws {
        let text = """
            {
              "name": "generations", "for": "2d", "devices": {"count": 8, "seed": 5},
              "people": [{"habits": {"opens": ["08:00 news", "18:00±1h"], "stay": "3m"}}],
              "apps": [{"id": "news", "backgroundModes": ["fetch", "remote-notification"], "handler": {"takes": "3s"}}],
              "provider": [{"at": "08:10", "send": "silent", "every": "10m", "until": "20:00"}]
            }
            """
        func run(_ name: ProfileName) async throws -> Report {
            var scenario = try Scenario(jsonBytes: Array(text.utf8))
            scenario.devices.mix = Mix(name)
            return try await SimulationRun(scenario).run().document
        }
        let (old, new) = (try await run(.ios6), try await run(.ios18))
        let comparison = Comparison(("ios6", old), ("ios18", new))
        #expect(!comparison.isEqual)
        // iOS 6 has no silent pushes that wake apps.
        #expect(
            comparison.sentences.first?.hasPrefix("ios18 hands over ") == true
                && comparison.sentences.first?.contains(" more silent pushes of news") == true,
            "\(comparison.sentences)")
        let openings = try #require(comparison.figures.first { $0.name == "Openings" })
        #expect(openings.first == Double(old.openingsByHour.reduce(0, +)))
        #expect(openings.second == Double(new.openingsByHour.reduce(0, +)))
        #expect(Comparison(("a", new), ("b", try await run(.ios18))).isEqual)
    }
}
