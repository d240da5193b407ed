import NIOHTTP1
import Records
import TestSupport
import Testing

/// The page of a device while a service is away.
@Suite(
    "The page of a device over the whole suite", .tags(.database, .processes, .browser), .timeLimit(.minutes(10)),
    .enabled(if: Browser.isInstalled, "apt-get install chromium"))
struct DevicePageTests {
    @Test func `a service that is away is named on the page until it answers again`() async throws {
        let suite = try await RunningSuite.start([.lifecycle, .fetch, .push, .ops])
        let device = "/v1/devices/phone"
        try await suite.call(.PUT, .lifecycle, device, ["profile": "ios15"])
        try await suite.call(.PUT, .lifecycle, device + "/apps/news", [:])
        try await Browser.run { browser in
            let outlook = "document.querySelector('#outlook').textContent"
            try await browser.open(suite.address(.ops) + "/#/devices/phone", key: RunningSuite.readersKey)
            try await browser.until("\(outlook).includes('Silent pushes left now')")
            try await suite.kill(.push)
            // The page asks at each event of the device.
            try await suite.call(.PUT, .lifecycle, device + "/apps/mail", [:])
            try await browser.until("\(outlook).includes('push: does not answer')")
            #expect(try await browser.evaluate("document.querySelector('#switcher-panel').hidden") == false)
            try await suite.launch(.push)
            // Nothing happens to the device, and the page recovers by itself.
            try await browser.until(
                "!\(outlook).includes('does not answer') && \(outlook).includes('Silent pushes left now')")
        }
        for (service, end) in try await suite.stop() { #expect(end == .exited(0), "\(service)") }
        try await suite.cluster.destroy()
    }
}
