import AsyncHTTPClient
import Foundation
import Postgres
import Records
import TestSupport
import Timeline

/// Measures the dashboard in headless Chromium over a large log: the time until the numbers are there, each filter, and
/// what an open page costs `ops`.
struct DashboardLoad {
    let events: Int
    let devices: Int
    /// The seconds of each measurement of an open page.
    let seconds: Int
    /// The events a second while the feed is open.
    private let rate = 2000
    /// The number of queries of each kind.
    private let questions = 100

    func run() async throws {
        guard Browser.isInstalled else {
            throw ToolFailed(description: "chromium is not installed: apt-get install chromium")
        }
        Report.heading("The dashboard over \(devices) devices and \(events) events")
        let log = try await FilledLog.make(
            events: events, crowd: FilledLog.Crowd(devices: devices, isRegistered: true))
        try await log.waitForCounts()
        try await log.checkCounts()
        _ = try await log.pool.execute(Query(Statement("VACUUM ANALYZE")))
        let http = HTTPClient()
        for filter in Filter.allCases {
            let took = try await log.times(http, questions) { filter.path(&$0, devices) }
            Report.figure("\(filter.rawValue), p50", median(took), "ms")
            Report.bound("\(filter.rawValue), p95", took[took.count * 95 / 100], "ms", limit: 300)
        }
        try await http.shutdown()
        try await Browser.run { try await measure($0, log) }
        try await log.stop()
    }

    /// The queries of the pages with one filter each.
    private enum Filter: String, CaseIterable {
        case overview = "overview, an hour"
        case overviewOfFleet = "overview of a fleet, four days"
        case devices = "devices"
        case devicesByName = "devices by name"
        case devicesOfFleet = "devices by fleet"
        case devicesByProfile = "devices by system"
        case devicesByState = "devices by app state"
        case devicesOff = "devices that are off"
        case pushes = "pushes"
        case pushesOfFleet = "pushes by fleet"
        case pushesOfApp = "pushes by app"
        case pushesOfDevice = "pushes by device"
        case pushesByType = "pushes by type"
        case latePushes = "late pushes"
        case lostPushes = "pushes that never arrive"
        case pushesByTime = "pushes of an hour"
        case events = "events"
        case eventsOfFleet = "events by fleet"
        case eventsOfApp = "events by app"
        case eventsByType = "events by type"
        case timeline = "a device's timeline"

        func path(_ random: inout SplitMix64, _ devices: Int) -> String {
            let device = "device-\(Int.random(in: 0..<devices, using: &random))"
            let fleet = "fleet-\(Int.random(in: 0..<10, using: &random))"
            let app = "com.example.app\(Int.random(in: 0..<3, using: &random))"
            let age = Int64.random(in: 1...(Int64(FilledLog.days) - 1) * 86_400_000, using: &random)
            let now = RealClock().now
            let since = now - .milliseconds(age)
            return switch self {
            case .overview: "/v1/stats?interval=60&since=\(now - .minutes(60))&until=\(now)"
            case .overviewOfFleet:
                "/v1/stats?interval=3600&fleet=\(fleet)&since=\(now - .days(Int64(FilledLog.days)))&until=\(now)"
            case .devices: "/v1/devices?limit=50"
            case .devicesByName: "/v1/devices?limit=50&prefix=\(device.dropLast())"
            case .devicesOfFleet: "/v1/devices?limit=50&fleet=\(fleet)"
            case .devicesByProfile: "/v1/devices?limit=50&profile=ios\(Int.random(in: 12...18, using: &random))"
            case .devicesByState: "/v1/devices?limit=50&state=background"
            case .devicesOff: "/v1/devices?limit=50&power=off"
            case .pushes: "/v1/pushes?limit=100"
            case .pushesOfFleet: "/v1/pushes?limit=100&fleet=\(fleet)"
            case .pushesOfApp: "/v1/pushes?limit=100&app=\(app)"
            case .pushesOfDevice: "/v1/pushes?limit=100&device=\(device)"
            case .pushesByType: "/v1/pushes?limit=100&type=silent"
            case .latePushes: "/v1/pushes?limit=100&verdict=late"
            case .lostPushes: "/v1/pushes?limit=100&verdict=never"
            case .pushesByTime: "/v1/pushes?limit=100&from=\(since)&to=\(since + .minutes(60))"
            case .events: "/v1/events?limit=100"
            case .eventsOfFleet: "/v1/events?limit=100&fleet=\(fleet)"
            case .eventsOfApp: "/v1/events?limit=100&app=\(app)"
            case .eventsByType: "/v1/events?limit=100&type=transfer.task.completed"
            case .timeline: "/v1/devices/\(device)/timeline?limit=100"
            }
        }
    }

    // MARK: In the browser

    /// Each page: its name, address and view, and the element whose first content ends the measurement.
    private static let pages = [
        ("overview", "#/", "overview", "#devices-count"), ("pushes", "#/pushes", "pushes", "#pushes-rows tr"),
        ("devices", "#/devices", "devices", "#device-list > *"), ("events", "#/feed", "feed", "#feed-rows li"),
    ]

    private func measure(_ browser: Browser, _ log: FilledLog) async throws {
        try await browser.call(
            "Page.addScriptToEvaluateOnNewDocument",
            [
                "source": .string(
                    """
                    const wanted = {\(Self.pages.map { "'\($0.1)': '\($0.3)'" }.joined(separator: ", "))}
                    const look = () => {
                      const found = document.querySelector(wanted[location.hash])
                      if (found && /[0-9a-z]/.test(found.textContent)) window.contentAt = performance.now()
                      else requestAnimationFrame(look)
                    }
                    if (wanted[location.hash]) requestAnimationFrame(look)
                    """)
            ])
        for (name, part, view, _) in Self.pages {
            var took: [Double] = []
            for _ in 0..<6 {
                try await browser.open("about:blank", key: nil)
                try await browser.open(log.address + "/" + part, key: nil)
                try await browser.until("window.contentAt", within: 30)
                // An unknown address shows the overview.
                try await browser.until("!document.querySelector('[data-view=\(view)]').hidden")
                took.append(try await browser.evaluate("window.contentAt").double ?? .nan)
            }
            // The first load fills caches.
            Report.bound("first content of \(name), p50", median(Array(took.dropFirst())), "ms", limit: 500)
        }
        try await browser.open(log.address + "/#/", key: nil)
        try await browser.until("window.contentAt")
        let idle = try await share(of: log) { try await Task.sleep(for: .seconds(seconds)) }
        Report.bound("ops with an open overview, idle log", idle, "% of a core", limit: 1)
        try await feed(browser, log)
    }

    /// Appends events for some seconds, first without a reader, then with an open feed.
    private func feed(_ browser: Browser, _ log: FilledLog) async throws {
        try await browser.open("about:blank", key: nil)
        let alone = try await share(of: log) { try await append(log) }
        Report.figure("ops at \(rate) events/s, no page open", alone, "% of a core")
        try await browser.open(log.address + "/#/feed?echoes=shown", key: nil)
        try await browser.until("!document.querySelector('[data-view=feed]').hidden")
        try await browser.until("document.querySelector('#feed-state').textContent === 'live'")
        async let gaps = browser.evaluate(
            """
            new Promise(done => {
              const gaps = [], begin = performance.now()
              let last = begin
              const tick = now => {
                gaps.push(now - last)
                last = now
                if (now - begin < \(seconds * 1000)) requestAnimationFrame(tick)
                else done(gaps.sort((one, other) => one - other))
              }
              requestAnimationFrame(tick)
            })
            """)
        let open = try await share(of: log) { try await append(log) }
        let frames = try await gaps.items?.compactMap(\.double) ?? []
        Report.bound("the feed adds", open - alone, "% of a core", limit: 10)
        Report.bound(
            "time between frames of the feed, p95", frames.isEmpty ? .nan : frames[frames.count * 95 / 100], "ms",
            limit: 50)
        Report.line("  … the page says: \(try await browser.text("#feed-lead") ?? "nothing")")
    }

    /// - Returns: the processor time of `ops` during a body, in percent of a core.
    private func share(of log: FilledLog, _ body: () async throws -> Void) async throws -> Double {
        func used() -> Double { ProcessUsage.of(log.ops.pid)?.processorSeconds ?? .nan }
        let (begun, before) = (ContinuousClock.now, used())
        try await body()
        return (used() - before) / (begun.duration(to: .now) / .seconds(1)) * 100
    }

    /// Appends events at the rate for some seconds, in batches of 20 ms, and wakes the readers as a service does.
    private func append(_ log: FilledLog) async throws {
        let append = Statement(
            """
            WITH moved AS (
                UPDATE bus.partitions SET head = head + $2, day = greatest(day, current_date)
                WHERE partition = $1 RETURNING head)
            INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, app, time, correlationid, data)
            SELECT $1, head - $2 + n, current_date, gen_random_uuid(), 'lifecycle', 'lifecycle.app.woken', 1, 'device:device-1',
                'com.example.app0', (extract(epoch FROM clock_timestamp()) * 1000)::int8, gen_random_uuid(), '{"reason":"push"}'
            FROM moved, generate_series(1, $2::int8) AS n
            """)
        let notify = Statement("SELECT pg_notify('dormouse', $1)")
        let (begun, interval) = (ContinuousClock.now, Duration.milliseconds(20))
        for number in 0..<seconds * 50 {
            let partition = number % FilledLog.partitions
            _ = try await log.pool.execute([
                Query(append, [.int4(Int32(partition)), .int(rate / 50)]),
                Query(notify, [.text("\(UUID().uuidString):\(partition):lifecycle.app.woken")]),
            ])
            try await Task.sleep(until: begun + interval * (number + 1))
        }
    }
}
