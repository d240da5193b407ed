import NIOHTTP1
import Records
import TestSupport
import Testing
import Timeline

/// Devices without a client, and an advance that waits for those that have one, with real processes in virtual time.
@Suite("Built-in devices", .tags(.database, .processes, .stockClient), .timeLimit(.minutes(5)))
struct BuiltInDeviceTests {
    private static let news = "/apps/" + Story.app

    @Test func `a built-in device shows an alert and completes the wake of a silent notification`() async throws {
        let suite = try await RunningSuite.start(virtualTime: true)
        try await suite.freeze()
        let phone = "/v1/devices/phone"
        let token = try await suite.installNews(on: phone, simulate: ["answers": ["after": 3]])
        let provider = try await Provider(suite)
        let alert = try await provider.notify(token, ["aps": ["alert": "Breaking"]], silent: false)
        let silent = try await provider.notify(token, ["aps": ["content-available": 1]], silent: true)
        let answer = try await suite.advance(60)
        #expect(answer["unanswered"] == [] && answer["settled"] == true)
        #expect(try await suite.statuses(of: alert.unique) == ["Received", "Delivered", "Acknowledged"])
        let words = try await suite.statuses(of: silent.unique)
        #expect(Set(words) == ["Received", "Delivered", "Wake Requested", "Acknowledged", "Woke App", "Completed"])
        // The handler took three seconds of suite time.
        let woken = try await suite.time(of: "lifecycle.app.woken", on: "phone")
        #expect(try await suite.time(of: "lifecycle.wake.completed", on: "phone") == woken + .seconds(3))

        // A client takes the device over, leaves a wake open, and gives the device back.
        let orders = try await suite.stream(.lifecycle, phone + "/orders")
        _ = try await provider.notify(token, ["aps": ["content-available": 1]], silent: true)
        #expect(try await orders.take("the wake")["type"] == "wake")
        #expect(try await suite.advance(10, waitForDevices: 0.1)["unanswered"] == ["phone"])
        let state = try await suite.call(.GET, .lifecycle, phone + Self.news).json
        #expect(state["wakes"]?.members?.count == 1)
        withExtendedLifetime(orders) {}
        for (service, end) in try await suite.stop() { #expect(end == .exited(0), "\(service)") }
        try await suite.cluster.destroy()
    }

    @Test func `an advance stands until a connected device has answered its order`() async throws {
        let suite = try await RunningSuite.start([.lifecycle, .fetch, .push, .transfer, .ops], virtualTime: true)
        try await suite.freeze()
        for device in ["quick", "mute"] {
            let path = "/v1/devices/\(device)"
            try await suite.call(.PUT, .lifecycle, path, ["profile": "ios15"])
            try await suite.call(.PUT, .lifecycle, path + Self.news, ["handlersReturn": "reported"])
            try await suite.call(.POST, .lifecycle, path + Self.news + "/transitions", ["event": "launch"])
        }
        let quick = try await suite.stream(.lifecycle, "/v1/devices/quick/orders")
        let mute = try await suite.stream(.lifecycle, "/v1/devices/mute/orders")
        // The launch was ordered before the streams began: both answer it here.
        for device in ["quick", "mute"] { try await suite.complete("didFinishLaunching", on: device) }
        for device in ["quick", "mute"] {
            try await suite.call(
                .POST, .lifecycle, "/v1/devices/\(device)\(Self.news)/transitions", ["event": "home"])
        }
        let start = try await suite.call(.GET, .ops, "/v1/clock").json["now"]
        async let advance = suite.advance(600, waitForDevices: 3)
        while try await quick.take("didEnterBackground")["name"] != "didEnterBackground" {}
        try await suite.complete("didEnterBackground", on: "quick")
        #expect(try await advance["unanswered"] == ["mute"])
        let completed = try await suite.event("lifecycle.callback.completed", on: "quick")
        #expect(completed["time"] == start, "the clock stood until the answer")
        let ended = try await suite.event("lifecycle.app.terminated", on: "mute")
        #expect(ended["data"]?["reason"] == "didEnterBackgroundTimeout")
        withExtendedLifetime(mute) {}
        for (service, end) in try await suite.stop() { #expect(end == .exited(0), "\(service)") }
        try await suite.cluster.destroy()
    }
}

extension RunningSuite {
    fileprivate func freeze() async throws { try await call(.PUT, .ops, "/v1/clock", ["frozen": true]) }

    fileprivate func advance(_ seconds: Double, waitForDevices: Double = 2) async throws -> JSON {
        try await call(
            .POST, .ops, "/v1/clock/advance",
            ["seconds": .double(seconds), "timeout": 60, "waitForDevices": .double(waitForDevices)]
        ).json
    }

    /// Registers a built-in device with an app that has a push token and is suspended, and returns the token.
    fileprivate func installNews(on path: String, simulate: JSON) async throws -> String {
        try await call(.PUT, .lifecycle, path, ["profile": "ios15", "simulate": simulate])
        let app = path + "/apps/" + Story.app
        try await call(
            .PUT, .lifecycle, app,
            ["backgroundModes": ["remote-notification"], "notificationAuthorization": "authorized"])
        let launched = try await call(.POST, .lifecycle, app + "/transitions", ["event": "launch"])
        let registered = try await call(
            .PUT, .push, app + "/registration", ["environment": "sandbox"], after: launched.position)
        let left = try await call(.POST, .lifecycle, app + "/transitions", ["event": "home"])
        // `push` knows that the app has left the screen.
        try await call(.GET, .push, app + "/tokens", after: left.position)
        return try #require(registered.json["token"]?.string)
    }

    fileprivate func statuses(of notification: String) async throws -> [String] {
        let timeline = try await call(.GET, .push, "/v1/notifications/\(notification)").json
        return timeline["statuses"]?.items?.compactMap { $0["status"]?.string } ?? []
    }

    /// Completes a callback of the app on a device.
    fileprivate func complete(_ callback: String, on device: String) async throws {
        try await call(
            .POST, .lifecycle, "/v1/devices/\(device)/apps/\(Story.app)/callbacks/\(callback)/completion", [:])
    }

    /// Returns the latest event of a type.
    fileprivate func event(_ type: String, on device: String) async throws -> JSON {
        let events = try await call(.GET, .ops, "/v1/events?device=\(device)&type=\(type)&limit=1").json
        return try #require(events["items"]?.items?.first)
    }

    fileprivate func time(of type: String, on device: String) async throws -> Instant {
        try #require(Instant(try await event(type, on: device)["time"]?.string ?? ""))
    }
}
