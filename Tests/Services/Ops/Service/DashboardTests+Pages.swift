import Foundation
import Records
import TestSupport
import Testing

@testable import OpsService

/// The pages beside the overview: pushes, devices, events, services and the timeline of a device.
extension DashboardTests {
    /// Waits until a list has a number of rows.
    func rows(_ selector: String, _ count: Int, _ browser: Browser) async throws {
        try await browser.until("document.querySelectorAll('\(selector)').length === \(count)")
    }

    /// Chooses an option of a filter.
    func choose(_ value: String, in selector: String, _ browser: Browser) async throws {
        try await browser.evaluate(
            "{ const field = document.querySelector('\(selector)'); field.value = '\(value)'; "
                + "field.dispatchEvent(new Event('change', { bubbles: true })) }")
    }

    /// Appends a push that arrives in time, one that is late, one that never arrives and one that waits.
    private func push(_ fixture: OpsFixture) async throws {
        let story = PushStory(fixture)
        try await story.register("phone", fleet: "lab")
        for (number, id) in ["quick", "late", "never", "held"].enumerated() {
            try await story.receive(id, at: number, #""forUser":true"#)
        }
        try await story.tell("notification.acknowledged", "quick", at: 1, "Acknowledged", arrived: true)
        try await story.append("push.device.disconnected", to: "phone", at: 1, #"{"cause":"networkLost"}"#)
        try await story.tell("notification.stored", "late", at: 1, "Stored – Device Offline")
        try await story.tell("notification.acknowledged", "late", at: 91, "Acknowledged", arrived: true)
        try await story.tell("notification.discarded", "never", at: 2, "Discarded – Disabled")
        try await story.tell("notification.held", "held", at: 3, "Held – Silent Budget")
    }

    @Test func `pushes are filtered by the address, and each says why`() async throws {
        try await onPage { fixture, browser in
            try await push(fixture)
            try await browser.evaluate("location.hash = '#/pushes'")
            try await rows("#pushes-rows tr", 4, browser)
            #expect(
                try await browser.texts("#pushes-rows .verdict") == ["pending", "never", "late", "in time"])
            #expect(try await browser.texts("#pushes-rows .delay") == ["–", "–", "1 min 30 s", "1 s"])
            try await choose("late", in: "#pushes-filters [name=verdict]", browser)
            try await rows("#pushes-rows tr", 1, browser)
            #expect(try await browser.text("#pushes-rows .outcome") == "Stored – Device Offline")
            #expect(try await browser.evaluate("location.hash") == "#/pushes?verdict=late")
            try await browser.press("#pushes-rows .why")
            try await browser.until("document.querySelector('#why-chain .asked')")
            try await browser.evaluate("history.back()")
            try await browser.until("!document.querySelector('#why').open")
            try await browser.evaluate("history.back()")
            try await rows("#pushes-rows tr", 4, browser)
            #expect(try await browser.evaluate("document.querySelector('#pushes-filters [name=verdict]').value") == "")
            try await browser.evaluate("history.forward()")
            try await rows("#pushes-rows tr", 1, browser)
            try await browser.evaluate("location.hash = '#/pushes?lateAfter=x'")
            try await browser.until(
                "document.querySelector('#pushes-filters .fault').textContent.includes('lateAfter')")
        }
    }

    @Test func `pushes are saved as the CSV of the API`() async throws {
        try await onPage { fixture, browser in
            try await push(fixture)
            try await browser.evaluate("location.hash = '#/pushes?verdict=never'")
            try await rows("#pushes-rows tr", 1, browser)
            try await browser.evaluate(
                "URL.createObjectURL = file => { file.text().then(text => { window.saved = text }); return '#/' }")
            try await browser.press("#pushes-csv")
            try await browser.until("window.saved")
            let csv = try await fixture.get("/v1/pushes?verdict=never", ["Accept": "text/csv"]).body
            #expect(try await browser.evaluate("window.saved").string == csv)
        }
    }

    @Test func `a fleet holds over all pages`() async throws {
        try await onPage { fixture, browser in
            try await push(fixture)
            try await fixture.count()
            try await browser.evaluate("location.hash = '#/devices'")
            try await rows("#device-list > li", 5, browser)
            try await browser.evaluate("document.querySelector('#fleet').dispatchEvent(new Event('focus'))")
            try await browser.until("document.querySelector('#fleet').options.length === 2")
            try await choose("lab", in: "#fleet", browser)
            try await rows("#device-list > li", 1, browser)
            try await browser.press("nav [data-part=pushes]")
            try await browser.until("location.hash === '#/pushes?fleet=lab'")
            try await browser.press("nav [data-part=overview]")
            try await browser.until("document.querySelector('#devices-count').textContent === '1'")
            try await choose("", in: "#fleet", browser)
            try await browser.until("document.querySelector('#devices-count').textContent === '5'")
            try await browser.press("nav [data-part=devices]")
            try await rows("#device-list > li", 5, browser)
        }
    }

    @Test func `every number leads to as many rows`() async throws {
        try await onPage { fixture, browser in
            try await browser.until("document.querySelectorAll('#refused a').length > 0")
            let links =
                try await browser.evaluate(
                    """
                    ['#woken', '#refused', '#ended', '#notifications', '#rate-legend', '#pushes-legend', '#states']
                      .flatMap(list => [...document.querySelectorAll(list + ' li')])
                      .map(item => [item.querySelector('.count, strong').textContent, item.querySelector('a').getAttribute('href')])
                      .concat([...document.querySelectorAll('a.total, #events-link, .figure a[href="#/devices"]')]
                        .map(link => [(link.querySelector('strong') ?? link).textContent, link.getAttribute('href')]))
                    """
                ).items ?? []
            #expect(links.count > 20)
            for link in links {
                let (count, address) = (link.items?[0].string ?? "", link.items?[1].string ?? "")
                try await browser.evaluate("location.hash = '\(address)'")
                let list =
                    address.contains("state=")
                    ? "#device-list .apps li" : address.hasPrefix("#/devices") ? "#device-list > li" : "#feed-rows li"
                let (lead, word) = address.hasPrefix("#/devices") ? ("#device-lead", "device") : ("#feed-lead", "event")
                let isRead =
                    "document.querySelector('\(lead)').textContent.includes('\(word)') || "
                    + "!document.querySelector('#device-empty').hidden"
                try await browser.until("(\(isRead)) && document.querySelectorAll('\(list)').length === \(count)")
            }
        }
    }

    @Test func `events are filtered by service, text and label`() async throws {
        let services =
            "[...new Set([...document.querySelectorAll('#feed-rows .badge')].map(each => each.textContent))].join()"
        try await onPage("#/feed") { fixture, browser in
            try await browser.until("document.querySelector('#feed-state').textContent === 'live'")
            try await browser.until("\(services).includes('transfer')")
            try await choose("push", in: "#feed-filters [name=service]", browser)
            try await browser.until("\(services) === 'push'")
            try await browser.until("document.querySelector('#feed-state').textContent === 'live'")
            try await fixture.append("fetch.refresh.due", to: "d3")
            try await fixture.append("push.notification.received", to: "d3")
            try await browser.until(
                "document.querySelector('#feed-rows .type').textContent === 'notification.received'")
            #expect(try await browser.evaluate(services).string == "push")
            try await browser.evaluate("location.hash = '#/feed?text=LOWPOWER'")
            try await rows("#feed-rows li", 3, browser)
            try await browser.evaluate("location.hash = '#/feed?type=lifecycle.app.woken&label=fetch'")
            try await rows("#feed-rows li", 2, browser)
            try await browser.evaluate("location.hash = '#/feed?type=lifecycle.app.wokn'")
            try await browser.until("document.querySelector('#feed-filters .fault').textContent.includes('type')")
        }
    }

    @Test func `devices are found by name, state and power`() async throws {
        try await onPage("#/devices") { fixture, browser in
            try await rows("#device-list > li", 4, browser)
            #expect(try await browser.texts("#device-list > li > a") == ["d1", "d2", "d3", "other"])
            try await browser.write("d", into: "#search [name=prefix]")
            try await rows("#device-list > li", 3, browser)
            try await browser.write("/", into: "#search [name=prefix]")
            try await browser.until("document.querySelector('#search .fault').textContent.includes('letters')")
            try await browser.evaluate("location.hash = '#/devices?state=active'")
            try await rows("#device-list > li", 1, browser)
            #expect(try await browser.texts("#device-list .apps li") == ["mailactive"])
            try await browser.evaluate("location.hash = '#/devices?power=off'")
            try await browser.until("!document.querySelector('#device-empty').hidden")
        }
    }

    @Test func `why has an address of its own and closes with a navigation`() async throws {
        try await onPage { fixture, browser in
            let event = try await fixture.append("push.notification.received", to: "d3").uuidString.lowercased()
            try await browser.evaluate("location.hash = '#/devices/d1?why=\(event)'")
            try await browser.until("document.querySelector('#why-chain .asked')")
            try await browser.press("#why-chain summary")
            let json = try #require(try await browser.text("#why-chain pre"))
            #expect(try JSON(parsing: Array(json.utf8))["id"]?.string == event)
            try await browser.press("#why-chain a[href='#/devices/d3']")
            try await browser.until("document.querySelector('#device-name').textContent === 'd3'")
            #expect(try await browser.evaluate("document.querySelector('#why').open") == false)
        }
    }

    @Test func `the timeline groups the steps of a push and hides echoes`() async throws {
        try await onPage { fixture, browser in
            try await push(fixture)
            try await PushStory(fixture).append("fetch.app.updated", to: "phone", at: 5, "{}", app: "mail")
            try await browser.evaluate("location.hash = '#/devices/phone'")
            // Four pushes, the registration and the disconnection.
            try await rows("#timeline > .entry", 6, browser)
            let steps = try await browser.texts("#timeline summary")
            #expect(steps.sorted() == ["2", "2", "2", "3"].map { "\($0) steps of this push" })
            #expect(try await browser.texts("#timeline .day").count == 1)
            #expect(try await browser.evaluate("document.querySelectorAll('#lanes .mark').length").int == 6)
            try await browser.press("#timeline-hidden a")
            try await rows("#timeline > .entry", 7, browser)
            try await browser.evaluate("location.hash = '#/devices/phone?service=push'")
            try await rows("#timeline > .entry", 5, browser)
        }
    }

    @Test func `a dead letter is replayed only after a confirmation`() async throws {
        try await onPage(key: OpsFixture.operateKey) { fixture, browser in
            try await fixture.sql(
                "INSERT INTO bus.dead_letters (partition, consumer, key, log_offset, due, reason) "
                    + "VALUES (0, 'push', 'device:d1', 1, NULL, 'bad input'), (0, 'push', 'device:d1', 2, NULL, NULL)")
            try await browser.evaluate("location.hash = '#/services'")
            try await rows("#letter-rows tr", 1, browser)
            #expect(try await browser.texts("#consumer-rows th").isEmpty == false)
            #expect(try await browser.texts("#letter-rows td").contains("bad input; 1 input waits behind it"))
            #expect(try await browser.text("#letters-lead")?.hasPrefix("1 device is parked.") == true)
            try await browser.press("#letter-rows button")
            #expect(try await browser.evaluate("document.querySelector('#confirm').open") == true)
            // This `ops` knows no address of `push`.
            try await browser.press("#confirm-do")
            try await browser.until("document.querySelector('#confirm-fault').textContent !== ''")
            try await browser.press("#confirm-cancel")
            #expect(try await browser.evaluate("document.querySelector('#confirm').open") == false)
            #expect(try await fixture.get("/v1/dead-letters").items.count == 2)
            // A key that may only read is offered no orders.
            let address = "http://127.0.0.1:\(fixture.port)/"
            try await browser.open(address + "icon.svg", key: nil)
            try await browser.open(address + "#/services", key: OpsFixture.readKey)
            try await rows("#letter-rows tr", 1, browser)
            #expect(try await browser.evaluate("document.querySelector('#letters-orders').hidden") == true)
            #expect(try await browser.evaluate("document.querySelectorAll('#letter-rows button').length").int == 0)
            #expect(try await browser.text("#letters-lead")?.contains("A key with the scope operate can") == true)
        }
    }

    private static let parts = [
        "#/", "#/pushes", "#/devices", "#/transfers", "#/feed", "#/services", "#/reports", "#/audit", "#/devices/d1",
    ]

    @Test(arguments: parts)
    func `a page fits a phone, has names and contrast`(part: String) async throws {
        try await onPage("", width: 390) { _, browser in
            try await browser.until("document.querySelectorAll('#feed-rows li').length > 30")
            try await browser.evaluate("location.hash = '\(part)'")
            let view = part == "#/devices/d1" ? "device" : part == "#/" ? "overview" : String(part.dropFirst(2))
            try await browser.until("!document.querySelector('[data-view=\(view)]').hidden")
            if ["#/", "#/feed", "#/devices/d1"].contains(part) {
                let why = "[...document.querySelectorAll('.why')].find(each => each.checkVisibility())"
                try await browser.until(why)
                try await browser.evaluate("\(why).click()")
                try await browser.until("document.querySelectorAll('#why-chain li').length > 0")
                #expect(try await browser.overhang() == 0)
                try await browser.press("#why-close")
            }
            for scheme in ["light", "dark"] {
                try await browser.prefer(scheme)
                #expect(try await browser.pale() == [], "\(part) \(scheme)")
            }
            #expect(try await browser.nameless() == [], "\(part)")
            #expect(try await browser.overhang() == 0)
        }
    }
}
