import Foundation
import Records
import Reports
import Scenarios
import Simulation
import TestSupport
import Testing

/// The pages of a report and of a comparison in a browser, on a phone and on a desk, in light and dark.
@Suite(
    "The look of reports", .tags(.database, .browser), .timeLimit(.minutes(5)),
    .enabled(if: Browser.isInstalled, "apt-get install chromium"))
struct ReportLookTests {
    /// Opens a page, and checks its width, contrast, names and messages in each form.
    private func look(at page: String, _ body: (Browser) async throws -> Void = { _ in }) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "look-\(UUID()).html")
        defer { try? FileManager.default.removeItem(at: file) }
        try page.write(to: file, atomically: true, encoding: .utf8)
        try await Browser.run { browser in
            try await browser.open(file.absoluteString, key: nil)
            try await browser.until("document.readyState === 'complete' && document.querySelector('main')")
            for width in [390, 1200] {
                try await browser.resize(to: width)
                for scheme in ["light", "dark"] {
                    try await browser.prefer(scheme)
                    #expect(try await browser.overhang() == 0, "\(width) \(scheme)")
                    #expect(try await browser.pale() == [], "\(width) \(scheme)")
                }
                // An element `details` is a group, and its summary is its name.
                #expect(try await browser.nameless().filter { $0 != "group" } == [], "\(width)")
                #expect(try await browser.evaluate(Self.namelessGroups) == 0, "\(width)")
                #expect(try await browser.evaluate(Self.cutOff) == [], "\(width)")
            }
            try await body(browser)
            #expect(await browser.complaints == [])
            #expect(await browser.requests.filter { !$0.hasPrefix("file:") } == [])
        }
    }

    private static let namelessGroups =
        "document.querySelectorAll('[role=group]:not([aria-label]), details:not(:has(> summary))').length"

    /// The texts of charts and the cells that reach out of the page.
    private static let cutOff = """
        [...document.querySelectorAll('svg text, td, th, li, p, summary')].filter(each => {
          const { left, right, width } = each.getBoundingClientRect()
          return width > 0 && !each.closest('.scroll') && (left < 0 || right > innerWidth)
        }).map(each => each.textContent)
        """

    @Test func `the page of a report has contrast, names and no message at each width`() async throws {
        let report = try await ReportsTests.simulation.value.report
        try await look(at: try ReportPage().html(report)) { browser in
            // A link leads to the reasons of a number, and a reason to an open list.
            try await browser.press("[data-name=never] a")
            try await browser.until("document.querySelector('tbody:target tr')")
            try await browser.press("tbody:target a")
            try await browser.until("document.querySelector('details:target')")
        }
    }

    @Test func `the page of a comparison has contrast, names and no message at each width`() async throws {
        let before = try await ReportsTests.simulation.value.report
        let older = ReportsTests.scenario.replacing(#""mix": "ios18""#, with: #""mix": "ios12""#)
        let after = try await SimulationRun(Scenario(jsonBytes: Array(older.utf8)), threads: 2).run().document
        let comparison = Comparison(("ios18", before), ("ios12", after))
        #expect(!comparison.isEqual)
        try await look(at: try ComparisonPage().html(comparison))
    }
}
