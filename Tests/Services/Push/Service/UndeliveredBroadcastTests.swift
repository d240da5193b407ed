import Contracts
import Foundation
import Postgres
import PushCore
import Records
import ServiceKit
import TestSupport
import Testing
import Timeline

@testable import PushService

@Suite("Undelivered broadcasts", .tags(.database, .processes), .timeLimit(.minutes(4))) struct UndeliveredBroadcastTests
{
    @Test func `a device that fails does not end the retry of the others`() async throws {
        try await UndeliveredFixture.run { fixture in
            let channel = try await fixture.suite.makeChannel(stores: true)
            // The retry processes devices in the order of their keys.
            let devices = ["ahead", "first", "second"]
            for device in devices { try await fixture.makeSubscriber(device, to: [channel]) }
            let states = try await fixture.breakStates(of: devices)
            try await fixture.broadcast(channel, "one")
            #expect(try await fixture.undelivered() == ["device:ahead one", "device:first one", "device:second one"])
            try await fixture.hold()
            try await fixture.restore(states)
            try await fixture.run("UPDATE push.states SET machine_version = 1000 WHERE key = 'device:ahead'")
            try await fixture.forgetCache()
            // Only once: a device that this retry skips waits for a minute.
            try await fixture.retry()
            try await eventually(within: 30, describe: "the others have the broadcast") {
                try await fixture.suite.received() == ["device:first": ["one"], "device:second": ["one"]]
            }
            try await eventually(within: 30, describe: "only the failing device waits") {
                try await fixture.undelivered() == ["device:ahead one"]
            }
            let reasons = try await fixture.texts("SELECT reason FROM push.undelivered_broadcasts")
            #expect(reasons == ["the state of device:ahead has version 1000, newer than this program"])
        }
    }

    @Test func `a newer broadcast waits behind an undelivered one of its channel`() async throws {
        try await UndeliveredFixture.run { fixture in
            let suite = fixture.suite
            let channel = try await suite.makeChannel(stores: true)
            let other = try await suite.makeChannel(stores: true)
            try await fixture.makeSubscriber("sick", to: [channel, other])
            try await fixture.makeSubscriber("well", to: [channel])
            let states = try await fixture.breakStates(of: ["sick"])
            try await fixture.broadcast(channel, "one")
            try await fixture.hold()
            try await fixture.restore(states)
            // The device is readable again, but its retry is not due yet.
            try await fixture.broadcast(channel, "two")
            try await fixture.broadcast(other, "aside")
            #expect(try await suite.received() == ["device:sick": ["aside"], "device:well": ["one", "two"]])
            #expect(try await fixture.undelivered() == ["device:sick one", "device:sick two"])
            try await fixture.retry()
            try await fixture.settled()
            #expect(try await suite.received()["device:sick"] == ["aside", "one", "two"])
            // The next broadcast does not wait.
            try await fixture.broadcast(channel, "three")
            #expect(try await suite.received()["device:sick"] == ["aside", "one", "two", "three"])
        }
    }

    @Test func `a relay that has lost its lease keeps nothing`() async throws {
        try await UndeliveredFixture.run { fixture in
            let store = PushStore(pool: fixture.database.pool, partitions: 4)
            let number = try #require(
                try await fixture.texts(
                    """
                    INSERT INTO push.broadcasts
                        (environment, app, channel, request_id, priority, never_stored, payload, traceparent)
                    VALUES ('sandbox', 'a', 'c', gen_random_uuid(), 10, false, '{}', '') RETURNING broadcast::text
                    """
                ).first.flatMap { Int($0) })
            try await fixture.run(
                """
                INSERT INTO push.broadcast_relays (partition, broadcast, channel, owner, leased_until)
                VALUES (0, \(number), 'c', '\(store.owner)', 'infinity')
                """)
            let relay = PushStore.Relay(
                broadcast: number, partition: 0, after: "",
                message: IncomingBroadcast(
                    app: "a", channel: "c", environment: .sandbox, requestID: UUID().uuidString, priority: 10,
                    expiration: nil, neverStored: false, payload: [:]),
                requester: Requester())
            func keep(_ device: String) async throws {
                try await store.keep(relay, for: [.init(key: .device(device), reason: "parked", wasTried: true)])
            }
            let kept = "SELECT key FROM push.undelivered_broadcasts ORDER BY key"
            try await keep("one")
            #expect(try await fixture.texts(kept) == ["device:one"])
            let another = PushStore(pool: fixture.database.pool, partitions: 4)
            try await fixture.run("UPDATE push.broadcast_relays SET owner = '\(another.owner)'")
            try await keep("two")
            #expect(try await fixture.texts(kept) == ["device:one"])
            // The new owner ends the relay: the broadcast stays for the waiting device.
            try await another.finish(relay)
            #expect(try await fixture.texts("SELECT broadcast::text FROM push.broadcasts") == ["\(number)"])
            let deletion = await #expect(throws: PostgresError.self) {
                try await fixture.run("DELETE FROM push.broadcasts")
            }
            #expect(deletion?.sqlState == "23503")
            try await fixture.run("DELETE FROM push.undelivered_broadcasts")
            try await fixture.run("DELETE FROM push.broadcasts")
            try await keep("three")
            #expect(try await fixture.texts(kept) == [])
            let orphan = await #expect(throws: PostgresError.self) {
                try await fixture.run(
                    """
                    INSERT INTO push.undelivered_broadcasts
                        (partition, key, channel, broadcast, reason, queued_time, retry_at)
                    VALUES (0, 'device:one', 'c', \(number), 'parked', 0, clock_timestamp())
                    """)
            }
            #expect(orphan?.sqlState == "23503")
        }
    }

    @Test func `an undelivered broadcast expires in suite time`() async throws {
        try await UndeliveredFixture.run { fixture in
            let channel = try await fixture.suite.makeChannel(stores: true)
            try await fixture.makeSubscriber("sick", to: [channel])
            let states = try await fixture.breakStates(of: ["sick"])
            let inAnHour = RealClock().now.milliseconds / 1000 + 3600
            try await fixture.broadcast(channel, "late", ["apns-expiration": "\(inAnHour)"])
            #expect(try await fixture.undelivered() == ["device:sick late"])
            try await fixture.hold()
            try await fixture.restore(states)
            try await fixture.run(
                """
                UPDATE bus.clock SET is_virtual = true, rate = 0, real_epoch = bus.real_now(),
                    virtual_epoch = bus.real_now() + 2 * 3600000
                """)
            try await fixture.retry()
            try await fixture.settled()
            try await fixture.counts(1, as: "expired")
            #expect(try await fixture.suite.received() == [:])
            #expect(try await fixture.texts("SELECT key FROM push.broadcast_dead_letters") == [])
        }
    }

    @Test func `a broadcast that is never stored waits for two minutes`() async throws {
        try await UndeliveredFixture.run { fixture in
            let channel = try await fixture.suite.makeChannel(stores: false)
            try await fixture.makeSubscriber("sick", to: [channel])
            for (text, age) in [("in time", 1), ("too late", 3)] {
                let states = try await fixture.breakStates(of: ["sick"])
                try await fixture.broadcast(channel, text)
                try await fixture.hold()
                try await fixture.restore(states)
                let ago = "interval '\(age) minutes'"
                try await fixture.run("UPDATE push.undelivered_broadcasts SET queued_at = queued_at - \(ago)")
                try await fixture.retry()
                try await fixture.settled()
            }
            try await fixture.counts(1, as: "expired")
            #expect(try await fixture.suite.received() == ["device:sick": ["in time"]])
        }
    }

    @Test func `the service gives up after 8 hours and records a dead letter`() async throws {
        try await UndeliveredFixture.run { fixture in
            let suite = fixture.suite
            let channel = try await suite.makeChannel(stores: true)
            try await fixture.makeSubscriber("sick", to: [channel])
            let states = try await fixture.breakStates(of: ["sick"])
            let reason = "the stored state of device:sick can't be read"
            // Eight hours of real time, then of suite time.
            for age in ["queued_at = queued_at - interval '8 hours'", "queued_time = queued_time - 8 * 3600000"] {
                let request = try await fixture.broadcast(channel, "lost")
                #expect(try await fixture.undelivered() == ["device:sick lost"])
                try await fixture.run("UPDATE push.undelivered_broadcasts SET retry_at = '-infinity', \(age)")
                try await fixture.settled()
                // In the second round, the dead letter of the first one is older than 30 days.
                let letters = try await fixture.texts(
                    "SELECT concat_ws(' ', key, app, channel, request_id, reason) FROM push.broadcast_dead_letters")
                #expect(letters == ["device:sick \(PushSuite.app) \(channel) \(request) \(reason)"])
                let month = "interval '31 days'"
                try await fixture.run("UPDATE push.broadcast_dead_letters SET given_up_at = given_up_at - \(month)")
            }
            try await fixture.counts(2, as: "gave_up")
            try await suite.pushSays("gave up on broadcast")
            try await fixture.restore(states)
            try await fixture.broadcast(channel, "next")
            #expect(try await suite.received() == ["device:sick": ["next"]])
        }
    }
}

/// A suite with its database and devices whose states are temporarily unreadable.
private struct UndeliveredFixture: Sendable {
    let suite: PushSuite
    let database: Database

    static func run(_ body: @Sendable @escaping (UndeliveredFixture) async throws -> Void) async throws {
        try await PushSuite.run { suite in
            try await body(UndeliveredFixture(suite: suite, database: try Database(suite)))
        }
    }

    func texts(_ sql: String) async throws -> [String] { try await database.texts(sql) }

    func run(_ sql: String) async throws { _ = try await database.pool.execute(Query(Statement(sql))) }

    func makeSubscriber(_ device: String, to channels: [String]) async throws {
        _ = try await suite.makeDevice(device)
        #expect(try await suite.subscribe(device, to: channels).status == 200)
    }

    /// Sends a broadcast, and waits until each device has it or waits for it.
    ///
    /// - Returns: the `apns-request-id`.
    @discardableResult
    func broadcast(_ channel: String, _ text: String, _ headers: [String: String] = [:]) async throws -> String {
        let answer = try await suite.broadcast(channel, text, headers)
        #expect(answer.status == 200)
        try await suite.relayed()
        return try #require(answer.headers["apns-request-id"])
    }

    /// - Returns: the former states.
    func breakStates(of devices: [String]) async throws -> [String: [UInt8]] {
        var states: [String: [UInt8]] = [:]
        let read = Statement("SELECT state FROM push.states WHERE key = $1")
        for device in devices {
            states[device] = try await database.pool.execute(Query(read, [.text("device:" + device)]))[0].decode(
                [UInt8].self, at: 0)
        }
        try await restore(states.mapValues { _ in [0] })
        return states
    }

    func restore(_ states: [String: [UInt8]]) async throws {
        let write = Statement("UPDATE push.states SET state = $2 WHERE key = $1")
        for (device, state) in states {
            _ = try await database.pool.execute(Query(write, [.text("device:" + device), .bytes(state)]))
        }
        try await forgetCache()
    }

    /// Makes the service read the states from the database again.
    func forgetCache() async throws { try await run("UPDATE bus.cursors SET last_batch = gen_random_uuid()") }

    /// Returns each device with the text of its undelivered broadcast.
    func undelivered() async throws -> [String] {
        try await texts(
            """
            SELECT concat_ws(' ', u.key, convert_from(b.payload, 'UTF8')::json ->> 'text')
            FROM push.undelivered_broadcasts AS u JOIN push.broadcasts AS b USING (broadcast)
            ORDER BY u.key, broadcast
            """)
    }

    /// Postpones all retries.
    func hold() async throws { try await run("UPDATE push.undelivered_broadcasts SET retry_at = 'infinity'") }

    /// Makes all retries due, once.
    func retry() async throws { try await run("UPDATE push.undelivered_broadcasts SET retry_at = '-infinity'") }

    /// Waits until no broadcast is left.
    func settled() async throws {
        try await eventually(within: 60, describe: "no broadcast is left") {
            try await texts("SELECT broadcast::text FROM push.broadcasts").isEmpty
        }
    }

    /// Waits until the service has counted this number of dropped broadcasts.
    func counts(_ number: Int, as reason: String) async throws {
        let line = #"dormouse_push_broadcasts_dropped_total{reason="\#(reason)"} \#(number)"#
        try await eventually(within: 60, describe: line) { try await suite.text("/metrics").contains(line + "\n") }
    }
}
