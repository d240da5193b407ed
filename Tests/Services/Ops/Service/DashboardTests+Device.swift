import Records
import TestSupport
import Testing

@testable import OpsService

/// The page of a device: its transfers, and a device that comes and goes.
extension DashboardTests {
    /// Appends one transfer that moves, one that waits, one that failed, and one of another device.
    private func transfer(_ fixture: OpsFixture) async throws {
        func tell(_ type: String, _ task: Int, _ more: String, device: String = "d3") async throws {
            try await fixture.append(
                "transfer." + type, to: device, app: "mail", data: #"{"session":"s","task":\#(task)\#(more)}"#)
        }
        for task in 1...3 {
            try await tell(
                "task.created", task, #","kind":"download","request":{"url":"https://files.example/\#(task).zip"}"#)
        }
        try await tell("attempt.started", 1, "")
        try await tell("progress.made", 1, #","totalBytesWritten":1500000,"totalBytesExpectedToWrite":6000000"#)
        try await tell("task.held", 2, #","waiting":"waitingForWiFi""#)
        try await tell("task.completed", 3, #","bytesReceived":0,"error":{"code":-1001}"#)
        try await tell("task.completed", 4, #","bytesReceived":5"#, device: "d1")
    }

    @Test func `a device page shows its transfers, and their number leads to as many rows`() async throws {
        try await onPage("#/devices/d3") { fixture, browser in
            try await browser.until("document.querySelector('#device-tasks-panel').dataset.of === 'd3'")
            #expect(try await browser.evaluate("document.querySelector('#device-tasks-panel').hidden") == true)
            try await transfer(fixture)
            // They appear without a reload.
            try await rows("#device-tasks > li", 3, browser)
            let states =
                "[...document.querySelectorAll('#device-tasks > li > span')].map(each => each.textContent).join()"
            try await browser.until(
                "\(states) === 'receiving · 1.5\u{A0}MB of 6\u{A0}MB,failed: timed out,waiting for Wi-Fi'")
            #expect(
                try await browser.texts("#device-tasks .file")
                    == [1, 3, 2].map { "download of https://files.example/\($0).zip" })
            // The rows are the tasks that the events of the API are about.
            let events = try await fixture.get("/v1/events?device=d3&service=transfer&limit=1000").items
            #expect(Set(events.compactMap { $0["data"]?["task"]?.int }).count == 3)
            #expect(try await browser.text("#device-tasks-count") == "3")
            #expect(try await browser.pale() == [])
            #expect(try await browser.nameless() == [])
            try await browser.press("#device-tasks-count")
            try await browser.until("location.hash === '#/transfers?device=d3'")
            try await rows("#transfer-rows > li", 3, browser)
            // Another device has its own transfers, and one without transfers has no panel.
            try await browser.evaluate("location.hash = '#/devices/d1'")
            try await rows("#device-tasks > li", 1, browser)
            try await browser.evaluate("location.hash = '#/devices/other'")
            try await browser.until("document.querySelector('#device-name').textContent === 'other'")
            try await browser.until("document.querySelector('#device-tasks-panel').dataset.of === 'other'")
            #expect(try await browser.evaluate("document.querySelector('#device-tasks-panel').hidden") == true)
        }
    }

    @Test func `an unknown device is named as such until it is registered`() async throws {
        let notice = "document.querySelector('#device-gone')"
        try await onPage("#/devices/ghost") { fixture, browser in
            try await browser.until("!\(notice).hidden && \(notice).textContent.includes('never registered')")
            #expect(try await browser.evaluate("document.querySelector('#switcher-panel').hidden") == true)
            // That is no trouble: the page waits for its events.
            try await browser.until("document.querySelector('#device-tasks-panel').dataset.of === 'ghost'")
            #expect(try await browser.text("#timeline-state") == "live")
            #expect(try await browser.evaluate("document.querySelector('#trouble').hidden") == true)
            try await PushStory(fixture).register("ghost", fleet: "lab")
            try await browser.until("\(notice).hidden && !document.querySelector('#switcher-panel').hidden")
            try await fixture.append("lifecycle.device.deregistered", to: "ghost")
            try await browser.until("!\(notice).hidden && document.querySelector('#switcher-panel').hidden")
        }
    }

    @Test func `a cut stream of a device page says so and continues`() async throws {
        let state = "document.querySelector('#timeline-state').textContent"
        try await OpsFixture.run { fixture in
            try await Self.live(fixture)
            let proxy = try await TCPProxy.start(port: fixture.port)
            try await Browser.run { browser in
                try await browser.open("http://127.0.0.1:\(proxy.port)/#/devices/d3", key: OpsFixture.readKey)
                try await browser.until("\(state) === 'live'")
                proxy.refuse(true)
                try await proxy.cutAll()
                try await browser.until("\(state) === 'connection lost; retrying'")
                try await transfer(fixture)
                proxy.refuse(false)
                try await browser.until("\(state) === 'live'")
                try await rows("#device-tasks > li", 3, browser)
                let complaints = await browser.complaints
                #expect(complaints == [])
            }
            try await proxy.stop()
        }
    }
}
