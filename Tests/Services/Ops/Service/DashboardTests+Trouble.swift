import Records
import ServiceKit
import TestSupport
import Testing

@testable import OpsService

/// The page without a key, without a database and without its service.
extension DashboardTests {
    @Test func `the page asks for a key and never puts it into an address`() async throws {
        try await OpsFixture.run { fixture in
            try await Browser.run { browser in
                try await browser.open("http://127.0.0.1:\(fixture.port)/", key: nil)
                try await browser.until("!document.querySelector('#door').hidden")
                for (key, words) in [("wrong", "does not know"), (OpsFixture.otherKey, "scope read")] {
                    try await browser.write(key, into: "#key")
                    try await browser.press("#key-form button")
                    try await browser.until("document.querySelector('#key-fault').textContent.includes('\(words)')")
                }
                try await browser.write(OpsFixture.readKey, into: "#key")
                try await browser.press("#key-form button")
                try await browser.until("document.querySelector('#devices-count').textContent === '0'")
                let addresses = "location.href + performance.getEntriesByType('resource').map(each => each.name)"
                #expect(try await browser.evaluate(addresses).string?.contains(OpsFixture.readKey) == false)
                try await browser.press("#forget")
                #expect(try await browser.evaluate("sessionStorage.length").int == 0)
                #expect(try await browser.evaluate("document.querySelector('#overview').hidden") == true)
                let complaints = await browser.complaints
                #expect(complaints == [])
            }
        }
    }

    @Test func `a database failure is shown until it is over`() async throws {
        let shown = "document.querySelector('#health').hidden ? '' : document.querySelector('#health').textContent"
        try await onPage { fixture, browser in
            try await browser.until("document.querySelector('#devices-count').textContent === '4'")
            #expect(try await browser.evaluate(shown) == "")
            fixture.database.fault = "PostgreSQL fails statements with SQLSTATE 58P01"
            await fixture.readiness.judge()
            try await browser.until(
                "(\(shown)).startsWith('The database fails: PostgreSQL fails statements with SQLSTATE 58P01. ')")
            #expect(try await browser.pale() == [])
            fixture.database.fault = nil
            await fixture.readiness.judge()
            try await browser.until("(\(shown)) === ''")
        }
    }

    @Test func `the page reports an unreachable service and recovers when it returns`() async throws {
        try await OpsFixture.run { fixture in
            try await Self.live(fixture)
            let proxy = try await TCPProxy.start(port: fixture.port)
            try await Browser.run { browser in
                try await browser.open("http://127.0.0.1:\(proxy.port)/", key: OpsFixture.readKey)
                try await browser.until("document.querySelector('#feed-state').textContent === 'live'")
                try await browser.until("document.querySelector('#devices-count').textContent === '4'")
                proxy.refuse(true)
                try await proxy.cutAll()
                try await browser.until(
                    "document.querySelector('#trouble').textContent.startsWith('ops does not answer; retrying.')")
                // The old numbers stay.
                #expect(try await browser.text("#devices-count") == "4")
                try await fixture.append("fetch.refresh.due", to: "d3")
                proxy.refuse(false)
                try await browser.until("document.querySelector('#trouble').hidden")
                try await browser.until("document.querySelector('#feed-rows .type')?.textContent === 'refresh.due'")
                let complaints = await browser.complaints
                #expect(complaints == [])
            }
            try await proxy.stop()
        }
    }

    /// Each kept page would hold the connection of its feed, and a browser opens six for a host.
    @Test func `a page that the browser keeps for its back button holds no connection`() async throws {
        let isRead = "document.querySelector('#devices-count')?.textContent === '4'"
        try await onPage { fixture, browser in
            let page = "http://127.0.0.1:\(fixture.port)/"
            for _ in 0..<8 {
                try await browser.until(isRead)
                try await browser.until("document.querySelector('#feed-state').textContent === 'live'")
                try await browser.open(page + "icon.svg", key: nil)
                try await browser.open(page, key: nil)
            }
            try await browser.until(isRead)
            // The window of this page is kept with its place and its focus.
            try await browser.evaluate(
                "window.isKept = true; document.querySelector('#window').focus(); scrollTo(0, 40)")
            let place = try await browser.evaluate("scrollY")
            try await browser.open(page + "icon.svg", key: nil)
            try await browser.evaluate("history.back()")
            try await browser.until("window.isKept && document.querySelector('#feed-state')?.textContent === 'live'")
            #expect(try await browser.evaluate("scrollY") == place)
            #expect(try await browser.evaluate("document.activeElement.id").string == "window")
            try await fixture.append("fetch.refresh.due", to: "d3")
            try await browser.until("document.querySelector('#feed-rows .type')?.textContent === 'refresh.due'")
        }
    }
}
