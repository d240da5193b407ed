import Foundation
import NIOCore
import NIOHTTP1
import Records
import Scenarios
import TestSupport
import Testing
import Timeline

@testable import Simulation

/// `fleet run --scenario` against the whole suite.
@Suite("A scenario over the whole suite", .tags(.database, .processes), .timeLimit(.minutes(10)))
struct ScenarioRunTests {
    /// A scenario without faults and without random handlers.
    static let alerts = """
        {
          "name": "alerts on a commute", "for": "3h", "devices": {"count": 6, "mix": {"ios26": 60, "ios18": 40}},
          "people": [
            {
              "name": "commuter", "share": 60, "habits": {"opens": ["00:10±5m", "01:40±10m"], "stay": "1m"},
              "network": {"commute": "01:00±5m-01:20 none"}, "notifications": {"opened": "100%", "after": "1m"}
            },
            {"name": "home", "share": 40, "habits": {"opens": ["00:10±5m"], "stay": "2m"}}
          ],
          "apps": [{"id": "com.example.chat", "backgroundModes": ["remote-notification"], "handler": {"takes": "2s"}}],
          "provider": [
            {"at": "00:30", "every": "20m", "until": "02:50", "send": "alert", "over": "5m"},
            {"at": "01:05", "send": "alertWithContent"}
          ]
        }
        """

    static let refreshes = """
        {
          "name": "refreshes and silent pushes", "for": "6h", "devices": {"count": 6, "mix": {"ios26": 50, "ios15": 50}},
          "people": [{"habits": {"opens": ["00:10±9m", "02:00±30m", "04:30±20m"]}, "lowPowerMode": "03:00-04:00"}],
          "apps": [
            {
              "id": "com.example.news", "backgroundModes": ["fetch", "remote-notification"],
              "handler": {"takes": "3s", "bytes": "100kB"}
            }
          ],
          "provider": [{"at": "00:40", "every": "45m", "until": "05:50", "send": "silent"}]
        }
        """

    static let forceQuits = """
        {
          "name": "force quits and slow handlers", "for": "4h", "devices": {"count": 6, "mix": {"ios18": 50, "ios12": 50}},
          "people": [
            {"share": 50, "habits": {"opens": ["00:10±5m", "02:00±15m"]}, "forceQuits": "after each use"},
            {"share": 50, "habits": {"opens": ["00:10±5m"]}, "charging": "00:00-00:05", "battery": {"atStart": "30%"}}
          ],
          "apps": [
            {
              "id": "com.example.scores", "backgroundModes": ["fetch", "remote-notification"],
              "handler": {"takes": "20s±15s", "result": {"newData": 50, "noData": 30, "neverReturns": 20}}
            }
          ],
          "provider": [
            {"at": "00:30", "every": "30m", "until": "03:45", "send": "silent"},
            {"at": "01:00", "every": "1h", "until": "03:00", "send": "alert", "collapseID": "score"}
          ]
        }
        """

    /// Downloads and uploads of two generations: in a tunnel, over LTE, after silent pushes and on Wi-Fi with power only.
    static let transfers = """
        {
          "name": "transfers on a train", "for": "5h", "devices": {"count": 6, "mix": {"ios26": 50, "ios15": 50}},
          "people": [
            {
              "share": 50, "habits": {"opens": ["00:10±5m", "02:00±15m"], "stay": "1m"},
              "network": {"train": "00:20±5m-02:30 lte", "tunnel": "01:00±5m-01:20 none"}, "charging": "03:00-04:30"
            },
            {"share": 50, "habits": {"opens": ["00:10±5m"], "stay": "3m"}, "network": {"usual": "lossy"}}
          ],
          "apps": [
            {
              "id": "com.example.films", "backgroundModes": ["remote-notification"], "handler": {"takes": "3s"},
              "transfers": [
                {"size": "300MB", "start": "opening"},
                {"kind": "upload", "size": "40MB", "start": "opening"},
                {"size": "2MB", "start": "push"},
                {"kind": "upload", "size": "5MB", "start": "push", "isDiscretionary": true, "allowsCellular": false}
              ]
            }
          ],
          "rates": {"wifi": "2MB/s", "lte": "40kB/s"},
          "provider": [
            {"at": "00:30", "every": "40m", "until": "04:00", "send": "silent"},
            {"at": "01:10", "every": "1h", "until": "04:30", "send": "alert"}
          ],
          "expect": [{"what": "transfers completed", "atLeast": "50%"}]
        }
        """

    @Test(arguments: [alerts, refreshes, forceQuits, transfers])
    func `a scenario ends in the suite as in a simulation`(_ text: String) async throws {
        let suite = try await RunningSuite.start(virtualTime: true, partitions: SharedPlan.partitions)
        let file = try suite.file("scenario.json", text: text)
        let folder = try suite.file("report")
        let fleet = try suite.startFleet(["run", "--scenario", file, "--report", folder])
        let status = try await fleet.process.exit(within: 540)
        let words = fleet.process.output.tail(60) + fleet.process.errors.tail(20)
        #expect(status == .exited(0), "\(words)")
        let report = try #require(
            FileManager.default.contents(atPath: folder + "/report.json").flatMap { try? JSON(parsing: Array($0)) },
            "\(words)")
        let begin = try #require(report["begin"]?.string.flatMap { Instant($0) })
        let events = try await logged(suite, since: begin)
        let run = try ScenarioOutcomes(events, from: begin)

        let (simulated, document) = try await simulate(text, from: begin, log: try suite.file("simulated.log"))
        let expected = try ScenarioOutcomes(simulated, from: begin)
        try #require(expected.notifications.count > 20)
        try #require(text != Self.transfers || expected.transfers.count > 20)
        let differences =
            ScenarioOutcomes.differences(expected.notifications, run.notifications)
            + ScenarioOutcomes.differences(expected.refreshes, run.refreshes)
            + ScenarioOutcomes.differences(expected.transfers, run.transfers)
        #expect(
            differences.isEmpty,
            "\(differences.count) of \(expected.notifications.count) and \(expected.refreshes.count):\n\(differences.prefix(40).joined(separator: "\n"))"
        )
        // The pushes have random identifiers, and only a simulation hashes its log.
        let (live, planned) = (Self.counts(events), Self.counts(simulated))
        let types = Set(live.keys).union(planned.keys).filter { live[$0] != planned[$0] }
        for member in ["apps", "bytes", "expectations", "openingsByHour", "refreshesByHour", "states"] {
            #expect(report[member] == document[member], "\(member); other numbers of \(types.sorted())")
        }
        // A machine with much load can stop a service for so long that it records an outage. A simulation has none.
        let outages = live.filter { $0.key.hasSuffix(".outage.recorded") }.values.reduce(0, +)
        let (found, wanted) = (report["events"]?.int ?? 0, document["events"]?.int ?? 0)
        #expect((wanted...wanted + outages).contains(found), "events; other numbers of \(types.sorted())")
        for (service, end) in try await suite.stop() { #expect(end == .exited(0), "\(service)") }
        try await suite.cluster.destroy()
    }

    private static let external = """
        {
          "name": "external", "for": "90d", "devices": {"count": 3}, "provider": "external",
          "people": [{"habits": {"opens": ["00:10±9m"]}}],
          "apps": [{"id": "com.example.chat"}, {"id": "com.example.mail"}]
        }
        """

    @Test func `another system gets the tokens of the devices, and an interrupted run has a report`() async throws {
        let suite = try await RunningSuite.start(virtualTime: true)
        let file = try suite.file("scenario.json", text: Self.external)
        let (folder, tokens) = (try suite.file("report"), try suite.file("tokens"))
        let fleet = try suite.startFleet([
            "run", "--scenario", file, "--report", folder, "--tokens", tokens, "--fleet", "mine",
        ])
        @Sendable func lines() -> [JSON] {
            let data = FileManager.default.contents(atPath: tokens) ?? Data()
            return data.split(separator: UInt8(ascii: "\n")).compactMap { try? JSON(parsing: Array($0)) }
        }
        try await eventually(within: 240, describe: "an app has a token") { !lines().isEmpty }
        let token = try #require(lines().first)
        let device = try #require(token["device"]?.string)
        let app = try #require(token["app"]?.string)
        #expect(device.hasPrefix("mine-00000") && app.hasPrefix("com.example."))
        let known = try await suite.call(.GET, .push, "/v1/devices/\(device)/apps/\(app)/tokens").json["items"]?.items
        #expect(known?.map { $0["token"] } == [token["token"]])
        #expect(known?.map { $0["kind"] } == [token["kind"]])

        let payload: JSON = ["aps": ["alert": "Hello"]]
        let push = try await Provider(suite).notify(
            try #require(token["token"]?.string), payload, silent: false, topic: app)
        @Sendable func now() async throws -> Instant? {
            try await suite.call(.GET, .ops, "/v1/clock").json["now"]?.string.flatMap { Instant($0) }
        }
        let sentBy = try #require(try await now())
        // After a day, the run has read the events of the push.
        try await eventually(within: 120, describe: "a day passes") { try await now() ?? sentBy > sentBy + .days(1) }

        let (status, words, _) = try await fleet.finish()
        #expect(status == .exited(1), "\(words)")
        let report = try #require(
            FileManager.default.contents(atPath: folder + "/report.json").flatMap { try? JSON(parsing: Array($0)) },
            "\(words)")
        #expect(report["complete"] == false && report["endReason"] == "It was interrupted.")
        let pushes = report["apps"]?.items?.first { $0["id"]?.string == app }?["pushes"]?.items ?? []
        #expect(pushes.map { $0["content"] } == ["alert"] && pushes.first?["sent"] == 1, "\(push) \(pushes)")
        // The clock runs again.
        #expect(try await suite.call(.GET, .ops, "/v1/clock").json["frozen"] == false)
        for (service, end) in try await suite.stop() { #expect(end == .exited(0), "\(service)") }
        try await suite.cluster.destroy()
    }

    @Test func `a run in real time has a report of its pushes`() async throws {
        let suite = try await RunningSuite.start()
        let opens = Array(repeating: #""100 times 00:00-24:00""#, count: 40).joined(separator: ", ")
        let text = """
            {
              "name": "real time", "for": "2d", "devices": {"count": 20},
              "people": [{"habits": {"opens": [\(opens)], "stay": "10s"}}],
              "apps": [{"id": "com.example.chat", "backgroundModes": ["remote-notification"]}],
              "provider": [{"at": "00:00", "every": "2s", "until": "23:59", "send": "alert"}]
            }
            """
        let folder = try suite.file("report")
        let fleet = try suite.startFleet([
            "run", "--scenario", try suite.file("scenario.json", text: text), "--report", folder, "--for", "10s",
        ])
        let status = try await fleet.process.exit(within: 240)
        let words = fleet.process.output.tail(60) + fleet.process.errors.tail(20)
        #expect(status == .exited(1) && words.contains("The time of --for was over."), "\(words)")
        let report = try #require(
            FileManager.default.contents(atPath: folder + "/report.json").flatMap { try? JSON(parsing: Array($0)) },
            "\(words)")
        #expect(report["complete"] == false && report["origin"] == "run")
        let pushes = try #require(report["apps"]?.items?.first?["pushes"]?.items?.first)
        func count(_ type: String) async throws -> Int? {
            let query = "SELECT count(*) FROM bus.events WHERE type = '\(type)'"
            let text = try await suite.cluster.sql(query, database: suite.database)
            return Int(text.trimmingCharacters(in: .whitespacesAndNewlines))
        }
        let sent = try #require(pushes["sent"]?.int)
        #expect(sent > 0 && pushes["inTime"]?.int ?? 0 > sent / 2, "\(words)")
        // At most one request of each device was under way at the end.
        let received = try #require(try await count("push.notification.received"))
        #expect((sent...sent + 20).contains(received))
        #expect(report["openingsByHour"]?.items?.compactMap(\.int).reduce(0, +) ?? 0 > 0)
        for (service, end) in try await suite.stop() { #expect(end == .exited(0), "\(service)") }
        try await suite.cluster.destroy()
    }

    @Test func `a run whose suite is away has a report with the reason`() async throws {
        let suite = try await RunningSuite.start(virtualTime: true)
        let file = try suite.file("scenario.json", text: Self.external)
        let (folder, tokens) = (try suite.file("report"), try suite.file("tokens"))
        let fleet = try suite.startFleet(["run", "--scenario", file, "--report", folder, "--tokens", tokens])
        try await eventually(within: 240, describe: "the scenario has begun") {
            FileManager.default.contents(atPath: tokens)?.isEmpty == false
        }
        try await suite.kill(.ops)
        // Another server has its port. A port without a server is asked for a minute.
        let other = try await CannedServer.start(port: suite.port(.ops)) { _ in
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        }
        let status = try await fleet.process.exit(within: 240)
        let words = fleet.process.output.tail(60) + fleet.process.errors.tail(20)
        #expect(status == .exited(1), "\(words)")
        let report = try #require(
            FileManager.default.contents(atPath: folder + "/report.json").flatMap { try? JSON(parsing: Array($0)) },
            "\(words)")
        let reason = try #require(report["endReason"]?.string)
        #expect(reason.hasPrefix("It failed: ops refuses ") && words.contains(reason), "\(words)")
        #expect(report["openingsByHour"]?.items?.compactMap(\.int).reduce(0, +) ?? 0 > 0, "what happened is in it")
        try await other.stop()
        _ = try await suite.stop()
        try await suite.cluster.destroy()
    }

    /// The number of events of each type.
    private static func counts(_ events: [JSON]) -> [String: Int] {
        events.reduce(into: [:]) { $0[$1["type"]?.string ?? "", default: 0] += 1 }
    }

    /// Simulates the scenario on the day of the run.
    ///
    /// - Returns: the events of its log, and its report.
    private func simulate(
        _ text: String, from begin: Instant, log: String
    ) async throws -> (events: [JSON], report: JSON) {
        var scenario = try Scenario(jsonBytes: Array(text.utf8))
        while ScenarioPlan(scenario).begin < begin { scenario.start = scenario.start.later(by: 1) }
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        let file = try #require(FileHandle(forWritingAtPath: log))
        let report = try await SimulationRun(scenario, threads: 2, checks: true).run(log: file)
        try file.close()
        let data = try #require(FileManager.default.contents(atPath: log))
        let events = try data.split(separator: UInt8(ascii: "\n")).map { try JSON(parsing: Array($0)) }
        return (events, try JSON(parsing: report.document.jsonBytes))
    }

    /// Reads all events of the suite since a time.
    private func logged(_ suite: RunningSuite, since begin: Instant) async throws -> [JSON] {
        var events: [JSON] = []
        var page = "since=\(begin)"
        while true {
            let answer = try await suite.call(.GET, .ops, "/v1/events?order=oldest&limit=1000&\(page)")
            events += answer.json["items"]?.items ?? []
            guard let next = answer.json["next"]?.string else { return events }
            page = "cursor=\(next)"
        }
    }
}
