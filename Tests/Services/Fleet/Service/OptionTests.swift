import FleetService
import Records
import Testing
import Timeline

@Suite struct OptionTests {
    @Test func `durations and times of day are parsed`() {
        #expect(FleetOptions.duration("90s") == .seconds(90))
        #expect(FleetOptions.duration("1.5m") == .seconds(90))
        #expect(FleetOptions.duration("24h") == .hours(24))
        #expect(FleetOptions.duration("500ms") == .milliseconds(500))
        for wrong in ["", "10", "-1s", "0s", "s", "10 minutes", "nanm", "infs"] {
            #expect(FleetOptions.duration(wrong) == nil, "\(wrong)")
        }
        #expect(FleetOptions.timeOfDay("07:30") == 450)
        for wrong in ["7", "24:00", "07:60", "a:b", "07:30:00"] { #expect(FleetOptions.timeOfDay(wrong) == nil) }
    }

    @Test func `an error names the invalid option`() {
        func wrong(_ change: (inout FleetOptions) -> Void) -> String? {
            var options = FleetOptions()
            change(&options)
            do { try options.validate() } catch { return error.description }
            return nil
        }
        #expect(wrong { _ in } == nil)
        #expect(wrong { $0.devices = 0 }?.contains("--devices") == true)
        #expect(wrong { $0.rate = 0 }?.contains("--rate") == true)
        #expect(wrong { $0.fleet = "a/b" }?.contains("--fleet") == true)
        #expect(wrong { $0.concurrency = 0 }?.contains("--concurrency") == true)
    }

    @Test func `endpoints come from the document`() throws {
        let endpoints = try Endpoints(document: [
            "ops": "http://127.0.0.1:8080", "lifecycle": "http://127.0.0.1:8081/", "push": "http://h:1",
            "apns": "https://127.0.0.1:2197", "operatorKey": "k", "ca": .null, "database": "postgres:///x",
        ])
        #expect(endpoints.services == [.lifecycle: "http://127.0.0.1:8081", .push: "http://h:1"])
        #expect(endpoints.apns == "https://127.0.0.1:2197")
        #expect(endpoints.operatorKey == "k")
        #expect(endpoints.certificates == nil)
        #expect(throws: FleetError.self) { try Endpoints(document: ["fetch": "ftp://x"]) }
        #expect(throws: FleetError.self) { try Endpoints(file: "/nonexistent") }
    }

    @Test func `a run needs lifecycle, and push and apns for pushes`() {
        let options = FleetOptions()
        #expect(throws: FleetError.self) { try FleetRun(options, Endpoints(), now: .epoch, run: "r") }
        var endpoints = Endpoints()
        endpoints.services = [.lifecycle: "http://127.0.0.1:1"]
        var pushing = options
        pushing.pushesAMinute = 1
        let (given, suite) = (pushing, endpoints)
        #expect(throws: FleetError.self) { try FleetRun(given, suite, now: .epoch, run: "r") }
    }

    @Test func `the progress line fits into the terminal`() {
        var counts = Counts()
        counts.devices = 5
        counts.bytes = 3_250_000
        let line = Report.line(
            counts, states: ["active": 2, "suspended": 9], elapsed: .seconds(65), of: .minutes(10))
        #expect(line.hasPrefix("1:05/10:00 · 5 devices · 2 active 9 suspended · 0 orders"))
        #expect(line.contains("3.2 MB"))
        #expect(Report.bar(line, elapsed: .seconds(300), of: .minutes(10), width: 40).count == 39)
        #expect(Report.bar(line, elapsed: .seconds(300), of: .minutes(10), width: 400).hasPrefix("██████░░░░░░ "))
    }

    @Test func `the summary reports whether the suite passed`() {
        var counts = Counts()
        #expect(Report.summary(counts, states: [:], elapsed: .seconds(1)).contains("no device"))
        counts.devices = 1
        #expect(counts.document["ok"] == true)
        #expect(Report.summary(counts, states: [:], elapsed: .seconds(1)).contains("PASSED"))
        counts.lostOrders = 1
        #expect(counts.document["ok"] == false)
        #expect(Report.summary(counts, states: [:], elapsed: .seconds(1)).contains("FAILED"))
    }
}
