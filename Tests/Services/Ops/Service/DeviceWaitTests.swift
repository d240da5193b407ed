import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Records
import Runtime
import TestSupport
import Testing
import Timeline

@testable import OpsService

@Suite("Waiting for devices", .tags(.database), .timeLimit(.minutes(5))) struct DeviceWaitTests {
    @Test func `an advance waits for the answers of connected devices and names those that did not answer`()
        async throws
    {
        try await OpsFixture.run(virtual: true) { fixture in
            let start = try await fixture.freeze()
            try await fixture.running { runtime in
                for device in ["a", "b", "alone"] { try await fixture.wake(device, at: start) }
                // The wakes are no events of the counter, but it must settle before the first step.
                try await fixture.connect(.device(.device("a")))
                try await fixture.connect(.device(.device("b")))
                _ = try await runtime.submit(
                    Submission<Counter>(
                        key: .device("bell"), command: .ring(after: .seconds(120)), origin: Origin(id: UUID())
                    ) { _, _ in [] })
                let began = ContinuousClock.now
                async let advance = fixture.advance(#"{"seconds":600,"waitForDevices":1}"#)
                try await fixture.complete("a", at: start)
                let answer = try await advance
                #expect(
                    answer.json == [
                        "now": .string((start + .seconds(600)).description), "settled": true, "unanswered": ["b"],
                    ])
                #expect(ContinuousClock.now - began >= .seconds(1))
                // The wake of b was given up: the next advance does not wait for it again.
                let again = try await fixture.advance(#"{"seconds":1,"waitForDevices":0.1}"#)
                #expect(again.json["unanswered"] == [])
                // A new order of the same device is waited for.
                try await fixture.wake("b", at: start + .seconds(601))
                let third = try await fixture.advance(#"{"seconds":1,"waitForDevices":0.1}"#)
                #expect(third.json["unanswered"] == ["b"])
            }
        }
    }

    @Test func `the clock stands until the last answer`() async throws {
        try await OpsFixture.run(virtual: true) { fixture in
            let start = try await fixture.freeze()
            try await fixture.wake("a", at: start)
            try await fixture.connect(.device(.device("a")))
            let wait = DeviceWait(
                for: .seconds(60), store: OpsStore(pool: fixture.pool), tail: fixture.tail, past: PastOrders())
            let heads = try await fixture.tail.heads()
            async let settled = wait.settled(at: heads)
            // It would name the device if it did not read the answer.
            try await fixture.complete("a", at: start)
            _ = try await settled
            #expect(await wait.unanswered == [])
            #expect(try await !wait.settled(at: try await fixture.tail.heads()))
        }
    }

    @Test func `a stream of a fleet connects its devices that are not built-in`() async throws {
        try await OpsFixture.run(virtual: true) { fixture in
            let start = try await fixture.freeze()
            for (device, fleet) in [
                ("known", "f"), ("known-built-in", "f"), ("new", "f"), ("built-in", "f"), ("other", "g"),
            ] {
                var registration = Registration()
                registration.fleet = fleet
                if device.hasSuffix("built-in") { registration.simulate = BuiltInDevice() }
                try await fixture.owner.append(
                    ForeignEvent(LifecycleEvent.DeviceRegistered(registration: registration), to: device, at: start),
                    partitions: OpsFixture.partitions)
                if device.hasPrefix("known") { try await fixture.count() }
                try await fixture.wake(device, at: start)
            }
            try await fixture.connect(.fleet("f"))
            let wait = DeviceWait(
                for: .milliseconds(50), store: OpsStore(pool: fixture.pool), tail: fixture.tail, past: PastOrders())
            _ = try await wait.settled(at: try await fixture.tail.heads())
            #expect(await wait.unanswered == ["known", "new"])
        }
    }

    @Test func `a delivered notification waits for its acknowledgement without a stream of orders`() async throws {
        try await OpsFixture.run(virtual: true) { fixture in
            let start = try await fixture.freeze()
            var delivered = PushEvent.NotificationDelivered.placeholder
            (delivered.app, delivered.notification) = ("app", "n-1")
            try await fixture.owner.append(
                ForeignEvent(delivered, to: "a", at: start), partitions: OpsFixture.partitions)
            let wait = DeviceWait(
                for: .milliseconds(50), store: OpsStore(pool: fixture.pool), tail: fixture.tail, past: PastOrders())
            _ = try await wait.settled(at: try await fixture.tail.heads())
            #expect(await wait.unanswered == ["a"])
        }
    }

    @Test func `a lost process does not keep its devices connected`() async throws {
        try await OpsFixture.run(virtual: true) { fixture in
            let start = try await fixture.freeze()
            try await fixture.wake("a", at: start)
            try await fixture.connect(.device(.device("a")))
            try await fixture.sql("UPDATE bus.order_streams SET expires = clock_timestamp() - interval '1 second'")
            let wait = DeviceWait(
                for: .seconds(60), store: OpsStore(pool: fixture.pool), tail: fixture.tail, past: PastOrders())
            #expect(try await !wait.settled(at: try await fixture.tail.heads()))
        }
    }

    @Test(arguments: [#"{"seconds":1,"waitForDevices":-1}"#, #"{"seconds":1,"waitForDevices":61}"#])
    func `invalid waits are refused`(_ body: String) async throws {
        try await OpsFixture.run(virtual: true) { fixture in
            let answer = try await fixture.advance(body)
            #expect(answer.status == 422 && answer.faults == ["/waitForDevices"])
        }
    }
}

@Suite("Open orders", .tags(.database)) struct OpenOrdersTests {
    private let device = AggregateKey.device("a")

    private func open(after events: [any EventData]) -> Set<String> {
        var orders = OpenOrders()
        for event in events {
            orders.take(
                Event(
                    id: UUID(), source: String(type(of: event).type.prefix { $0 != "." }), type: type(of: event).type,
                    version: 1, key: device, app: event.app, time: .epoch, correlation: UUID(), causation: nil,
                    traceparent: nil, data: event.jsonBytes), at: .now)
        }
        return Set((orders.devices[device] ?? [:]).keys.map { "\($0.kind) \($0.name)" })
    }

    private func woken(_ wake: String) -> LifecycleEvent.AppWoken {
        var event = LifecycleEvent.AppWoken.placeholder
        (event.app, event.wake) = ("app", wake)
        return event
    }

    @Test func `a wake is open until its completion, its expiration or the end of the app`() {
        var completed = LifecycleEvent.WakeCompleted.placeholder
        (completed.app, completed.wake) = ("app", "w")
        var expired = LifecycleEvent.WakeExpired.placeholder
        (expired.app, expired.wake) = ("app", "w")
        var terminated = LifecycleEvent.AppTerminated.placeholder
        terminated.app = "app"
        #expect(open(after: [woken("w")]) == ["wake w"])
        for end in [completed, expired, terminated] as [any EventData] {
            #expect(open(after: [woken("w"), end]) == [])
        }
        terminated.app = "other"
        #expect(open(after: [woken("w"), terminated]) == ["wake w"])
    }

    @Test func `only callbacks with a deadline are open`() {
        var backgrounded = LifecycleEvent.AppBackgrounded.placeholder
        (backgrounded.app, backgrounded.callbacks) = ("app", [.willResignActive, .didEnterBackground])
        #expect(open(after: [backgrounded]) == [])
        backgrounded.deadline = .epoch
        #expect(open(after: [backgrounded]) == ["callback didEnterBackground"])
        var completed = LifecycleEvent.CallbackCompleted.placeholder
        (completed.app, completed.callback) = ("app", .didEnterBackground)
        #expect(open(after: [backgrounded, completed]) == [])
    }

    @Test func `a stored notification is no longer open`() {
        var delivered = PushEvent.NotificationDelivered.placeholder
        (delivered.app, delivered.notification) = ("app", "n")
        var stored = PushEvent.NotificationStored.placeholder
        (stored.app, stored.notification) = ("app", "n")
        #expect(open(after: [delivered]) == ["notification n"])
        #expect(open(after: [delivered, stored]) == [])
    }
}

extension OpsFixture {
    /// Freezes the clock and returns its time.
    fileprivate func freeze() async throws -> Instant {
        try #require(Instant(try await send("PUT", "/v1/clock", #"{"frozen":true}"#).json["now"]?.string ?? ""))
    }

    fileprivate func advance(_ body: String) async throws -> Answer {
        try await send("POST", "/v1/clock/advance", body)
    }

    func connect(_ subject: OrderStreamStore.Subject) async throws {
        try await OrderStreamStore(pool: owner).add(UUID(), of: subject, holder: UUID())
    }

    func wake(_ device: String, at time: Instant) async throws {
        var woken = LifecycleEvent.AppWoken.placeholder
        (woken.app, woken.wake) = ("app", "wake-\(device)")
        try await owner.append(ForeignEvent(woken, to: device, at: time), partitions: Self.partitions)
    }

    fileprivate func complete(_ device: String, at time: Instant) async throws {
        var completed = LifecycleEvent.WakeCompleted.placeholder
        (completed.app, completed.wake) = ("app", "wake-\(device)")
        try await owner.append(ForeignEvent(completed, to: device, at: time), partitions: Self.partitions)
    }
}
