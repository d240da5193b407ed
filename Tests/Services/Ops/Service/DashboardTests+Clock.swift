import Contracts
import EventLog
import Foundation
import Machines
import Records
import Runtime
import TestSupport
import Testing
import Timeline

@testable import OpsService

/// The suite clock on the page, and the windows of the charts.
extension DashboardTests {
    private func onVirtualPage(
        key: String,
        _ body: @Sendable @escaping (OpsFixture, Browser, DurableRuntime<Counter>) async throws -> Void
    ) async throws {
        try await OpsFixture.run(virtual: true) { fixture in
            try await Self.live(fixture)
            // A service reads the log, so an advance can settle.
            try await fixture.running { runtime in
                try await Browser.run { browser in
                    try await browser.open("http://127.0.0.1:\(fixture.port)/", key: key)
                    try await browser.until("document.querySelector('#clock-mode').textContent.startsWith('virtual')")
                    try await body(fixture, browser, runtime)
                    let complaints = await browser.complaints
                    #expect(complaints == [])
                }
            }
        }
    }

    @Test func `an operator freezes, speeds up and advances the clock on the page`() async throws {
        try await onVirtualPage(key: OpsFixture.operateKey) { fixture, browser, _ in
            try await browser.press("#clock-controls summary")
            try await browser.press("#clock-freeze")
            try await browser.until("document.querySelector('#clock-mode').textContent === 'virtual, frozen'")
            let before = try #require(try await fixture.get("/v1/clock").json["now"]?.string.flatMap { Instant($0) })
            try await browser.press("#clock-advance-form button")
            try await browser.until("document.querySelector('#clock-state').textContent.includes('has settled')")
            let after = try #require(try await fixture.get("/v1/clock").json["now"]?.string.flatMap { Instant($0) })
            #expect(after - before == .minutes(10))
            // A mark shows where the clock was advanced to.
            try await browser.until("document.querySelectorAll('#rate .jump').length === 1")
            // The number stays while the page writes the time, even if the field has lost the focus.
            let shown = try await browser.text("#clock-now")
            try await browser.evaluate("document.querySelector('#clock-rate').value = 60")
            try await browser.press("#clock-freeze")
            try await browser.until("document.querySelector('#clock-now').textContent !== '\(shown ?? "")'")
            try await browser.press("#clock-rate-form button")
            try await browser.until("document.querySelector('#clock-mode').textContent === 'virtual, 60×'")
            #expect(try await fixture.get("/v1/clock").json["rate"] == 60)
        }
    }

    @Test func `a step names the device that does not answer`() async throws {
        try await onVirtualPage(key: OpsFixture.operateKey) { fixture, browser, runtime in
            try await browser.press("#clock-controls summary")
            try await browser.press("#clock-freeze")
            try await browser.until("document.querySelector('#clock-mode').textContent === 'virtual, frozen'")
            let before = try #require(try await fixture.get("/v1/clock").json["now"]?.string.flatMap { Instant($0) })
            _ = try await runtime.submit(
                Submission<Counter>(
                    key: .device("bell"), command: .ring(after: .seconds(120)), origin: Origin(id: UUID())
                ) { _, _ in [] })
            // The device is connected, was woken and never completes the wake.
            try await fixture.wake("d3", at: before)
            try await fixture.connect(.device(.device("d3")))
            try await browser.press("#clock-step")
            try await browser.until("document.querySelector('#clock-state').textContent.includes('has settled')")
            #expect(
                try await browser.text("#clock-state")?.hasSuffix(" 1 device did not answer in time: d3") == true)
            let after = try #require(try await fixture.get("/v1/clock").json["now"]?.string.flatMap { Instant($0) })
            #expect(after - before == .seconds(120))
            try await browser.press("#clock-state a")
            try await browser.until("document.querySelector('#device-name').textContent === 'd3'")
        }
    }

    @Test func `a key that may only read is offered no control of the clock`() async throws {
        try await onVirtualPage(key: OpsFixture.readKey) { _, browser, _ in
            try await browser.until("document.querySelector('#devices-count').textContent === '4'")
            #expect(try await browser.evaluate("document.querySelector('#clock-controls').hidden") == true)
        }
    }

    @Test func `a window shows the run, a drag zooms in and Back zooms out`() async throws {
        // The first event makes the run longer than one point.
        let first = ForeignEvent(to: "d1", at: RealClock().now - .minutes(5))
        try await onPage(after: first) { fixture, browser in
            try await browser.until("document.querySelectorAll('#rate rect').length > 0")
            try await browser.evaluate(
                "{ const window = document.querySelector('#window'); window.value = 'run'; "
                    + "window.dispatchEvent(new Event('change')) }")
            try await browser.until("location.hash === '#/?window=run'")
            try await eventually(describe: "the number of events") {
                let events = try await fixture.get("/v1/events?limit=1000").items.count
                return try await browser.text("#events-count") == "\(events)"
            }
            try await browser.until("document.querySelector('#events-caption').textContent === 'events in this run'")
            try await browser.evaluate(
                """
                {
                  const chart = document.querySelector('#pushes')
                  const { left, top, width } = chart.getBoundingClientRect()
                  const at = (type, share) => chart.dispatchEvent(new PointerEvent(
                    type, { clientX: left + share * width, clientY: top + 20, button: 0, pointerType: 'touch', bubbles: true }))
                  at('pointerdown', 0.1)
                  at('pointerup', 0.95)
                }
                """)
            try await browser.until("location.hash.includes('since=')")
            try await browser.until("!document.querySelector('#zoom').hidden")
            try await browser.evaluate("history.back()")
            try await browser.until("document.querySelector('#zoom').hidden")
        }
    }
}
