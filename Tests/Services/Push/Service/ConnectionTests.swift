import AsyncHTTPClient
import Contracts
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import Postgres
import Records
import Synchronization
import TestSupport
import Testing

@testable import PushService

@Suite(.tags(.database, .processes, .stockClient), .timeLimit(.minutes(4))) struct ConnectionTests {
    @Test func `a device is disconnected when the process that holds its connection dies`() async throws {
        try await PushSuite.run { suite in
            let token = try await suite.makeDevice("phone")
            var id = ""
            try await suite.withReplica { port in
                var stream = try await DeviceStream(suite, "phone", port: port)
                id = try #require(try await suite.notify(token, ["aps": ["alert": "x"]]).headers["apns-unique-id"])
                #expect(try await stream.next()?["id"]?.string == id)
                #expect(try await suite.isOnline("phone"))
            }
            try await eventually(within: 60, describe: "the device is offline") {
                try await !suite.isOnline("phone")
            }
            let timeline = try await suite.send("GET", "/v1/notifications/\(id)").json["statuses"]?.items ?? []
            #expect(timeline.map { $0["status"]?.string } == ["Received", "Delivered", "Stored – Device Offline"])
            let database = try Database(suite)
            let cause = "SELECT data ->> 'cause' FROM bus.events WHERE type = 'push.device.disconnected'"
            #expect(try await database.texts(cause) == ["processLost"])
            // The rows of the lost process are deleted.
            let rows = "SELECT 'row' FROM push.connections UNION ALL SELECT 'holder' FROM push.holders"
            try await eventually(describe: "the holder is deleted") {
                try await database.texts(rows) == ["holder"]
            }
            var stream = try await DeviceStream(suite, "phone")
            let again = try #require(try await stream.next())
            #expect(again["id"]?.string == id && again["fromStorage"]?.bool == true)
            #expect(try await database.texts(rows).sorted() == ["holder", "row"])
        }
    }

    @Test func `a device waits for notifications by at most sixteen requests at a time`() async throws {
        try await PushSuite.run { suite in
            _ = try await suite.makeDevice("phone")
            let issued = try await suite.send("POST", "/v1/devices/phone/token", port: suite.lifecycle)
            let token = try #require(issued.json["token"]?.string)
            let path = "/v1/devices/phone/notifications?wait=15"
            let statuses = try await withParallelClient { client in
                try await withThrowingTaskGroup(of: UInt.self) { group in
                    // A device has 32 slots for work, and 16 for waits.
                    for _ in 0..<20 {
                        group.addTask {
                            let request = suite.request("GET", path, ["Authorization": "Bearer \(token)"])
                            let response = try await client.execute(request, timeout: .seconds(60))
                            _ = try await response.body.collect(upTo: 1 << 20)
                            return response.status.code
                        }
                    }
                    return try await group.reduce(into: [UInt: Int]()) { $0[$1, default: 0] += 1 }
                }
            }
            #expect(statuses == [200: 16, 429: 4])
        }
    }

    @Test func `a disconnection during an outage of the database is recorded when it returns`() async throws {
        let cluster = try await PrivateCluster.make(fsync: false)
        try await PushSuite.run(database: try await cluster.makeDatabase()) { suite in
            _ = try await suite.makeDevice("phone")
            let device = try ChildProcess.start(
                "/usr/bin/curl",
                ["--silent", "--no-buffer", "http://127.0.0.1:\(suite.push)/v1/devices/phone/notifications"])
            try await eventually(describe: "the device is online") { try await suite.isOnline("phone") }
            try await cluster.stop(.immediate)
            device.signal(SIGKILL)
            try await suite.pushSays("failed to record disconnection")
            try await cluster.start()
            try await eventually(within: 60, describe: "the device is offline") {
                (try? await suite.isOnline("phone")) == false
            }
            let rows = "SELECT connection::text FROM push.connections"
            let database = try Database(suite)
            try await eventually(describe: "its row is deleted") { try await database.texts(rows) == [] }
        }
        try await cluster.destroy()
    }

    @Test func `the row of a closed stream is deleted`() async throws {
        try await PushSuite.run { suite in
            _ = try await suite.makeDevice("phone")
            var first = try await DeviceStream(suite, "phone")
            let second = try await DeviceStream(suite, "phone")
            #expect(try await first.next() == nil)
            let database = try Database(suite)
            let count = "SELECT count(*)::text FROM push.connections"
            try await eventually(describe: "one row is left") { try await database.texts(count) == ["1"] }
            _ = second
        }
    }

    /// A trigger removes the row, as a sweep of a stalled process does before the device is connected.
    @Test func `a stream disconnects its device if a sweep has removed its row`() async throws {
        try await PushSuite.run { suite in
            _ = try await suite.makeDevice("phone")
            let database = try Database(suite)
            for sql in [
                """
                CREATE FUNCTION push.take() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN DELETE FROM push.connections WHERE connection = NEW.connection; RETURN NULL; END $$
                """,
                "CREATE TRIGGER take AFTER INSERT ON push.connections FOR EACH ROW EXECUTE FUNCTION push.take()",
            ] { _ = try await database.texts(sql) }
            // The answer may have a head, but no body.
            let stream = try? await suite.text("/v1/devices/phone/notifications")
            #expect(stream == nil || stream == "")
            let causes = "SELECT data ->> 'cause' FROM bus.events WHERE type = 'push.device.disconnected'"
            try await eventually(describe: "the device is disconnected again") {
                try await database.texts(causes) == ["closed"]
            }
            #expect(try await !suite.isOnline("phone"))
        }
    }

    /// The worst case: a stalled process connects its device after a sweep of its row, and is killed before it checks
    /// the row again.
    @Test func `a connection without a holder or a row is restored and ended`() async throws {
        try await PushSuite.run { suite in
            _ = try await suite.makeDevice("phone")
            let database = try Database(suite)
            let replica = try await suite.another()
            defer { replica.process.signal(SIGKILL) }
            let partition = AggregateKey.device("phone").partition(of: 4)
            let began = "SELECT data ->> 'connection' FROM bus.events WHERE type = 'push.device.connected'"
            let row = "SELECT connection::text FROM push.connections"
            let holders = "SELECT holder::text FROM push.holders"
            try await eventually(describe: "both hold connections") { try await database.texts(holders).count == 2 }
            let patience = Statement("SET LOCAL idle_in_transaction_session_timeout = 0")
            try await database.pool.transaction { swept in
                _ = try await swept.execute(Query(patience))
                let stream = try await database.pool.transaction { batches in
                    _ = try await batches.execute(Query(patience))
                    // Blocks all batches of the device's partition.
                    let lock = "SELECT FROM bus.cursors WHERE partition = \(partition) AND consumer = 'push' FOR UPDATE"
                    _ = try await batches.execute(Query(Statement(lock)))
                    let stream = try ChildProcess.start(
                        "/usr/bin/curl",
                        ["--silent", "--no-buffer", "http://127.0.0.1:\(replica.port)/v1/devices/phone/notifications"])
                    let look = Statement(row)
                    try await eventually(describe: "the row exists") {
                        // Not on the other connection: its read lock on the table would block LOCK TABLE here.
                        try await !swept.execute(Query(look)).isEmpty
                    }
                    // Sweeps the row. The process can't read it until the transaction ends.
                    for sql in ["LOCK TABLE push.connections", "DELETE FROM push.connections"] {
                        _ = try await swept.execute(Query(Statement(sql)))
                    }
                    return stream
                }
                defer { stream.signal(SIGKILL) }
                let look = Statement(began)
                try await eventually(describe: "the device is connected") {
                    try await !swept.execute(Query(look)).isEmpty
                }
                replica.process.signal(SIGKILL)
                _ = try await replica.process.exit()
            }
            try await eventually(within: 60, describe: "the device is offline") { try await !suite.isOnline("phone") }
            let cause = "SELECT data ->> 'cause' FROM bus.events WHERE type = 'push.device.disconnected'"
            #expect(try await database.texts(cause) == ["processLost"])
            try await eventually(describe: "the rows of the lost process are deleted") {
                let left = (try await database.texts(row), try await database.texts(holders))
                return left.0.isEmpty && left.1.count == 1
            }
        }
    }

    @Test func `a process that shuts down deletes its connections and its holder`() async throws {
        let url = Mutex("")
        try await PushSuite.run { suite in
            _ = try await suite.makeDevice("phone")
            url.withLock { $0 = suite.url }
            let stream = try await DeviceStream(suite, "phone")
            let rows = "SELECT 'row' FROM push.connections UNION ALL SELECT 'holder' FROM push.holders"
            #expect(try await Database(suite).texts(rows).sorted() == ["holder", "row"])
            _ = stream
        }
        let rows = "SELECT 'row' FROM push.connections UNION ALL SELECT 'holder' FROM push.holders"
        #expect(try await Database(url: url.withLock { $0 }).texts(rows).isEmpty)
    }

    /// The lease alone, without machines.
    @Test func `a holder that renews its lease is not swept`() async throws {
        try await PushSuite.run { suite in
            let database = try Database(suite)
            let short = PushStore(pool: database.pool, partitions: 4, lease: 0.05)
            let (dead, held) = (UUID(), PushStore.Held(key: .device("d"), connection: UUID()))
            // Adding a connection creates the missing holder.
            try await short.add(held, of: dead)
            #expect(try await short.isThere(held))
            try await eventually(describe: "its lease expires") {
                try await database.texts(
                    "SELECT 'dead' FROM push.holders WHERE expires_at < clock_timestamp() AND holder = '\(dead)'"
                ) == ["dead"]
            }
            // The suite's own process may claim the sweep first. Only one process can.
            let long = PushStore(pool: database.pool, partitions: 4, lease: 60)
            #expect(try await long.claim(by: dead) != dead, "a process does not claim its own sweep")
            if let claimed = try await long.claim(by: UUID()) {
                #expect(claimed == dead)
                #expect(try await long.page(of: dead, after: nil, limit: 10) == [held])
                #expect(try await long.claim(by: UUID()) == nil)
                // A holder with connections is not deleted.
                try await long.reap(dead, leaves: false)
                #expect(try await long.page(of: dead, after: held.connection, limit: 10) == [])
                try await long.renew(dead)
                #expect(try await long.page(of: dead, after: nil, limit: 10) == nil)
                #expect(try await short.isThere(held))
            }
        }
    }
}

/// The suite's database, with the rights of its owner.
struct Database: Sendable {
    let pool: ConnectionPool

    init(_ suite: PushSuite) throws { try self.init(url: suite.url) }

    init(url: String) throws {
        pool = ConnectionPool(try ConnectionOptions(url: url), size: 3, logger: Logger(label: "test"))
    }

    func texts(_ sql: String) async throws -> [String] {
        try await pool.execute(Query(Statement(sql))).map { try $0.decode(String.self, at: 0) }
    }
}

extension PushSuite {
    func isOnline(_ device: String) async throws -> Bool {
        let explained = try await send("GET", "/v1/devices/\(device)/apps/com.example.app/explain").json
        return explained["online"]?.bool == true
    }
}
