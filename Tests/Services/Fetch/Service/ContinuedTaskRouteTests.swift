import Contracts
import Machines
import Records
import TestSupport
import Testing
import Timeline

@Suite(.tags(.database, .processes), .timeLimit(.minutes(5))) struct ContinuedTaskRouteTests {
    private static func request(_ number: Int, _ members: String = "") -> String {
        """
        {"identifier":"a.export.\(number)","kind":"continuedProcessing","title":"Export","subtitle":"Film"\(members)}
        """
    }

    /// Registers a device with an app on screen.
    private static func begin(_ fixture: FetchFixture, _ device: String, _ profile: ProfileName) async throws -> String
    {
        try await fixture.tell(
            LifecycleEvent.DeviceRegistered(registration: Registration(profile: profile)), of: device)
        var manifest = Manifest()
        manifest.permittedTaskIdentifiers = ["a.export.*"]
        try await fixture.tell(LifecycleEvent.AppInstalled(app: "a", manifest: manifest), of: device)
        return try await fixture.tell(LifecycleEvent.AppLaunched(app: "a", callbacks: []), of: device)
    }

    @Test func `a continued processing task starts at once, waits, is cancelled or is refused`() async throws {
        try await FetchFixture.run { fixture in
            let path = "c1/apps/a/task-requests"
            let launched = try await Self.begin(fixture, "c1", .ios26)
            let first = try await fixture.send("POST", path, Self.request(1), after: launched)
            #expect(first.status == 201 && first.json["nextRun"]?.string != nil)
            #expect(try await fixture.send("POST", path, Self.request(2)).status == 201)
            let third = try await fixture.send("POST", path, Self.request(3))
            #expect(third.status == 201 && third.json["nextRun"] == .null)
            let refused = try await fixture.send("POST", path, Self.request(4, #","strategy":"fail""#))
            #expect(refused.status == 409 && refused.code == "bg_task_immediate_run_ineligible")
            #expect(refused.json["detail"]?.string?.contains("immediateRunIneligible (4)") == true)
            let again = try await fixture.send("POST", path, Self.request(1))
            #expect(again.status == 409 && again.code == "task_running")
            let list = try await fixture.send("GET", path).json
            #expect(list["items"]?.items?.map { $0["identifier"]?.string } == ["a.export.3"])
            #expect(list["continued"]?.items?.map { $0["identifier"]?.string } == ["a.export.1", "a.export.2"])
            for number in [1, 3] {
                let cancel = try await fixture.send("POST", "\(path)/a.export.\(number)/user-cancellation")
                #expect(cancel.status == 204)
            }
            let left = try await fixture.send("GET", path).json
            #expect(left["items"]?.items == [])
            #expect(left["continued"]?[0]?["stopped"]?.string == "userCancelled")
            let none = try await fixture.send("POST", "\(path)/a.export.9/user-cancellation")
            #expect(none.status == 409 && none.code == "task_not_running")
        }
    }

    @Test func `a wrong request for continued processing is refused`() async throws {
        try await FetchFixture.run { fixture in
            let path = "c2/apps/a/task-requests"
            let launched = try await Self.begin(fixture, "c2", .ios26)
            for wrong in [
                #"{"identifier":"a.export.1","kind":"continuedProcessing","title":"Export"}"#,
                #"{"identifier":"a.export.1","kind":"continuedProcessing","subtitle":"Film"}"#,
                Self.request(1, #","requiresExternalPower":true"#), Self.request(1, #","strategy":"later""#),
                #"{"identifier":"r","kind":"refresh","title":"Export"}"#,
                #"{"identifier":"r","kind":"processing","requiredResources":["gpu"]}"#,
            ] {
                let answer = try await fixture.send("POST", path, wrong, after: launched)
                #expect(answer.status == 422 && answer.code == "invalid_document", "\(wrong)")
            }
            let left = try await fixture.tell(
                LifecycleEvent.AppBackgrounded(app: "a", callbacks: [], cause: .home, taskTime: .zero), of: "c2")
            let late = try await fixture.send("POST", path, Self.request(1), after: left)
            #expect(late.status == 409 && late.code == "not_in_foreground")
            let old = try await Self.begin(fixture, "c3", .ios18)
            let unsupported = try await fixture.send("POST", "c3/apps/a/task-requests", Self.request(1), after: old)
            #expect(unsupported.status == 409 && unsupported.code == "unsupported_on_profile")
        }
    }
}
