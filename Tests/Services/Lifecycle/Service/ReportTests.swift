import Contracts
import Identity
import LifecycleCore
import NIOHTTP1
import Records
import ServiceKit
import TestSupport
import Testing
import Timeline

@testable import LifecycleService

@Suite("Reports about apps", .tags(.database), .timeLimit(.minutes(5))) struct ReportTests {
    @Test func `every termination is recorded and counted`() async throws {
        try await LifecycleFixture.run { fixture in
            _ = try await fixture.phone("d1", fleet: "f")
            _ = try await fixture.phone("d2", fleet: "f")
            _ = try await fixture.phone("d3", fleet: "of")
            for device in ["d1", "d2", "d3"] {
                try await fixture.transition(device, "launch")
                try await fixture.transition(device, "crash")
            }
            try await fixture.transition("d1", "launch")
            try await fixture.transition("d1", "home")
            try await fixture.transition("d1", "swipe")
            let ends = try await fixture.send("GET", "/v1/devices/d1/apps/a/terminations")
            #expect(ends["items"]?.items?.map { $0["reason"] } == ["forceQuit", "crash"])
            #expect(ends["items"]?[0]?["code"] == nil && ends["items"]?[0]?["from"] == "suspended")
            #expect(try #require(ends["items"]?[1]?["sinceLaunch"]?.double) >= 0)
            #expect(ends["counts"] == ["background": ["forceQuit": 1], "foreground": ["crash": 1]])
            #expect(ends["exitData"]?["foregroundExitData"]?["cumulativeAbnormalExitCount"] == 1)
            #expect(ends["exitData"]?["backgroundExitData"]?["cumulativeNormalAppExitCount"] == 1)

            let fleet = try await fixture.send("GET", "/v1/fleets/f/terminations")
            #expect(fleet["devices"] == 2)
            #expect(fleet["counts"] == ["background": ["forceQuit": 1], "foreground": ["crash": 2]])
            let token = try await fixture.tokens.fleet("of")
            #expect(try await fixture.send("GET", "/v1/fleets/of/terminations", key: token)["devices"] == 1)
            #expect(try await fixture.send("GET", "/v1/fleets/f/terminations", key: token).status == 404)
        }
    }

    @Test func `explain reports the work of an app and the result of each wake`() async throws {
        try await LifecycleFixture.run { fixture in
            _ = try await fixture.phone(
                "d1", manifest: #"{"backgroundModes":["fetch"],"handlersReturn":"immediately"}"#)
            let path = "/v1/devices/d1/apps/a/explain"
            let fresh = try await fixture.send("GET", path)
            #expect(fresh["because"] == "The app was not launched since its installation." && fresh["next"] == .null)
            try await fixture.transition("d1", "launch")
            try await fixture.send("POST", "/v1/devices/d1/apps/a/tasks", #"{"name":"sync"}"#)
            try await fixture.transition("d1", "home")
            let held = try await fixture.send("GET", path)
            #expect(held["state"] == "background")
            let hold = held["heldBy"]?[0]
            #expect(hold?["name"] == "sync" && hold?["otherwise"] == "backgroundTaskTimeout")
            // The expiration order comes before the end.
            #expect(held["next"]?["end"] == .null && held["next"]?["at"]?.string != nil)
            let outlooks = try #require(held["wakes"]?.items)
            #expect(outlooks.count == WakeKind.allCases.count)
            let fetch = try #require(outlooks.first { $0["kind"] == "fetch" })
            #expect(fetch["wouldWake"] == true && fetch["limitSeconds"] == 30)
            let push = try #require(outlooks.first { $0["kind"] == "push" })
            #expect(push["wouldWake"] == false && push["refusal"] == "modeNotDeclared")
            let factor = push["factors"]?.items?.first { $0["factor"] == "modeNotDeclared" }
            #expect(factor?["blocks"] == true)
            try await fixture.append(FetchEvent.RefreshDue(app: "a", fetch: "f-1"), to: "d1")
            try await fixture.append(PushEvent.WakeRequested(app: "a", notification: "n-1", payload: [:]), to: "d1")
            try await eventually(describe: "both wakes are decided") {
                let types = try await fixture.log(of: "d1").map(\.type)
                return types.contains("lifecycle.app.woken") && types.contains("lifecycle.wake.refused")
            }
        }
    }

    @Test func `the limits of all profiles can be read`() async throws {
        try await LifecycleFixture.run { fixture in
            let answer = try await fixture.send("GET", "/v1/profiles")
            #expect(answer["ios6"]?["limits"]?["backgroundTasks"] == 600)
            #expect(answer["ios6"]?["features"]?["backgroundFetch"] == false)
            #expect(answer["ios26"]?["features"]?["processingAfterForceQuit"] == true)
            #expect(answer["readings"]?["resourceTimeout"] == "apple")
            #expect(answer["readings"]?.members?.count == DisputedRule.allCases.count)
        }
    }
}
