import Contracts
import Records
import Foundation
import Scenarios
import Testing
import Timeline

@testable import Simulation

/// Small scenarios measure what authorization, Focus and the scheduled summary do to alerts.
@Suite struct AuthorizationOutcomeTests {
    /// Runs a scenario of one app on a device, which the person opens at 01:00. An alert is sent at 02:00.
    private func run(app: String = "", people: String = "", mix: String = "ios18") async throws -> SimulationReport {
        let text = """
            {
              "name": "small", "for": "12h", "devices": {"count": 1, "mix": "\(mix)"},
              "people": [{"habits": {"opens": ["01:00 news for 2m"]}\(people)}],
              "apps": [{"id": "news"\(app)}], "provider": [{"at": "02:00", "send": "alert"}]
            }
            """
        let report = try await SimulationRun(Scenario(jsonBytes: Array(text.utf8)), checks: true).run()
        #expect(report.violations == [])
        #expect(report.figures.refusedCalls == [:])
        return report
    }

    private func delays(app: String = "", people: String = "", mix: String = "ios18") async throws -> [Interval] {
        try await run(app: app, people: people, mix: mix).figures[0][.alert].delays
    }

    @Test func `an app shows alerts after the person has allowed them`() async throws {
        #expect(try await delays().count == 1)
        #expect(try await delays(mix: "ios6").count == 1)
        #expect(try await delays(app: #", "notificationAuthorization": "authorized""#).count == 1)
        #expect(try await delays(app: #", "notificationAuthorization": "provisional""#).count == 1)
        #expect(try await delays(app: #", "notificationAuthorization": "provisional""#, mix: "ios9").count == 1)
    }

    @Test func `an app that never asks or is denied shows no alert`() async throws {
        let denied = #", "notifications": {"allowed": "off"}"#
        #expect(try await delays(app: #", "notificationAuthorization": "notDetermined""#) == [])
        #expect(try await delays(app: #", "notificationAuthorization": "denied""#) == [])
        #expect(try await delays(people: denied) == [])
        #expect(try await delays(app: #", "notificationAuthorization": "authorized""#, people: denied) == [])
        #expect(try await delays(app: #", "notificationAuthorization": "provisional""#, people: denied) == [])
    }

    @Test func `an alert of an app in the summary arrives at the time of the summary`() async throws {
        let app = #", "scheduledDelivery": true"#
        #expect(try await delays(app: app) == [.hours(6)])
        #expect(try await delays(app: app, people: #", "summaryTimes": ["11:30", "09:15"]"#) == [.minutes(435)])
        #expect(try #require(await delays(app: app, mix: "ios13").first) < .seconds(1.0))
    }

    @Test func `a Focus delays no arrival`() async throws {
        #expect(try #require(await delays(people: #", "focus": "01:30-03:00""#).first) < .seconds(1.0))
        #expect(try #require(await delays(people: #", "focus": "01:30-03:00""#, mix: "ios13").first) < .seconds(1.0))
    }

    @Test func `a person does not open an alert that a Focus silences`() async throws {
        let opens = #", "notifications": {"opened": "100%", "after": "30s"}"#
        let open = try await run(people: opens)
        let focused = try await run(people: opens + #", "focus": "01:30-03:00""#)
        #expect(open.figures.openings[2] == 1)
        #expect(focused.figures.openings[2] == 0)
    }
}
