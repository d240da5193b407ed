import Contracts
import Foundation
import Records
import Reports
import Scenarios
import Testing
import Timeline

@testable import Simulation

/// Small scenarios measure the right outcomes.
@Suite struct OutcomeTests {
    /// Runs a scenario of one app on a device, which the person opens at 01:00.
    private func run(
        _ members: String, app: String = "", people: String = "", mix: String = "ios18",
        generations: Generations = .standard
    ) async throws -> SimulationReport {
        let text = """
            {
              "name": "small", "devices": {"count": 1, "mix": "\(mix)"},
              "people": [{"habits": {"opens": ["01:00"], "stay": "2m"}, "charging": "00:00-06:00"\(people)}],
              "apps": [{"id": "news"\(app)}], \(members)
            }
            """
        let scenario = try Scenario(jsonBytes: Array(text.utf8))
        let report = try await SimulationRun(scenario, checks: true, generations: generations).run()
        #expect(report.violations == [])
        return report
    }

    private static let aware = #", "backgroundModes": ["bluetooth-central"], "location": "always", "visits": true"#

    @Test func `visits, accessories and samples wake an app`() async throws {
        let members = #""for": "1d", "expect": [{"what": "wakes", "atLeast": 4}]"#
        let events = #", "bluetooth": {"times": 20}, "health": {"times": 20}"#
        let visits = #", "visits": ["09:00-17:00"]"#
        let report = try await run(members, app: Self.aware + events, people: visits)
        let wakes = report.figures[0].wakes
        #expect(wakes["visit"] == 2)
        #expect((1...20).contains(wakes["bluetoothCentral"] ?? 0))
        #expect((1...20).contains(wakes["health"] ?? 0))
        #expect(report.expectations.map(\.isMet) == [true])
        #expect(report.figures.refusedCalls == [:])
        let old = try await run(members, app: Self.aware + events, people: visits, mix: "ios7")
        #expect(Set(old.figures[0].wakes.keys) == ["bluetoothCentral"])
        #expect(old.figures.refusedCalls == [:])
    }

    @Test func `a person who withdraws the permission for location ends the wakes for visits`() async throws {
        let people = #", "visits": ["09:00-17:00"], "withdrawsLocation": "after each use""#
        let report = try await run(#""for": "1d""#, app: Self.aware, people: people)
        #expect(report.figures[0].wakes["visit"] == nil)
        #expect(report.figures[0].wakesRefused == ["locationNotAuthorized": 2])
    }

    @Test func `an activity keeps an app from suspension`() async throws {
        let pressure = #""for": "4h", "faults": [{"at": "01:10", "for": "1m", "memoryPressure": "warning"}]"#
        let audio = #", "backgroundModes": ["audio"]"#
        let playing = try await run(pressure, app: audio + #", "activity": {"kind": "audio", "takes": "30m"}"#)
        #expect(playing.figures[0].kills == [:])
        let silent = try await run(pressure, app: audio)
        #expect(silent.figures[0].kills == ["memoryPressure": 1])
    }

    @Test func `a reading of a disputed rule and a limit change the outcome`() async throws {
        let members = #""for": "4h", "provider": [{"at": "02:00", "send": "silent", "every": "1m", "until": "02:30"}]"#
        let app = #", "backgroundModes": ["remote-notification"], "handler": {"takes": "4s"}"#
        func run(_ file: String) async throws -> SimulationReport {
            try await self.run(members, app: app, generations: Generations(overriding: Array(file.utf8)))
        }
        let standard = try await run("{}")
        #expect(standard.figures[0].kills == [:] && standard.documentedRules == [])
        let limited = try await run(#"{"ios18": {"limits": {"remoteNotificationHandler": 2}}}"#)
        #expect(limited.figures[0].kills["0x2182bad4"] ?? 0 > 0)
        let documented = try await run(#"{"readings": {"silentNotifications": "document"}}"#)
        #expect(documented.figures[0].wakes["push"] ?? 0 > standard.figures[0].wakes["push"] ?? 0)
        #expect(documented.documentedRules == [.silentNotifications])
        #expect(documented.document.readings == ["silentNotifications"])
        #expect(documented.summary.contains("the rule silentNotifications is as in the source documents"))
    }

    @Test(arguments: [("ios26", true), ("ios18", false)])
    func `a continued processing task goes on after the use of its app`(mix: String, isSupported: Bool) async throws {
        let pressure = #""for": "4h", "faults": [{"at": "01:05", "for": "1m", "memoryPressure": "warning"}]"#
        let report = try await run(pressure, app: #", "continuedProcessing": {"takes": "10m"}"#, mix: mix)
        #expect(report.figures[0].wakes == (isSupported ? ["continuedProcessingTask": 1] : [:]))
        #expect(report.figures[0].kills == (isSupported ? [:] : ["memoryPressure": 1]))
        #expect(report.figures.refusedCalls == [:])
    }

    @Test(arguments: [("ios16", true), ("ios15", false)])
    func `a push of Push to Talk wakes its app until the app leaves the channel`(
        mix: String, isWoken: Bool
    ) async throws {
        let members = #"""
            "for": "5h", "provider": [{"at": "02:00", "send": "pushToTalk", "every": "1h", "until": "04:30"}]
            """#
        let app = #", "backgroundModes": ["push-to-talk"]"#
        let report = try await run(members, app: app, mix: mix)
        #expect(report.figures[0].wakes == (isWoken ? ["pushToTalk": 3] : [:]))
        #expect(report.figures[0][.pushToTalk].withoutToken == (isWoken ? 0 : 3))
        let leaving = try await run(members, app: app + #", "handler": {"result": "failed"}"#, mix: mix)
        #expect(leaving.figures[0].wakes == (isWoken ? ["pushToTalk": 1] : [:]))
    }

    @Test func `a person leaves an app that a notification opened`() async throws {
        let report = try await run(
            #""for": "4h", "provider": [{"at": "02:00", "send": "alert"}, {"at": "03:00", "send": "alert"}]"#,
            people: #", "notifications": {"opened": "100%", "after": "10s"}"#)
        #expect(report.figures.openings[2] == 1)
        #expect(report.figures.openings[3] == 1)
    }

    @Test func `a push that is late at the end was sent and is under way`() async throws {
        let report = try await run(
            #"""
            "for": "4h", "provider": [{"at": "03:50", "send": "alert"}],
            "faults": [{"at": "03:40", "for": "10h", "latePushes": "1h"}]
            """#)
        let pushes = report.figures[0][.alert]
        #expect(pushes.sent == 1)
        #expect(pushes.never == ["Still under way": 1])
        #expect(pushes.delays.isEmpty)
    }

    @Test func `copies of a doubled push are not sent pushes`() async throws {
        let report = try await run(
            #"""
            "for": "4h", "provider": [{"at": "02:00", "send": "alert"}],
            "faults": [
              {"at": "01:30", "for": "1h", "doubledPushes": "100%"},
              {"at": "01:40", "for": "1h", "doubledPushes": "100%"}
            ]
            """#)
        let pushes = report.figures[0][.alert]
        #expect(pushes.sent == 1)
        #expect(pushes.doubled == 2)
        #expect(pushes.delays.count == 1)
        #expect(report.summary.contains("1 sent, 2 doubled"))
        #expect(report.figures.refusedCalls == [:])
    }

    @Test func `a device stays off until the last of its restarts ends`() async throws {
        let report = try await run(
            #"""
            "for": "4h", "provider": [{"at": "02:20", "send": "alert"}],
            "faults": [
              {"at": "02:00", "for": "30m", "reboot": true}, {"at": "02:10", "for": "5m", "reboot": true}
            ]
            """#)
        #expect(try #require(report.figures[0][.alert].delays.first) > .minutes(10))
        #expect(report.figures.refusedCalls == [:])
    }

    @Test func `an alert for an app on screen is not shown before iOS 10`() async throws {
        let members = #""for": "2h", "provider": [{"at": "01:01", "send": "alert"}]"#
        let old = try await run(members, mix: "ios9").figures[0][.alert]
        #expect(old.sent == 1)
        #expect(old.delays.isEmpty)
        #expect(try await run(members).figures[0][.alert].delays.count == 1)
    }

    /// The first alert finds the app on screen, and the second does not.
    @Test func `an alert with mutable content arrives when its service extension has returned`() async throws {
        for (app, seconds) in [(#", "notificationServiceExtension": true"#, 1.0), ("", 0.2)] {
            let report = try await run(
                #"""
                "for": "4h", "provider": [
                  {"at": "01:01", "send": "alert", "mutableContent": true},
                  {"at": "02:00", "send": "alert", "mutableContent": true}
                ]
                """#, app: app)
            let delays = report.figures[0][.alert].delays
            #expect(delays.count == 2)
            #expect(delays.last.map { $0 >= .seconds(seconds) && $0 <= .seconds(seconds + 0.5) } == true, "\(delays)")
        }
    }

    @Test func `sends without a token are in the summary and in the CSV`() async throws {
        let report = try await run(#""for": "2h", "provider": [{"at": "00:30", "send": "alert"}]"#)
        #expect(report.summary.contains("news alert: 0 sent, 1 without a token"))
        #expect(report.document.pushesCSV.contains("news,alert,not sent,No token,1"))
    }

    @Test func `crashes are counted`() async throws {
        let report = try await run(#""for": "2h", "faults": [{"at": "01:01", "crash": "news"}]"#)
        #expect(report.figures[0].crashes == 1)
        #expect(report.summary.contains("crashes: 1"))
    }

    /// Each opening starts a transfer: the launch, and the return from the background.
    @Test(arguments: ["ios18", "ios12"])
    func `an app with scenes ends its callbacks and starts each transfer once`(mix: String) async throws {
        let report = try await run(
            #""for": "4h""#,
            app: #", "scenes": true, "handlersReturn": "reported", "transfers": [{"size": "1MB"}]"#,
            people: #", "name": "x", "notifications": {"opened": "0%"}"#, mix: mix)
        #expect(report.figures[0].transfersStarted == 1)
        #expect(report.figures[0].kills == [:])
    }

    /// Most attempts of the upload fail after half of the bytes that they have to send.
    @Test(arguments: [("ios17", true), ("ios16", false)])
    func `an upload sends its bytes once from iOS 17 on`(mix: String, sendsOnce: Bool) async throws {
        let report = try await run(
            #""for": "12h""#,
            app: #", "transfers": [{"size": "30MB", "kind": "upload", "failures": "80%", "limit": 1}]"#, mix: mix)
        #expect(report.figures[0].transfers.count == 1)
        let bytes = report.figures.bytes.values.reduce(0, +)
        #expect(sendsOnce ? bytes == 30_000_000 : bytes > 30_000_000)
    }

    @Test func `a task whose handler hangs is not ended by the app`() async throws {
        let text = #"""
            {
              "name": "tasks", "for": "3d", "devices": {"count": 5},
              "people": [{"habits": {"opens": ["6 times 08:00-22:00"]}}],
              "apps": [{
                "id": "mail", "backgroundModes": ["fetch"], "permittedTaskIdentifiers": ["refresh"],
                "handler": {"result": {"newData": 50, "neverReturns": 50}}
              }]
            }
            """#
        let report = try await SimulationRun(Scenario(jsonBytes: Array(text.utf8))).run()
        #expect(!report.figures[0].kills.isEmpty)
        #expect(!report.figures[0].refreshes.isEmpty)
    }

    @Test func `without the mode fetch, the first task is for processing`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).jsonl")
        #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
        defer { try? FileManager.default.removeItem(at: file) }
        let text = #"""
            {
              "name": "tasks", "for": "2h", "devices": {"count": 1},
              "people": [{"habits": {"opens": ["01:00"]}}],
              "apps": [{"id": "mail", "backgroundModes": ["processing"], "permittedTaskIdentifiers": ["index"]}]
            }
            """#
        let run = SimulationRun(try Scenario(jsonBytes: Array(text.utf8)))
        _ = try await run.run(log: try FileHandle(forWritingTo: file))
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let submitted = lines.filter { $0.contains("fetch.task.submitted") }
        #expect(!submitted.isEmpty)
        #expect(submitted.allSatisfy { $0.contains("processing") })
    }

    @Test func `the speed has tenths of seconds`() async throws {
        let report = try await run(#""for": "1h""#)
        #expect(report.speed(in: .milliseconds(1250), cores: 1).hasPrefix("  1.2 s, "))
    }

    @Test func `an external provider and too many sends are refused`() throws {
        var scenario = Scenario(devices: DeviceMix(count: 1), apps: [ScenarioApp(id: "news")])
        #expect(SimulationRun.faults(of: scenario).isEmpty)
        scenario.provider = .external
        #expect(SimulationRun.faults(of: scenario).map(\.pointer) == ["/provider"])
        let send =
            #"{"devices": {"count": 1}, "apps": [{"id": "a"}], "provider": [{"at": "00:00", "send": "silent", "every": "10s"}]}"#
        scenario = try Scenario(jsonBytes: Array(send.utf8))
        #expect(SimulationRun.faults(of: scenario).isEmpty && scenario.contradictions.isEmpty)
        scenario.duration = TimeSpan(.days(30))
        #expect(scenario.contradictions.map(\.pointer) == ["/provider"])
    }

    // MARK: Expectations

    private func outcome(_ expectation: String, _ app: AppFigures) throws -> ExpectationOutcome {
        let scenario = Scenario(devices: DeviceMix(count: 1), apps: [ScenarioApp(id: "news")])
        return ExpectationOutcome(
            try Expectation(jsonBytes: Array(expectation.utf8)), scenario,
            Figures(apps: [app], states: StateTimes(from: .epoch, until: .epoch)))
    }

    @Test func `an expectation without a case is not met`() throws {
        let none = AppFigures()
        #expect(!(try outcome(#"{"what": "alerts shown", "atLeast": "1%"}"#, none).isMet))
        #expect(!(try outcome(#"{"what": "alerts shown", "p50": "1h"}"#, none).isMet))
        #expect(try outcome(#"{"what": "pushes late", "p50": "1h"}"#, none).isMet)
        #expect(try outcome(#"{"what": "pushes never arrived", "atMost": "1%"}"#, none).isMet)
    }

    @Test func `a percentile counts pushes that never arrive`() throws {
        var app = AppFigures()
        app[.alert].sent = 4
        app[.alert].delivered = 3
        app[.alert].delays = [.seconds(1.0), .seconds(2.0)]
        #expect(try outcome(#"{"what": "alerts shown", "p50": "2s"}"#, app).isMet)
        let p90 = try outcome(#"{"what": "alerts shown", "p90": "1h"}"#, app)
        #expect(!p90.isMet)
        #expect(p90.text.contains("p90 never"))
        app[.alert].delivered = 2
        #expect(try outcome(#"{"what": "alerts shown", "of": "delivered", "p90": "2s"}"#, app).isMet)
    }
}
