import NIOHTTP1
import Records
import TestSupport
import Testing
import Timeline

extension Story {
    /// Installs and launches the app, which sets its fetch interval and registers for notifications.
    ///
    /// - Returns: the device token.
    func install() async throws -> String {
        let manifest: JSON = [
            "backgroundModes": ["fetch", "remote-notification"], "memoryMB": 120,
            "notificationAuthorization": "authorized",
        ]
        let installed = try await app(.PUT, .lifecycle, "", manifest)
        #expect(installed.status == 201)
        #expect(try await transition("launch", to: "active") == launchCallbacks + ["didBecomeActive"])
        try await order("callback", "didBecomeActive", launchCallbacks + ["didBecomeActive"])
        let interval = try await app(.PUT, .fetch, "/minimum-interval", ["interval": 900]).json
        #expect(interval["inEffect"]?.bool == true)
        let registered = try await app(.PUT, .push, "/registration", ["environment": "sandbox"])
        let token = try #require(registered.json["token"]?.string)
        let told = try await order("callback", "didRegisterForRemoteNotificationsWithDeviceToken")
        #expect(told["data"]?["token"]?.string == token)
        return token
    }

    /// The app begins a task, goes to the background, ends the task after five seconds, and is suspended.
    func useTheApp() async throws {
        let task = try await app(.POST, .lifecycle, "/tasks", ["name": "sync", "expirationHandler": true])
        #expect(task.status == 201 && task.json["unlimited"]?.bool == true)
        let id = try #require(task.json["task"]?.string)

        #expect(try await transition("home", to: "background") == ["willResignActive", "didEnterBackground"])
        try await order("callback", "didEnterBackground", ["willResignActive", "didEnterBackground"])
        try await advance(5)
        #expect(try await state == "background")
        #expect(try await app(.GET, .lifecycle, "/background-time-remaining").json["secondsRemaining"]?.double == 25)
        try await app(.DELETE, .lifecycle, "/tasks/\(id)")
        try await order("suspend", "suspend")
        #expect(try await state == "suspended")
    }

    /// Advances time to the forecast of the next refresh. The refresh must not come earlier.
    ///
    /// - Parameter number: the number of this refresh, from 1.
    /// - Returns: the wake of the refresh.
    func refreshAsForecast(_ number: Int, _ callbacks: [String]) async throws -> Wake {
        let next = try moment(try await app(.GET, .fetch, "/forecast").json["nextFetch"]?["at"])
        let left = next - (try await now())
        #expect(left <= .hours(24))
        try await advance((left - .milliseconds(1)).seconds)
        #expect(try await events("fetch.refresh.due").count == number - 1)
        try await advance(0.001)
        let due = try await events("fetch.refresh.due")
        #expect(try due.map { try moment($0["time"]) }.last == next)
        #expect(due.count == number)
        let wake = try await wake("fetch", callbacks)
        #expect(wake.request == due.last?["data"]?["fetch"]?.string)
        #expect(wake.issuedAt == next)
        #expect(try await state == "background")
        return wake
    }

    /// After the interval, a refresh comes, and its handler returns in time.
    func refreshInTime() async throws {
        let set = try moment(try await events("fetch.interval.set").last?["time"])
        let wake = try await refreshAsForecast(1, ["performFetch"])
        #expect(wake.issuedAt >= set + .minutes(15))
        try await advance(3)
        try await complete(wake, "newData")
        try await order("suspend", "suspend")
        #expect(try await eventually("fetch.refresh.recorded")["data"]?["result"]?.string == "newData")
        let refresh = try await app(.GET, .fetch, "/fetches").json["items"]?[0]
        #expect(refresh?["fetch"]?.string == wake.request)
        #expect(refresh?["elapsedSeconds"]?.double == 3)
    }

    /// A second refresh comes, and its handler never returns. The app is killed after 30 s.
    func refreshNeverCompleted() async throws {
        let wake = try await refreshAsForecast(2, ["performFetch"])
        try await advance(29.999)
        #expect(try await state == "background")
        #expect(try await events("lifecycle.app.terminated").isEmpty)
        try await advance(0.001)
        let end = try #require(try await events("lifecycle.app.terminated").first)
        #expect(try moment(end["time"]) == wake.deadline)
        #expect(end["data"]?["code"]?.string == "0x2182bad4")
        let order = try await orders.take("the end of the app")
        #expect(order["type"]?.string == "terminate")
        #expect(try await state == "notRunning")
        #expect(try await eventually("fetch.refresh.recorded", count: 2)["data"]?["result"]?.string == "timedOut")
    }
}
