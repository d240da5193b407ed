import EventLog
import Foundation
import Records
import TestSupport
import Testing

@testable import OpsService

/// The filters of the dashboard that the database evaluates.
extension DashboardTests {
    /// Each request reads 20 events of the log, and the page asks ten times before it waits for the user.
    @Test func `a text is searched in the whole log, step by step`() async throws {
        var limits = SearchLimits()
        (limits.events, limits.patience) = (20, .zero)
        try await onPage(search: limits) { fixture, browser in
            try await fixture.append("push.notification.received", to: "d3", data: #"{"title":"Needle 1"}"#)
            for _ in 0..<210 { try await fixture.append("fetch.refresh.due", to: "d3") }
            try await fixture.append("push.notification.received", to: "d3", data: #"{"title":"Needle 2"}"#)
            try await browser.evaluate("location.hash = '#/feed'")
            try await browser.until("document.querySelector('#feed-state').textContent === 'live'")
            try await browser.write("needle", into: "#feed-filters [name=text]")
            try await browser.until("location.hash === '#/feed?text=needle'")
            try await browser.until("document.querySelector('#feed-earlier').textContent === 'Search further'")
            try await rows("#feed-rows li", 1, browser)
            #expect(try await browser.text("#feed-lead")?.contains("1 event, searched back to ") == true)
            // The stream has the text too.
            try await fixture.append("push.notification.received", to: "d2", data: #"{"title":"NEEDLE 3"}"#)
            try await fixture.append("push.notification.received", to: "d2", data: #"{"title":"thread"}"#)
            try await rows("#feed-rows li", 2, browser)
            try await browser.press("#feed-earlier")
            try await rows("#feed-rows li", 3, browser)
            try await browser.until("document.querySelector('#feed-earlier').hidden")
            #expect(try await browser.text("#feed-lead") == "3 events")
            var found = 0
            var next: String?
            repeat {
                let cursor = next.map { "&cursor=\($0)" } ?? ""
                let page = try await fixture.get("/v1/events?text=needle\(cursor)")
                found += page.items.count
                next = page.json["next"]?.string
            } while next != nil
            #expect(found == 3)
            try await browser.evaluate("history.back()")
            try await rows("#feed-rows li", 100, browser)
            #expect(try await browser.text("#feed-earlier") == "Earlier events")
        }
    }

    @Test func `devices are found by their conditions, and each number leads to as many devices`() async throws {
        try await onPage { fixture, browser in
            for (device, conditions) in [
                ("d1", #"{"locked":true}"#), ("d2", #"{"lowPowerMode":true,"locked":true}"#),
                ("d2", #"{"battery":{"charging":true,"level":0.19}}"#), ("d3", #"{"battery":{"level":0.2}}"#),
            ] {
                try await fixture.append(
                    "lifecycle.conditions.changed", to: device, data: #"{"conditions":\#(conditions)}"#)
            }
            try await fixture.count()
            let links = "[...document.querySelectorAll('#conditions a')]"
            try await browser.until("\(links).length === 4")
            let words = try await browser.texts("#conditions a")
            #expect(words == ["2 locked", "1 in Low Power Mode", "1 charging", "1 with a battery below 20 %"])
            for (index, text) in words.enumerated() {
                try await browser.evaluate("\(links)[\(index)].click()")
                try await browser.until("location.hash.startsWith('#/devices?')")
                try await rows("#device-list > li", Int(text.prefix(1)) ?? 0, browser)
                let query = try #require(try await browser.evaluate("location.hash.split('?')[1]").string)
                #expect(try await fixture.get("/v1/devices?\(query)").items.count == Int(text.prefix(1)))
                try await browser.evaluate("history.back()")
                try await browser.until("!document.querySelector('#overview').hidden")
            }
            try await browser.evaluate("location.hash = '#/devices'")
            try await rows("#device-list > li", 4, browser)
            let facts = try await browser.texts("#device-list .facts-line")
            #expect(facts[1] == "iOS 18 · locked · Low Power Mode · battery 19\u{A0}%, charging")
            #expect(facts[2] == "iOS 18 · battery 20\u{A0}%")
            try await choose("false", in: "#search [name=locked]", browser)
            try await rows("#device-list > li", 2, browser)
            #expect(try await browser.evaluate("location.hash") == "#/devices?locked=false")
            try await browser.evaluate("history.back()")
            try await rows("#device-list > li", 4, browser)
        }
    }

    @Test func `the choice of fleets has the fleets of all pages`() async throws {
        try await onPage { fixture, browser in
            try await browser.until("document.querySelector('#devices-count').textContent === '4'")
            try await fixture.sql(
                """
                INSERT INTO ops.known_devices (partition, key, profile, fleet, registered_at)
                SELECT 0, 'device:member-' || n, 'ios18', 'fleet-' || n, 0 FROM generate_series(1, 1005) AS n
                """)
            try await browser.evaluate("document.querySelector('#fleet').dispatchEvent(new Event('focus'))")
            try await browser.until("document.querySelector('#fleet').options.length === 1006")
        }
    }
}
