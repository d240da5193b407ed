import Contracts
import EventLog
import Foundation
import Records
import ServiceKit
import TestSupport
import Testing
import Timeline

@testable import OpsService

/// The dashboard in a browser, with the real service.
@Suite(
    "The dashboard", .tags(.database, .browser), .timeLimit(.minutes(5)),
    .enabled(if: Browser.isInstalled, "apt-get install chromium"))
struct DashboardTests {
    /// Appends a few devices, and some events of every kind that the overview shows.
    static func live(_ fixture: OpsFixture) async throws {
        for device in ["d1", "d2", "d3", "other"] {
            let registered = LifecycleEvent.DeviceRegistered(registration: Registration(profile: .ios18))
            try await fixture.append(type(of: registered).type, to: device, data: text(registered))
        }
        for app in ["mail", "chat"] {
            let installed = LifecycleEvent.AppInstalled(app: app, manifest: Manifest())
            try await fixture.append(type(of: installed).type, to: "d1", app: app, data: text(installed))
        }
        let launched = LifecycleEvent.AppLaunched(app: "mail", callbacks: [])
        try await fixture.append(type(of: launched).type, to: "d1", app: "mail", data: text(launched))
        let happenings: [(type: String, count: Int, data: String)] = [
            ("lifecycle.app.woken", 5, #"{"reason":"push"}"#), ("lifecycle.app.woken", 2, #"{"reason":"fetch"}"#),
            ("lifecycle.wake.refused", 3, #"{"reason":"fetch","refusal":"lowPowerMode"}"#),
            ("lifecycle.app.terminated", 4, #"{"code":"0x8badf00d","reason":"launchTimeout"}"#),
            ("lifecycle.app.terminated", 1, #"{"reason":"crash"}"#),
            ("push.notification.held", 6, #"{"status":"Held – Silent Budget"}"#),
            ("transfer.progress.made", 2, #"{"bytesWritten":1500000}"#), ("transfer.task.completed", 7, "{}"),
            ("transfer.task.completed", 2, #"{"error":{"code":"timedOut"}}"#),
        ]
        for (type, count, data) in happenings {
            for _ in 0..<count { try await fixture.append(type, to: "d2", app: "news", data: data) }
        }
        try await fixture.count()
    }

    private static func text(_ record: some Record) -> String { String(decoding: record.jsonBytes, as: UTF8.self) }

    /// Opens the page over a log with events.
    func onPage(
        _ part: String = "", width: Int = 1280, key: String = OpsFixture.readKey, after first: ForeignEvent? = nil,
        search: SearchLimits = SearchLimits(), _ body: @Sendable @escaping (OpsFixture, Browser) async throws -> Void
    ) async throws {
        try await OpsFixture.run(search: search) { fixture in
            if let first { try await fixture.owner.append(first, partitions: OpsFixture.partitions) }
            try await Self.live(fixture)
            try await Browser.run { browser in
                try await browser.open(
                    "http://127.0.0.1:\(fixture.port)/\(part)", width: width, key: key)
                try await body(fixture, browser)
                let complaints = await browser.complaints
                #expect(complaints == [])
            }
        }
    }

    @Test func `the page shows the numbers of the API`() async throws {
        try await onPage { fixture, browser in
            try await browser.until("document.querySelector('#devices-count').textContent === '4'")
            let stats = try await fixture.get("/v1/stats").json
            func counts(_ name: String, _ word: String) -> [Int] {
                stats[name]?.items?.compactMap { $0[word]?.int } ?? []
            }
            let events = try #require(stats["events"]?.int)
            #expect(try await browser.text("#events-count") == "\(events)")
            #expect(try await browser.text("#apps-count") == "2")
            for app in stats["now"]?["apps"]?.items ?? [] {
                let (state, count) = (try #require(app["state"]?.string), try #require(app["count"]?.int))
                #expect(try await browser.text("#states [data-key=\(state)] strong") == "\(count)", "\(state)")
            }
            for list in ["woken", "refused", "ended", "notifications"] {
                let shown = try await browser.texts("#\(list) .count").compactMap { Int($0) }
                #expect(!shown.isEmpty && shown == counts(list, "count"), "\(list)")
            }
            #expect(try await browser.texts("#ended .label").first == "Launch timed out 0x8badf00d")
            #expect(try await browser.text("#refused .label") == "Low Power Mode")
            #expect(try await browser.texts("#transfers dd") == ["3\u{A0}MB", "0\u{A0}bytes", "7", "2"])
            for service in ["lifecycle", "fetch", "push", "transfer"] {
                let sum = counts("points", service).reduce(0, +)
                #expect(
                    try await browser.text("#rate-legend [data-key=\(service)] strong") == String(sum), "\(service)")
            }
            #expect(try await browser.evaluate("document.querySelectorAll('#rate rect').length").int ?? 0 > 0)
            #expect(try await browser.texts("#pushes-legend strong") == ["0", "0", "6", "0", "0"])
            #expect(try await browser.evaluate("document.querySelectorAll('#pushes rect').length").int ?? 0 > 0)
            let consumers = try await fixture.get("/v1/consumers").items
            #expect(try await browser.texts("#consumers th") == consumers.compactMap { $0["name"]?.string })
        }
    }

    @Test func `the page shows the report of a time range in a frame without scripts`() async throws {
        try await onPage("#/reports") { fixture, browser in
            try await browser.until("!document.querySelector('#reports').hidden")
            try await browser.until("document.querySelector('#report-to').value !== ''")
            for scheme in ["light", "dark"] {
                try await browser.prefer(scheme)
                #expect(try await browser.pale() == [], "\(scheme)")
            }
            #expect(try await browser.nameless() == [])
            // The fields have minutes, so the last minute is not in the range that the page proposes.
            let later = (RealClock().now + .minutes(2)).description.prefix(16)
            try await browser.evaluate("document.querySelector('#report-to').value = '\(later)'")
            try await browser.press("#report-form button")
            try await browser.until("!document.querySelector('#report-page').hidden")
            let page = try #require(
                try await browser.evaluate("document.querySelector('#report-page').srcdoc").string)
            #expect(page.contains("4 devices") && page.contains(#"data-app="news""#))
            #expect(try await browser.evaluate("document.querySelector('#report-page').sandbox.length").int == 0)
            try await browser.evaluate("document.querySelector('#report-from').value = '\(later)'")
            try await browser.press("#report-form button")
            try await browser.until("document.querySelector('#report-fault').textContent.includes('range')")
        }
    }

    /// The page works with screen readers and low vision.
    @Test func `every control has a name and every text has enough contrast`() async throws {
        try await onPage { fixture, browser in
            try await browser.until("document.querySelectorAll('#feed-rows li').length > 30")
            try await browser.until("document.querySelector('#woken-total').textContent !== ''")
            for part in ["#/", "#/devices/d1"] {
                try await browser.evaluate("location.hash = '\(part)'")
                if part != "#/" {
                    try await browser.until("document.querySelector('#device-name').textContent === 'd1'")
                }
                for scheme in ["light", "dark"] {
                    try await browser.prefer(scheme)
                    #expect(try await browser.pale() == [], "\(part) \(scheme)")
                }
                #expect(try await browser.nameless() == [], "\(part)")
            }
            try await browser.evaluate("location.hash = '#/'")
            try await browser.until("document.querySelector('#feed-rows .why')")
            try await browser.press("#feed-rows .why")
            try await browser.until("document.querySelectorAll('#why-chain li').length > 0")
            #expect(try await browser.nameless() == [])
            #expect(try await browser.pale() == [])
            // The check itself finds pale text.
            try await browser.evaluate(
                "document.body.append('', document.createElement('p')); const pale = document.body.lastChild; "
                    + "pale.textContent = 'pale'; pale.style.color = '#bbb'; pale.style.background = '#fff'")
            #expect(try await browser.pale().count == 1)
        }
    }

    @Test func `transfers show their progress`() async throws {
        let task = #"{"session":"s","task":4,"bytesReceived":6000000,"#
        try await onPage { fixture, browser in
            try await browser.until("document.querySelector('#feed-state').textContent === 'live'")
            try await fixture.append(
                "transfer.progress.made", to: "d3", app: "mail",
                data: task + #""totalBytesWritten":1500000,"totalBytesExpectedToWrite":6000000}"#)
            try await browser.until(
                "document.querySelector('#tasks li')?.textContent.startsWith('d3 mail s, task 4receiving · 1.5\u{A0}MB of 6\u{A0}MB')"
            )
            #expect(try await browser.evaluate("document.querySelector('#tasks progress').value").double == 0.25)
            try await fixture.append("transfer.task.completed", to: "d3", app: "mail", data: task + #""status":200}"#)
            try await browser.until(
                "document.querySelector('#tasks li > span').textContent === 'completed · 6\u{A0}MB'")
        }
    }

    @Test func `the feed shows new events until it is paused`() async throws {
        let newest = "document.querySelector('#feed-rows .type')?.textContent"
        try await onPage { fixture, browser in
            try await browser.until("document.querySelector('#feed-state').textContent === 'live'")
            try await browser.until("document.querySelectorAll('#feed-rows li').length > 30")
            try await fixture.append("fetch.refresh.due", to: "d3")
            try await browser.until("\(newest) === 'refresh.due'")
            try await browser.press("#feed-pause")
            try await fixture.append("fetch.refresh.recorded", to: "d3")
            try await browser.until("document.querySelector('#feed-state').textContent === 'paused; 1 new event'")
            #expect(try await browser.evaluate(newest) == "refresh.due")
            try await browser.press("#feed-pause")
            try await browser.until("\(newest) === 'refresh.recorded'")
            let places = try await browser.evaluate(
                "[...document.querySelectorAll('#feed-rows li')].map(row => row.dataset.key)")
            let keys = places.items?.compactMap(\.string) ?? []
            #expect(Set(keys).count == keys.count)
        }
    }

    @Test func `the feed keeps the 200 newest events`() async throws {
        try await onPage { fixture, browser in
            try await browser.until("document.querySelector('#feed-state').textContent === 'live'")
            for _ in 0..<230 { try await fixture.append("fetch.refresh.scheduled", to: "d3") }
            try await fixture.append("fetch.refresh.due", to: "d3")
            try await browser.until("document.querySelector('#feed-rows .type')?.textContent === 'refresh.due'")
            #expect(try await browser.texts("#feed-rows li").count == 200)
        }
    }

    @Test func `a device page shows its apps, and why shows the causes of an event`() async throws {
        try await onPage("#/devices/d1") { fixture, browser in
            try await browser.until("document.querySelectorAll('#switcher .card, #other-apps .card').length === 2")
            #expect(try await browser.texts("#switcher h3") == ["mail"])
            #expect(try await browser.text("#switcher .state") == "active")
            #expect(try await browser.texts("#other-apps h3") == ["chat"])
            try await browser.until("document.querySelector('#timeline-state').textContent === 'live'")
            // New events appear without a reload. Markup in data is shown as text.
            let first = try await fixture.append("push.notification.received", to: "d1")
            let second = try await fixture.append(
                "push.notification.held", to: "d1", correlation: first, causation: first, app: "mail",
                data: #"{"note":"<img src=x onerror=alert(1)>"}"#)
            try await fixture.append("fetch.refresh.recorded", to: "d1", correlation: first, causation: second)
            try await browser.until("document.querySelectorAll('#timeline > .entry').length === 7")
            try await browser.press("#timeline [data-key='\(second.uuidString.lowercased())'] .why")
            try await browser.until("document.querySelectorAll('#why-chain li').length === 3")
            #expect(try await browser.evaluate("document.querySelector('#why').open") == true)
            #expect(
                try await browser.texts("#why-chain .type") == [
                    "notification.received", "notification.held", "refresh.recorded",
                ])
            #expect(try await browser.texts("#why-chain .role") == ["cause", "this event", "effect"])
            #expect(try await browser.text("#why-lead") == "1 event led to it; 1 event followed.")
            #expect(try await browser.text("#why-chain .asked .data dd") == "<img src=x onerror=alert(1)>")
            try await browser.press("#why-close")
            #expect(try await browser.evaluate("document.querySelector('#why').open") == false)
        }
    }
}
