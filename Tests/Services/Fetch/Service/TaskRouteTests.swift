import Contracts
import Foundation
import Records
import TestSupport
import Testing
import Timeline

@Suite("Task requests over HTTP", .tags(.database, .processes), .timeLimit(.minutes(5))) struct TaskRequestRoutes {
    @Test func `a task request runs once at its forecast time`() async throws {
        let quick = ["--fetch-floor-seconds", "1", "--fetch-slot-seconds", "1", "--fetch-jitter-seconds", "0"]
        try await FetchFixture.run(quick) { fixture in
            let position = try await fixture.scheduler("t1")
            let path = "t1/apps/a/task-requests"
            let refresh = #"{"identifier":"r","kind":"refresh"}"#
            let submitted = try await fixture.send("POST", path, refresh, after: position)
            #expect(submitted.status == 201)
            #expect(submitted.json["identifier"]?.string == "r")
            #expect(submitted.json["expirationHandler"]?.bool == true)
            #expect(submitted.json["blockers"]?.items == [])
            let nextRun = try #require(submitted.json["nextRun"]?.string)
            try await eventually(within: 60, describe: "the task is due") {
                try await fixture.send("GET", path).json["running"]?["request"]?.string != nil
            }
            let due = try await fixture.send("GET", path)
            // It came due at the time in the response, and it stays pending until the app is woken.
            #expect(due.json["running"]?["dueAt"]?.string == nextRun)
            #expect(due.json["items"]?.items?.count == 1)
            let tag = try #require(due.etag)
            #expect(try await fixture.send("GET", path, unless: tag).status == 304)
            let run = try #require(due.json["running"]?["request"]?.string)
            let woken = try await fixture.wake(run, .refreshTask, of: "t1")
            let started = try await fixture.send("GET", path, after: woken, unless: tag)
            #expect(started.json["items"]?.items == [])
            #expect(started.json["running"]?["startedAt"]?.string != nil)
            let done = try await fixture.tell(
                LifecycleEvent.WakeCompleted(
                    app: "a", kind: .refreshTask, reason: .task, request: run, success: true, wake: "w"), of: "t1")
            #expect(try await fixture.send("GET", path, after: done).json["running"] == .null)
            let runs = try await fixture.send("GET", "t1/apps/a/task-runs")
            #expect(runs.json["items"]?.items?.count == 1 && runs.json["next"] == .null)
            #expect(runs.json["items"]?[0]?["request"]?.string == run)
            #expect(runs.json["items"]?[0]?["result"]?.string == "succeeded")
            #expect(try await fixture.send("GET", "t1/apps/a/task-runs?limit=0").code == "invalid_query")
            #expect(try await fixture.send("GET", "t1/apps/b/task-runs").code == "app_not_installed")
        }
    }

    @Test func `a tester launches, expires and cancels task requests`() async throws {
        try await FetchFixture.run { fixture in
            let position = try await fixture.scheduler("t2")
            let path = "t2/apps/a/task-requests"
            let launch = "\(path)/p/simulate-launch"
            let early = try await fixture.send("POST", launch, after: position)
            #expect(early.status == 404 && early.code == "task_not_pending")
            let document =
                #"{"identifier":"p","kind":"processing","requiresExternalPower":true,"expirationHandler":false}"#
            let submitted = try await fixture.send("POST", path, document)
            #expect(submitted.json["nextRun"] == .null)
            #expect(submitted.json["blockers"]?.items == ["externalPower", "deviceActivity"])
            let launched = try await fixture.send("POST", launch)
            #expect(launched.status == 202)
            #expect(launched.json["simulated"]?.bool == true)
            let again = try await fixture.send("POST", launch)
            #expect(again.status == 409 && again.code == "task_running")
            let run = try #require(launched.json["request"]?.string)
            let woken = try await fixture.wake(run, .processingTask, of: "t2")
            let expired = try await fixture.send("POST", "\(path)/p/simulate-expiration", after: woken)
            #expect(expired.status == 202)
            #expect(expired.json["stopped"]?.string == "simulated")
            let other = try await fixture.send("POST", "\(path)/r/simulate-expiration")
            #expect(other.status == 409 && other.code == "task_not_running")

            for identifier in ["r", "q"] {
                let kind = identifier == "r" ? "refresh" : "processing"
                let date = "2199-01-01T00:00:00Z"
                let next = #"{"identifier":"\#(identifier)","kind":"\#(kind)","earliestBeginDate":"\#(date)"}"#
                #expect(try await fixture.send("POST", path, next).status == 201)
            }
            #expect(try await fixture.send("GET", path).json["items"]?.items?.count == 2)
            #expect(try await fixture.send("DELETE", "\(path)/q").status == 204)
            #expect(try await fixture.send("DELETE", "\(path)/q").status == 204)
            let left = try await fixture.send("GET", path).json["items"]?.items ?? []
            #expect(left.map { $0["identifier"]?.string } == ["r"])
            #expect(left.first?["earliestBeginDate"]?.string == "2199-01-01T00:00:00.000Z")
            #expect(try await fixture.send("DELETE", path).status == 204)
            #expect(try await fixture.send("GET", path).json["items"]?.items == [])
        }
    }

    @Test func `refusals have the names and numbers of Apple`() async throws {
        try await FetchFixture.run { fixture in
            let position = try await fixture.scheduler("t3")
            let path = "t3/apps/a/task-requests"
            let refresh = #"{"identifier":"r","kind":"refresh"}"#
            let strange = try await fixture.send(
                "POST", path, #"{"identifier":"x","kind":"refresh"}"#, after: position)
            #expect(strange.status == 409 && strange.code == "bg_task_not_permitted")
            #expect(strange.json["detail"]?.string?.contains("notPermitted (3)") == true)
            #expect(try await fixture.send("POST", path, refresh).status == 201)
            let unhandled = try await fixture.send("POST", path, #"{"identifier":"u","kind":"processing"}"#)
            #expect(unhandled.status == 409 && unhandled.code == "no_launch_handler")
            let more = try await fixture.send("POST", path, #"{"identifier":"q","kind":"refresh"}"#)
            #expect(more.status == 409 && more.code == "bg_task_too_many_pending_task_requests")
            #expect(more.json["detail"]?.string?.contains("tooManyPendingTaskRequests (2)") == true)
            let off = try await fixture.tell(
                LifecycleEvent.SettingsChanged(settings: Settings(backgroundRefresh: .off)), of: "t3")
            let unavailable = try await fixture.send("POST", path, refresh, after: off)
            #expect(unavailable.status == 409 && unavailable.code == "bg_task_unavailable")
            #expect(unavailable.json["detail"]?.string?.contains("unavailable (1)") == true)
            let waiting = try await fixture.send("GET", path).json["items"]?[0]
            #expect(waiting?["blockers"]?.items == ["backgroundRefresh"])

            for wrong in [
                #"{"identifier":"r r","kind":"refresh"}"#, #"{"identifier":"r","kind":"nap"}"#, #"{"kind":"refresh"}"#,
                #"{"identifier":"r","kind":"refresh","requiresExternalPower":true}"#,
                #"{"identifier":"p","kind":"processing","protectionTypeOfRequiredData":"complete"}"#,
                #"{"identifier":"r","kind":"refresh","earliestBeginDate":"soon"}"#,
            ] {
                let answer = try await fixture.send("POST", path, wrong)
                #expect(answer.status == 422 && answer.code == "invalid_document", "\(wrong)")
            }
            #expect(try await fixture.send("POST", "t3/apps/b/task-requests", refresh).code == "app_not_installed")
            #expect(try await fixture.send("GET", "t9/apps/a/task-requests").code == "device_not_registered")
            let old = try await fixture.scheduler("t4", .ios7)
            let unsupported = try await fixture.send("POST", "t4/apps/a/task-requests", refresh, after: old)
            #expect(unsupported.status == 409 && unsupported.code == "unsupported_on_profile")
        }
    }
}

extension FetchFixture {
    /// Registers a device with an app that may submit the task requests `r`, `p` and `q`. It has no launch
    /// handler for `u`.
    fileprivate func scheduler(_ device: String, _ profile: ProfileName = .ios15) async throws -> String {
        try await tell(LifecycleEvent.DeviceRegistered(registration: Registration(profile: profile)), of: device)
        var manifest = Manifest(backgroundModes: [.fetch, .processing])
        manifest.permittedTaskIdentifiers = ["r", "p", "q", "u"]
        manifest.launchHandlers = ["r", "p", "q"]
        try await tell(LifecycleEvent.AppInstalled(app: "a", manifest: manifest), of: device)
        return try await run("a", on: device)
    }

    fileprivate func wake(_ run: String, _ kind: WakeKind, of device: String) async throws -> String {
        try await tell(
            LifecycleEvent.AppWoken(
                app: "a", callbacks: [], deadline: RealClock().now + .minutes(10), from: .suspended, kind: kind,
                limit: .minutes(10), reason: .task, request: run, wake: "w"), of: device)
    }
}
