import NIOHTTP1
import Records
import Synchronization
import TestSupport
import Testing

/// The dashboard with the whole suite and a fleet.
@Suite(
    "The dashboard over the whole suite", .tags(.database, .processes, .browser), .timeLimit(.minutes(10)),
    .enabled(if: Browser.isInstalled, "apt-get install chromium"))
struct DashboardRunTests {
    private static let devices = 12

    @Test func `the page shows the numbers of the API while a fleet runs`() async throws {
        let suite = try await RunningSuite.start(virtualTime: true)
        let fleet = try suite.startFleet(devices: Self.devices)
        let page = suite.address(.ops) + "/"
        try await Browser.run { browser in
            try await browser.open(page, key: nil)
            try await logIn(browser)
            try await watchItMove(browser)

            let (status, words, _) = try await fleet.finish()
            #expect(status == .exited(0), "\(words)")
            // From now on nothing changes, so the page and the API must agree.
            try await suite.call(.PUT, .ops, "/v1/clock", ["frozen": true])
            try await suite.waitUntilAllIsTakenIn()
            try await compare(browser, with: suite)

            try await openADeviceByKeyboard(browser)
            try await showItOnAPhoneInTheDark(browser)
            let complaints = await browser.complaints
            #expect(complaints == [])
            let others = await browser.requests.filter { !$0.hasPrefix(page) }
            #expect(others == [])
        }
        for (service, end) in try await suite.stop() { #expect(end == .exited(0), "\(service)") }
        try await suite.cluster.destroy()
    }

    private func logIn(_ browser: Browser) async throws {
        try await browser.until("document.activeElement.id === 'key'")
        try await browser.write(RunningSuite.operatorKey, into: "#key")
        try await browser.press(.enter)
        try await browser.until("document.querySelector('#devices-count').textContent === '\(Self.devices)'")
    }

    /// The count of events grows and the feed gets new rows without any input.
    private func watchItMove(_ browser: Browser) async throws {
        try await browser.until("document.querySelector('#feed-state').textContent === 'live'")
        try await browser.until("document.querySelectorAll('#feed-rows li').length > 20")
        let newest = try #require(
            try await browser.evaluate("document.querySelector('#feed-rows li').dataset.key").string)
        let count = "Number(document.querySelector('#events-count').textContent.replaceAll(',', ''))"
        let before = try #require(try await browser.evaluate(count).int)
        try await browser.until("\(count) > \(before + 20)")
        try await browser.until("document.querySelector('#feed-rows li').dataset.key !== '\(newest)'")
    }

    /// Waits until the numbers of the page equal those of the API.
    private func compare(_ browser: Browser, with suite: RunningSuite) async throws {
        let last = Latest()
        do {
            try await eventually(within: 90, describe: "the page shows the numbers of the API") {
                let (told, shown) = (try await Self.told(suite), try await Self.shown(browser))
                last.text.withLock { $0 = "the API: \(told)\nthe page: \(shown)" }
                return told == shown
            }
        } catch let error as TimedOut {
            throw Unexpected("\(error)\n\(last.text.withLock { $0 })")
        }
    }

    /// Returns the numbers of the API in the format of the page.
    private static func told(_ suite: RunningSuite) async throws -> [String: [String]] {
        let stats = try await suite.call(.GET, .ops, "/v1/stats").json
        let devices = try await suite.call(.GET, .ops, "/v1/devices?limit=1000").json["items"]?.items ?? []
        let states = devices.flatMap { $0["apps"]?.items ?? [] }.compactMap { $0["state"]?.string }
        let consumers = try await suite.call(.GET, .ops, "/v1/consumers").json["items"]?.items ?? []
        let points = stats["points"]?.items ?? []
        func sums(_ series: [String]) -> [String] {
            series.map { name in grouped(points.reduce(0) { $0 + ($1[name]?.int ?? 0) }) }
        }
        func counts(_ list: String) -> [String] {
            stats[list]?.items?.map { grouped($0["count"]?.int ?? -1) } ?? []
        }
        return [
            "devices": [grouped(devices.count)], "apps": [grouped(states.count)],
            "states": ["active", "inactive", "background", "suspended", "notRunning"].map { state in
                grouped(states.count { $0 == state })
            },
            "events": [grouped(stats["events"]?.int ?? -1)],
            "services": sums(["lifecycle", "fetch", "push", "transfer"]),
            "pushes": sums(["delivered", "stored", "held", "replaced", "discarded"]),
            "woken": counts("woken"), "refused": counts("refused"), "ended": counts("ended"),
            "notifications": counts("notifications"),
            "tasks": ["completed", "failed"].map { grouped(stats["transfers"]?[$0]?.int ?? -1) },
            "consumers": consumers.map { "\($0["name"]?.string ?? "") \(grouped($0["lag"]?.int ?? -1))" },
        ]
    }

    private static func shown(_ browser: Browser) async throws -> [String: [String]] {
        let places = [
            "devices": "#devices-count", "apps": "#apps-count", "states": "#states strong", "events": "#events-count",
            "services": "#rate-legend strong", "pushes": "#pushes-legend strong", "woken": "#woken .count",
            "refused": "#refused .count", "ended": "#ended .count", "notifications": "#notifications .count",
            "tasks": "#tasks-completed, #tasks-failed",
        ]
        var shown: [String: [String]] = [:]
        for (name, place) in places { shown[name] = try await browser.texts(place) }
        let (names, lags) = (try await browser.texts("#consumers th"), try await browser.texts("#consumers .number"))
        shown["consumers"] = zip(names, lags).map { "\($0) \($1)" }
        return shown
    }

    /// Opens a device and the "why?" dialog of an event, and closes it, with the keyboard.
    private func openADeviceByKeyboard(_ browser: Browser) async throws {
        try await browser.evaluate("document.querySelector('.brand').focus()")
        try await browser.tab(to: "nav [data-part=devices]")
        try await browser.press(.enter)
        try await browser.until("document.querySelectorAll('#device-list > li').length > 5")
        try await browser.tab(to: "#device-list > li > a")
        let name = try #require(try await browser.evaluate("document.activeElement.textContent").string)
        try await browser.press(.enter)
        try await browser.until("document.querySelectorAll('#timeline li').length > 5")
        #expect(try await browser.text("#device-name") == name)
        // The state may arrive after the timeline.
        try await browser.until("document.querySelectorAll('#switcher h3, #other-apps h3').length > 0")
        // The services tell what to expect.
        try await browser.until("document.querySelectorAll('#outlook .forecast').length > 0")
        #expect(try await browser.texts("#timeline time").count == browser.texts("#timeline .why").count)
        try await browser.tab(to: "#timeline .why")
        try await browser.press(.enter)
        try await browser.until("document.querySelector('#why-chain .asked')")
        #expect(try await browser.text("#why-lead")?.isEmpty == false)
        try await browser.press(.escape)
        try await browser.until("!document.querySelector('#why').open")
        #expect(try await browser.evaluate("document.activeElement.matches('#timeline .why')") == true)
    }

    private func showItOnAPhoneInTheDark(_ browser: Browser) async throws {
        let colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color].join()"
        try await browser.prefer("light")
        try await keep(browser, "device.png", width: 1280)
        let light = try await browser.evaluate(colours).string
        try await browser.prefer("dark")
        #expect(try await browser.evaluate(colours).string != light)
        try await browser.resize(to: 390)
        #expect(try await browser.overhang() == 0)
        try await browser.press(".brand")
        try await browser.until("document.querySelectorAll('#feed-rows li').length > 20")
        #expect(try await browser.overhang() == 0)
        try await keep(browser, "overview-phone.png", width: 390)
    }

    /// Checks and attaches a screenshot; `swift test --attachments-path FOLDER` writes it to the folder.
    private func keep(_ browser: Browser, _ name: String, width: Int) async throws {
        let picture = try await browser.picture()
        // Bytes 16 to 19 of a PNG file are its width.
        #expect(picture.dropFirst(16).prefix(4).reduce(0) { $0 << 8 | Int($1) } == width)
        // A picture of one colour is much smaller.
        #expect(picture.count > 8000)
        Attachment.record(picture, named: name)
    }
}

/// Formats a number like the page, with commas between thousands.
private func grouped(_ number: Int) -> String {
    var digits = String(number)
    var place = digits.endIndex
    while let next = digits.index(place, offsetBy: -3, limitedBy: digits.startIndex), next > digits.startIndex {
        digits.insert(",", at: next)
        place = next
    }
    return digits
}
