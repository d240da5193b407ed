import NIOHTTP1
import Records
import Synchronization
import TestSupport
import Testing

extension Story {
    /// Three silent notifications wake the app. The fourth exceeds the budget, and is delivered with an alert.
    ///
    /// - Returns: the wake of the fourth, which is not completed.
    func pushes(to token: String) async throws -> Wake {
        let provider = try await Provider(suite)
        let stream = try await suite.stream(.push, "/v1/devices/phone/notifications", as: self.token)
        for number in 1...3 {
            let sent = try await provider.notify(token, silent(number), silent: true)
            try await receive(sent.unique, silent(number), from: stream)
            // The first wake launches the app.
            let callbacks = (number == 1 ? launchCallbacks : []) + ["didReceiveRemoteNotification"]
            let wake = try await wake("push", callbacks)
            #expect(wake.request == sent.unique && wake.payload == silent(number))
            try await complete(wake, number == 2 ? "noData" : "newData")
            try await order("suspend", "suspend")
            let words = ["Received", "Delivered", "Wake Requested", "Woke App", "Completed"]
            try await told(sent.unique, words)
        }

        let held = try await provider.notify(token, silent(4), silent: true)
        try await told(held.unique, ["Received", "Held – Silent Budget"])
        let alert: JSON = ["aps": ["alert": "Breaking"]]
        let ordinary = try await provider.notify(token, alert, silent: false)
        try await receive(ordinary.unique, alert, from: stream)
        try await receive(held.unique, silent(4), from: stream)
        let wake = try await wake("push", ["didReceiveRemoteNotification"])
        #expect(wake.request == held.unique)
        try await told(
            held.unique, ["Received", "Held – Silent Budget", "Released – Piggyback", "Delivered", "Woke App"])
        return wake
    }

    private func silent(_ number: Int) -> JSON { ["aps": ["content-available": 1], "n": .int(number)] }

    /// Expects this notification next on the stream, and acknowledges it.
    private func receive(_ id: String, _ payload: JSON, from stream: EventReader) async throws {
        let item = try await stream.take("notification \(id)")
        #expect(item["id"]?.string == id)
        #expect(item["payload"] == payload)
        #expect(item["app"]?.string == Self.app)
        try await device(.POST, .push, "/v1/devices/phone/notifications/\(id)/ack")
    }

    /// Waits until the timeline of the notification has these statuses. `Acknowledged` is optional: the device and
    /// `lifecycle` answer at the same time, and a woken app has the notification.
    private func told(_ id: String, _ words: [String]) async throws {
        let last = Mutex(JSON.null)
        do {
            try await TestSupport.eventually(within: 90, describe: "\(words) of \(id)") { [self] in
                let timeline = try await device(.GET, .push, "/v1/notifications/\(id)").json
                last.withLock { $0 = timeline }
                let told = timeline["statuses"]?.items?.compactMap { $0["status"]?.string } ?? []
                return told.first == words.first && Set(told).isSuperset(of: words)
            }
        } catch let error as TimedOut {
            let told = String(decoding: last.withLock { $0 }.bytes, as: UTF8.self)
            throw Unexpected("\(error); the timeline was \(told)\n\(suite.words(of: .push))")
        }
    }
}
