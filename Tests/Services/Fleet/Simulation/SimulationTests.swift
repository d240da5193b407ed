import Foundation
import Records
import Reports
import Scenarios
import Simulation
import Testing
import Timeline

/// Scenarios in this process.
@Suite struct SimulationTests {
    /// Twelve devices of three generations on a day with faults, wakes, refreshes and transfers.
    private static let busyDay = """
        {
          "name": "busy day", "for": "1d",
          "devices": {"count": 12, "mix": {"ios26": 50, "ios18": 30, "ios12": 20}, "timeZone": "Europe/Berlin"},
          "people": [
            {"share": 70, "habits": {"opens": ["07:30±20m", "12:00±1h", "18:00±1h"]}, "notifications": {"opened": "30%"}},
            {"share": 20, "lowPowerMode": "from 16:00", "habits": {"opens": ["10 times 08:00-22:00"]}},
            {"share": 10, "forceQuits": "after each use", "habits": {"opens": ["08:00±30m", "20:00±30m"]}}
          ],
          "apps": [
            {"id": "news", "backgroundModes": ["fetch", "remote-notification"],
             "handler": {"takes": "4s±2s", "result": {"newData": 60, "noData": 30, "failed": 5, "neverReturns": 5}},
             "transfers": [{"size": "50MB", "failures": "20%"}]},
            {"id": "mail", "backgroundModes": ["fetch", "processing"], "permittedTaskIdentifiers": ["refresh", "index"],
             "handlersReturn": "reported", "transfers": [{"kind": "upload", "size": "2MB"}]}
          ],
          "provider": [
            {"at": "00:10", "send": "silent", "every": "40m"},
            {"at": "06:00", "send": "alert", "every": "90m", "expiration": "1h", "collapseID": "headline"},
            {"at": "06:30", "app": "mail", "send": "alertWithContent", "every": "3h"}
          ],
          "faults": [
            {"at": "09:00", "for": "10m", "reboot": true, "to": "30%"},
            {"at": "10:00", "for": "20m", "lostRadio": true},
            {"at": "11:00", "for": "30m", "memoryPressure": "critical"},
            {"at": "12:00", "crash": "news"},
            {"at": "13:00", "for": "2h", "latePushes": "2m±1m"},
            {"at": "15:00", "for": "2h", "doubledPushes": "50%"},
            {"at": "17:00", "for": "2h", "neverReturns": "news"}
          ]
        }
        """

    private func run(_ text: String, threads: Int = 1, checks: Bool = false) async throws -> SimulationReport {
        try await SimulationRun(Scenario(jsonBytes: Array(text.utf8)), threads: threads, checks: checks).run()
    }

    @Test func `the log is the same for every number of threads and in every run`() async throws {
        let first = try await run(Self.busyDay, threads: 1)
        #expect(first.isComplete)
        #expect(first.events > 12 * 50)
        for threads in [1, 2, 5] {
            let next = try await run(Self.busyDay, threads: threads)
            #expect(next.digest == first.digest, "\(threads) threads")
            #expect(next.document.jsonBytes == first.document.jsonBytes)
        }
    }

    /// A change of a rule changes the hash. Another machine, build or run does not. Changes of the hash that no change
    /// of a rule explains are faults: for example the order of a dictionary.
    @Test func `the log of a seed is the same on every machine`() async throws {
        let report = try await run(Self.busyDay, threads: 2)
        #expect(report.digest == "e104c16c697614280bdc2b0563bed985df0c795bcd6008a4e58762a9091c871f")
    }

    @Test func `a summary names the seed of a failure`() async throws {
        let expectation = #""expect": [{"what": "alerts shown", "within": "1s", "atLeast": "100%"}]"#
        let failing = Self.busyDay.replacing(#""faults": ["#, with: expectation + #", "faults": ["#)
        let report = try await SimulationRun(Scenario(jsonBytes: Array(failing.utf8)), seed: 42).run()
        #expect(!report.isGood && report.summary.contains("--seed 42 repeats it"))
        #expect(try await !run(Self.busyDay).summary.contains("--seed"))
    }

    @Test func `another seed gives another log`() async throws {
        let scenario = try Scenario(jsonBytes: Array(Self.busyDay.utf8))
        let first = try await SimulationRun(scenario, seed: 1).run()
        let second = try await SimulationRun(scenario, seed: 2).run()
        #expect(first.digest != second.digest)
    }

    /// A simulation writes no text without a file.
    @Test func `a written log has all events, in the order of time, and the hash of the events`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "log-\(UUID()).jsonl")
        #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
        defer { try? FileManager.default.removeItem(at: file) }
        let scenario = try Scenario(jsonBytes: Array(Self.busyDay.utf8))
        let report = try await SimulationRun(scenario, threads: 2).run(log: FileHandle(forWritingTo: file))
        let lines = try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")).map { try JSON(parsing: $0) }
        #expect(lines.count == report.events)
        let times = lines.compactMap { $0["time"]?.string }
        #expect(times.count == lines.count && times == times.sorted())
        #expect(Set(lines.compactMap { $0["id"]?.string }).count == lines.count)
        #expect(try await run(Self.busyDay).digest == report.digest)
    }

    @Test func `a day with faults violates no invariant`() async throws {
        let report = try await run(Self.busyDay, threads: 2, checks: true)
        #expect(report.violations == [])
    }

    @Test func `the checks do not change the log`() async throws {
        let digest = try await run(Self.busyDay).digest
        #expect(try await run(Self.busyDay, checks: true).digest == digest)
    }

    /// The person opens the app once, from 01:00 to 01:02. The first alert finds no token. The silent push wakes the
    /// suspended app at once. The second alert is shown when the device acknowledges it, after 0.2 s. The third comes
    /// while the device has no network, and expires before it has one again.
    @Test func `one device's night has the outcome that the rules give`() async throws {
        let night = """
            {
              "name": "night", "for": "4h", "devices": {"count": 1, "mix": "ios18"},
              "people": [{
                "habits": {"opens": ["01:00"], "stay": "2m"}, "charging": "00:00-06:00",
                "network": {"night": "03:00-03:30 none"}
              }],
              "apps": [{"id": "news", "backgroundModes": ["remote-notification"], "handler": {"takes": "4s"}}],
              "provider": [
                {"at": "00:30", "send": "alert"}, {"at": "02:00", "send": "silent"},
                {"at": "02:10", "send": "alert"}, {"at": "03:10", "send": "alert", "expiration": "5m"}
              ],
              "expect": [
                {"what": "alerts shown", "atLeast": "50%", "within": "1s"},
                {"what": "silent pushes handled", "atLeast": 1, "p99": "0s"},
                {"what": "pushes never arrived", "atMost": 1},
                {"what": "alerts shown", "atLeast": "51%"}
              ]
            }
            """
        let report = try await run(night, checks: true)
        #expect(report.violations == [])
        #expect(report.expectations.map(\.isMet) == [true, true, true, false])
        #expect(!report.isGood)
        #expect(
            report.document.pushesCSV.split(separator: "\r\n") == [
                "app,content,verdict,why,count", "news,alert,in time,,1", "news,alert,never,Discarded – Expired,1",
                "news,alert,not sent,No token,1", "news,silent,in time,,1",
            ])
        let json = try JSON(parsing: report.document.jsonBytes)
        let app = json["apps"]?.items?.first
        #expect(app?["pushes"]?.items?.first?["withoutToken"]?.int == 1)
        #expect(app?["pushes"]?.items?.first?["delaySeconds"]?["p50"]?.double == 0.2)
        #expect(json["openingsByHour"]?.items?[1].int == 1)
    }

    /// A download of 300 MB at 5 MB/s in Wi-Fi takes a minute. The network is lost from 01:00:30 to 01:10:00.
    @Test func `a transfer moves at the rate of the network and continues after an outage`() async throws {
        let train = """
            {
              "name": "train", "for": "3h", "devices": {"count": 1, "mix": "ios18"},
              "people": [{
                "habits": {"opens": ["01:00"], "stay": "20m"}, "charging": "00:00-06:00",
                "network": {"tunnel": "01:00:30-01:10 none"}
              }],
              "apps": [{"id": "films", "transfers": [{"size": "300MB"}]}],
              "expect": [
                {"what": "transfers completed", "atLeast": "100%"}, {"what": "transfers completed", "p50": "12m"}
              ]
            }
            """
        let report = try await run(train, checks: true)
        #expect(report.violations == [])
        #expect(report.isGood, "\(report.summary)")
        let json = try JSON(parsing: report.document.jsonBytes)
        let seconds = try #require(json["apps"]?.items?.first?["transferSeconds"]?["p50"]?.double)
        #expect((630...635).contains(seconds))
        #expect(json["bytes"]?.members?.map(\.name) == ["wifi"])
        #expect(json["bytes"]?["wifi"]?.int == 300_000_000)
    }

    @Test func `a cancelled simulation reports its results so far`() async throws {
        let scenario = try Scenario(jsonBytes: Array(Self.busyDay.utf8))
        let task = Task {
            try await SimulationRun(scenario).run { progress in
                if progress.simulated == .hours(3) { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        let report = try await task.value
        #expect(!report.isComplete)
        #expect(report.endReason == "It was interrupted.")
        #expect(report.until - report.begin == .hours(3))
        #expect(!report.isGood)
    }

    @Test func `a device whose time stands still ends the simulation with a reason`() async throws {
        let scenario = try Scenario(jsonBytes: Array(Self.busyDay.utf8))
        var reports: [SimulationReport] = []
        for threads in [1, 3] {
            // Some device takes two steps at one instant.
            reports.append(try await SimulationRun(scenario, threads: threads, mostStepsAtOnce: 1).run())
        }
        let report = reports[0]
        #expect(!report.isComplete && !report.isGood)
        let reason = try #require(report.endReason)
        let pattern =
            /device-\d{6} cannot go on at [-0-9T:.Z]+: its time stands still, after 1 more steps at this instant\./
        #expect(reason.wholeMatch(of: pattern) != nil, "\(reason)")
        #expect(report.summary.contains(reason) && report.document.endReason == reason)
        #expect(report.until < report.begin + .days(1) && report.events > 0)
        #expect(reports[1].endReason == reason && reports[1].digest == report.digest)
        #expect(try await SimulationRun(scenario).run().endReason == nil)
    }
}
