import Contracts
import EventLog
import Postgres
import Records

@testable import LifecycleService

extension LifecycleFixture {
    /// Runs the body for each item, several at a time.
    func atOnce<Item: Sendable>(
        _ items: [Item], _ body: @escaping @Sendable (Item) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, item) in items.enumerated() {
                if index >= 16 { try await group.next() }
                group.addTask { try await body(item) }
            }
            try await group.waitForAll()
        }
    }

    /// Returns the orders in the log after some positions, by partition.
    func orders(after places: [Int: Int]) async throws -> [Int: [Order]] {
        var orders: [Int: [Order]] = [:]
        for partition in 0..<Self.partitions {
            let place = places[partition, default: 0]
            let rows = try await pool.execute(
                Query(LogReader.all, [.int4(Int32(partition)), .int(place), .int(1_000_000)]))
            orders[partition] = try rows.map { try LogReader.event($0) }.compactMap { Order($0) }
        }
        return orders
    }

    /// Appends `count` suspension orders of the devices' app to the log, all of a partition at once.
    func appendOrders(_ count: Int, to devices: [String]) async throws {
        let keys = (0..<count).map { AggregateKey.device(devices[$0 % devices.count]) }
        let statement = Statement(
            """
            WITH moved AS (
                UPDATE bus.partitions SET head = head + $3 WHERE partition = $1 RETURNING head - $3 AS base, day)
            INSERT INTO bus.events
                (partition, log_offset, day, id, source, type, version, key, app, time, correlationid, data)
            SELECT $1, moved.base + e.n, moved.day, gen_random_uuid(), 'lifecycle', 'lifecycle.app.suspended', 1, e.key,
                'a', 0, gen_random_uuid(), $4::json
            FROM moved, unnest($2::text[]) WITH ORDINALITY AS e (key, n)
            """)
        let data = String(decoding: LifecycleEvent.AppSuspended(app: "a").jsonBytes, as: UTF8.self)
        var calls = [Query(Statement("BEGIN"))]
        for (partition, keys) in Dictionary(grouping: keys, by: { $0.partition(of: Self.partitions) }) {
            let texts = keys.map(\.description)
            calls.append(
                Query(statement, [.int4(Int32(partition)), .texts(texts), .int(keys.count), .text(data)]))
        }
        calls.append(Query(Statement("COMMIT")))
        let touched = (0..<Self.partitions).map(String.init).joined(separator: ",")
        calls.append(Query(Statement("SELECT pg_notify('dormouse', $1)"), [.text("other:\(touched)")]))
        _ = try await pool.execute(calls)
    }
}
