import Contracts
import EventLog
import Foundation
import Records
import TestSupport
import Testing
import Timeline

@testable import OpsService

/// The events that explain what happened to a notification.
@Suite("Reasons of pushes over HTTP", .tags(.database), .timeLimit(.minutes(5))) struct PushReasonsTests {
    @Test func `a stored push names the disconnection, and an arrival from storage its wait`() async throws {
        try await run { story in
            try await story.add(PushEvent.DeviceDisconnected(cause: .closed, connection: "c0"), at: 0)
            let lost = try await story.add(PushEvent.DeviceDisconnected(cause: .networkLost, connection: "c1"), at: 1)
            try await story.receive("n1", at: 2)
            let stored = try await story.add(
                PushEvent.NotificationStored(app: "mail", notification: "n1", until: PushStory.start), at: 2)
            try await story.add(PushEvent.DeviceDisconnected(cause: .closed, connection: "c2"), at: 50)
            #expect(try await story.reasons(of: stored) == ["disconnection \(lost)"])
            #expect(try await story.push("n1")["why"] == "Stored – Device Offline")
            #expect(try await story.reasons(ofPush: "n1") == ["disconnection \(lost)"])

            let delivered = try await story.add(
                PushEvent.NotificationDelivered(
                    app: "mail", apnsID: "x", arrived: false, fromStorage: true, notification: "n1", payload: [:],
                    quiet: false, silent: false, status: .deliveredFromStorage, willPresent: false), at: 60)
            try await story.add(
                PushEvent.NotificationAcknowledged(app: "mail", arrived: true, notification: "n1"), at: 61)
            #expect(try await story.push("n1")["verdict"] == "late")
            let expected = ["wait \(stored)", "disconnection \(lost)"]
            #expect(try await story.reasons(ofPush: "n1") == expected)
            #expect(try await story.reasons(of: delivered) == expected)
            let lenient = try await story.push("n1", "?lateAfter=60")
            #expect(lenient["verdict"] == "inTime")
        }
    }

    @Test func `a held push names the charges that spent the budget`() async throws {
        try await run { story in
            var charges: [String] = []
            for number in 0..<5 {
                charges.append(try await story.charge("s\(number)", number != 3 ? "mail" : "web", at: number))
            }
            // This wake was refused, so that its charge was refunded.
            try await story.charge("s5", "mail", at: 5)
            try await story.charge("s5", "mail", at: 5, charged: false)
            try await story.receive("n1", at: 6)
            let held = try await story.add(
                PushEvent.NotificationHeld(app: "mail", notification: "n1", until: PushStory.start), at: 6)
            #expect(try await story.reasons(of: held) == [4, 2, 1].map { "budget \(charges[$0])" })
            let conditions = try await story.add(
                PushEvent.ConditionsChanged(charging: false, locked: true, lowPowerMode: true), at: 7)
            let again = try await story.add(
                PushEvent.NotificationHeld(app: "mail", notification: "n1", status: .heldLowPower), at: 8)
            #expect(try await story.reasons(of: again) == ["conditions \(conditions)"])
        }
    }

    @Test func `a discarded push names the refusal, the end of the app or its wait`() async throws {
        try await run { story in
            let refusal = try await story.add(
                LifecycleEvent.WakeRefused(app: "mail", reason: .push, refusal: .forceQuit), at: 0)
            try await story.receive("n1", at: 1)
            let discarded = try await story.add(
                PushEvent.NotificationDiscarded(
                    app: "mail", notification: "n1", refusal: .forceQuit, status: .discardedNotWoken), at: 1,
                cause: refusal)
            #expect(try await story.reasons(of: discarded) == ["refusal \(refusal)"])
            #expect(try await story.reasons(ofPush: "n1") == ["refusal \(refusal)"])

            var denied = NotificationSettings()
            denied.authorization = .denied
            let off = try await story.add(
                PushEvent.AppUpdated(
                    app: "mail", hasServiceExtension: false, notifications: denied, wakes: true), at: 2)
            let unasked = try await story.add(
                PushEvent.AppUpdated(
                    app: "web", hasServiceExtension: false, notifications: NotificationSettings(), wakes: true), at: 2)
            try await story.receive("n2", at: 3)
            let disabled = try await story.add(
                PushEvent.NotificationDiscarded(app: "mail", notification: "n2", status: .discardedDisabled), at: 3)
            #expect(try await story.reasons(of: disabled) == ["settings \(off)"])
            let notAsked = try await story.add(
                PushEvent.NotificationDiscarded(app: "web", notification: "n2", status: .discardedNotAuthorized), at: 3)
            #expect(try await story.reasons(of: notAsked) == ["settings \(unasked)"])

            let lost = try await story.add(PushEvent.DeviceDisconnected(cause: .powerLost, connection: "c1"), at: 4)
            try await story.receive("n3", at: 5)
            let stored = try await story.add(
                PushEvent.NotificationStored(app: "mail", notification: "n3", until: PushStory.start), at: 5)
            let expired = try await story.add(
                PushEvent.NotificationDiscarded(app: "mail", notification: "n3", status: .discardedExpired), at: 600)
            try await story.fixture.count()
            let expected = ["wait \(stored)", "disconnection \(lost)"]
            #expect(try await story.reasons(of: expired) == expected)
            #expect(try await story.reasons(ofPush: "n3") == expected)
        }
    }

    @Test func `a replaced push names the newer one`() async throws {
        try await run { story in
            try await story.receive("n1", at: 1)
            let newer = try await story.receive("n2", at: 2)
            let replaced = try await story.add(
                PushEvent.NotificationReplaced(app: "mail", by: "n2", notification: "n1"), at: 2)
            try await story.fixture.count()
            #expect(try await story.reasons(of: replaced) == ["replacement \(newer)"])
            let push = try await story.push("n1")
            #expect(push["verdict"] == "never" && push["cause"] == "n2")
            #expect(try await story.reasons(ofPush: "n1") == ["replacement \(newer)"])
        }
    }

    @Test func `a notification that the log does not have is not found`() async throws {
        try await OpsFixture.run { fixture in
            #expect(try await fixture.get("/v1/pushes/n1").status == 404)
            #expect(try await fixture.get("/v1/pushes/n1?lateAfter=-1").code == "invalid_query")
            #expect(try await fixture.get("/v1/pushes/n1", key: OpsFixture.otherKey).status == 403)
            // An event that is not about a notification has no reasons.
            let id = try await fixture.append("lifecycle.app.woken", to: "d1")
            #expect(try await fixture.get("/v1/events/\(id)/causes").json["reasons"] == [])
        }
    }

    private func run(_ body: @Sendable @escaping (ReasonStory) async throws -> Void) async throws {
        try await OpsFixture.run { fixture in try await body(ReasonStory(fixture: fixture)) }
    }
}

/// Appends events of the catalogue about one device.
private struct ReasonStory {
    let fixture: OpsFixture

    /// - Returns: the id of the event.
    @discardableResult
    func add(_ data: some EventData, at seconds: Int, cause: String? = nil) async throws -> String {
        var event = ForeignEvent(data, to: "phone", at: PushStory.start + .seconds(Int64(seconds)))
        event.causation = cause.flatMap { UUID(uuidString: $0) }
        try await fixture.owner.append(event, partitions: OpsFixture.partitions)
        return event.id.lowercased
    }

    @discardableResult
    func receive(_ id: String, at seconds: Int) async throws -> String {
        try await add(
            PushEvent.NotificationReceived(
                app: "mail", apnsID: "x", forUser: true, neverStored: false, notification: id, payload: [:],
                silent: false, topic: "mail", until: PushStory.start), at: seconds)
    }

    @discardableResult
    func charge(_ id: String, _ app: String, at seconds: Int, charged: Bool = true) async throws -> String {
        try await add(
            PushEvent.BudgetChanged(
                app: app, charged: charged, day: 0, fullAt: PushStory.start, notification: id, spentToday: 1),
            at: seconds)
    }

    /// Returns the reasons of an event, each with its kind and the id of its event.
    func reasons(of event: String) async throws -> [String] {
        Self.texts(try await fixture.get("/v1/events/\(event)/causes").json)
    }

    func reasons(ofPush id: String) async throws -> [String] {
        Self.texts(try await fixture.get("/v1/pushes/\(id)").json)
    }

    func push(_ id: String, _ query: String = "") async throws -> JSON {
        try await fixture.get("/v1/pushes/\(id)\(query)").json["push"] ?? .null
    }

    private static func texts(_ document: JSON) -> [String] {
        (document["reasons"]?.items ?? []).map { item in
            "\(item["reason"]?.string ?? "") \(item["event"]?["id"]?.string ?? "")"
        }
    }
}
