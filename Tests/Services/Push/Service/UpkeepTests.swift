import Contracts
import Foundation
import Logging
import Machines
import Postgres
import Records
import Telemetry
import TestSupport
import Testing
import Timeline

@testable import PushService

@Suite(.tags(.database, .processes), .timeLimit(.minutes(4))) struct UpkeepTests {
    @Test func `counts before the retention are deleted and newer ones are kept`() async throws {
        try await PushSuite.run { suite in
            let database = try Database(suite)
            let hour = Int(RealClock().now.milliseconds / 3_600_000)
            let (old, young) = (hour - 30 * 24 - 2, hour - 30 * 24 + 2)
            // More counts in one partition than two passes delete.
            _ = try await database.texts(
                """
                INSERT INTO push.notification_counts (partition, hour, app, push_type, status, n)
                SELECT 1, \(old) - n, 'a', 'alert', 'Received', 1 FROM generate_series(0, 1199) AS n
                UNION ALL SELECT p, \(young), 'a', 'alert', 'Received', 1 FROM generate_series(0, 3) AS p
                """)
            let store = PushStore(pool: database.pool, partitions: 4)
            // Deletes the oldest first, up to the limit.
            #expect(try await store.forgetCounts(before: young, in: 1, limit: 100) == 100)
            let oldest = "SELECT min(hour)::text FROM push.notification_counts"
            #expect(try await database.texts(oldest) == ["\(old - 1099)"])
            #expect(try await store.forgetCounts(before: young, in: 2, limit: 100) == 0)
            // A new process runs upkeep soon after its start.
            let replica = try await suite.another()
            defer { replica.process.signal(SIGKILL) }
            try await eventually(within: 60, describe: "old counts are deleted") {
                try await database.texts(oldest) == ["\(young)"]
            }
            #expect(
                try await database.texts("SELECT count(*)::text FROM push.notification_counts WHERE app = 'a'") == ["4"]
            )
        }
    }

    @Test func `devices are unsubscribed from a deleted channel`() async throws {
        try await PushSuite.run { suite in
            let gone = try await suite.makeChannel(stores: true)
            let kept = try await suite.makeChannel(stores: true)
            for device in ["one", "two", "dropped"] {
                _ = try await suite.makeDevice(device)
                #expect(try await suite.subscribe(device, to: [gone, kept]).status == 200)
            }
            #expect(try await suite.send("DELETE", "/v1/devices/dropped", port: suite.lifecycle).status == 204)
            let path = "/1/apps/\(PushSuite.app)/channels"
            #expect(try await suite.channels("DELETE", path, nil, ["apns-channel-id": gone]).status == 204)
            let database = try Database(suite)
            let store = PushStore(pool: database.pool, partitions: 4)
            let audiences = try await store.audiences(after: nil, limit: 100)
            #expect(Set(audiences.map(\.channel)) == [gone, kept])
            // Pages of one give the same result.
            var walked: [PushStore.Audience] = []
            while let next = try await store.audiences(after: walked.last, limit: 1).first { walked.append(next) }
            #expect(walked == audiences)
            let without = try await store.withoutChannel(audiences)
            #expect(without == audiences.filter { $0.channel == gone })
            // A registration may be in progress for up to ten minutes.
            let audience = try #require(without.first)
            #expect(try await store.orphans(audience, limit: 10) == [])
            _ = try await database.texts("UPDATE push.subscriptions SET touched_at = now() - interval '11 minutes'")
            #expect(try await store.orphans(audience, limit: 1).count == 1)
            // A relay of the channel delays the unsubscription.
            let relay = "\(audience.partition), -1, '\(gone)', 'infinity'"
            _ = try await database.texts(
                """
                INSERT INTO push.broadcast_relays (partition, broadcast, channel, leased_until) VALUES (\(relay))
                """)
            #expect(try await store.orphans(audience, limit: 10) == [])
            _ = try await database.texts("DELETE FROM push.broadcast_relays")

            // More devices than one pass unsubscribes: the next one begins at once, not after ten minutes.
            _ = try await database.texts(
                """
                INSERT INTO push.subscriptions (partition, app, channel, key, touched_at)
                SELECT 1, '\(PushSuite.app)', '\(gone)', 'device:ghost-' || n, now() - interval '11 minutes'
                FROM generate_series(1, 1200) AS n
                """)
            let replica = try await suite.another()
            defer { replica.process.signal(SIGKILL) }
            try await eventually(within: 60, describe: "no subscription of the channel is left") {
                try await database.texts("SELECT DISTINCT channel FROM push.subscriptions") == [kept]
            }
            let told = """
                SELECT DISTINCT ON (key) concat(key, ' ', data -> 'channels') FROM bus.events
                WHERE type = 'push.channels.changed' AND key <> 'device:dropped' ORDER BY key, log_offset DESC
                """
            #expect(try await database.texts(told) == ["device:one [\"\(kept)\"]", "device:two [\"\(kept)\"]"])
            #expect(try await database.texts("SELECT key FROM push.subscriptions WHERE key = 'device:one'").count == 1)
        }
    }
}
