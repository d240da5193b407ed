import Foundation
import OrderedCollections
import Records
import Reports
import Testing
import Timeline

/// The times of the page of a report.
@Suite struct ReportTimeTests {
    /// Summer time ends on 2026-10-25 at 03:00 in Berlin, when it is 01:00 in UTC.
    private static let scenario = """
        {
          "name": "end of summer", "start": "2026-10-24", "for": "3d",
          "devices": {"count": 2, "mix": "ios18", "timeZone": "Europe/Berlin", "seed": 3},
          "people": [{"habits": {"opens": ["08:00"]}}],
          "apps": [{"id": "news", "backgroundModes": ["remote-notification"]}],
          "provider": [{"at": "01:30", "send": "alert", "every": "30m", "until": "05:00"}],
          "faults": [{"at": "01:00", "for": "5h", "reboot": true}]
        }
        """

    private func utc(_ text: String) throws -> Instant { try #require(Instant(text)) }

    @Test func `times of the page are those of the zone, with UTC as values`() async throws {
        let report = try await ReportTests.simulate(Self.scenario).report
        #expect(report.timeZone == "Europe/Berlin" && report.offsets.map(\.seconds) == [7200, 3600])
        #expect(try report.offsets.map(\.from) == [report.begin, utc("2026-10-25T01:00:00.000Z")])
        let page = try ReportPage().html(report)
        #expect(page.contains("Times are those of Europe/Berlin: UTC+02:00, UTC+01:00 from 2026-10-25 02:00."))
        #expect(page.components(separatedBy: "Europe/Berlin").count == 2)
        #expect(page.contains("2026-10-24 00:00 to 2026-10-26 23:00"))

        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "Europe/Berlin")
        format.dateFormat = "yyyy-MM-dd HH:mm:ss"
        let times = page.matches(of: /<time datetime="([^"]+)">([^<]+)<\/time>/)
        for time in times {
            let date = Date(timeIntervalSince1970: Double(try utc(String(time.1)).milliseconds / 1000))
            #expect(time.2 == format.string(from: date))
        }
        #expect(times.count == page.components(separatedBy: "<time").count - 1)
        // The hour from 02:00 comes twice. This is the first one.
        #expect(times.contains { $0.2 == "2026-10-25 02:30:00" && $0.1 == "2026-10-25T00:30:00.000Z" })
        // The fault of this night ends after five hours, at 05:00, and that of the next night at 06:00.
        let alert = try #require(report.apps.first?.pushes.first)
        #expect(alert.inTime == 2 && alert.late == 2)
        #expect(times.contains { $0.2.hasPrefix("2026-10-26 06:00:0") })
        #expect(page.contains(" until <time") && !page.contains("Z</time>"))
    }

    @Test func `the day with 25 hours moves the labels of later days`() throws {
        var report = Report()
        (report.begin, report.until) = (try utc("2026-10-23T22:00:00.000Z"), try utc("2026-10-26T22:00:00.000Z"))
        report.timeZone = "Europe/Berlin"
        report.offsets = [ReportOffset](from: report.begin, until: report.until) { instant in
            instant.milliseconds < 1_792_890_000_000 ? .hours(2) : .hours(1)
        }
        #expect(try report.offsets.last?.from == utc("2026-10-25T01:00:00.000Z"))
        report.states.stepSeconds = 1800
        report.states.seconds = ["active": Array(repeating: 1800, count: 144)]
        let page = try ReportPage().html(report)
        for (day, hours) in [("24", 0.0), ("25", 24), ("26", 49)] {
            let place = (10 * (44 + 940 * hours / 72)).rounded() / 10
            let x = place == place.rounded() ? String(Int(place)) : String(place)
            #expect(page.contains("<text x=\"\(x)\" y=\"228\">2026-10-\(day)</text>"), "\(x)")
        }
    }

    @Test func `a report without a zone has the times of UTC`() throws {
        var report = Report()
        var push = PushHistory()
        push.sentAt = try utc("2026-10-25T00:30:00.000Z")
        report.pushes = [push]
        let page = try ReportPage().html(report)
        #expect(page.contains("Times are UTC."))
        #expect(page.contains(#"<time datetime="2026-10-25T00:30:00.000Z">2026-10-25 00:30:00</time>"#))
    }
}
