import Contracts
import Foundation
import Machines
import Postgres
import Runtime
import TestSupport
import Timeline

/// A sequence of inputs in virtual time that depends only on a seed: commands, pings of another service, and steps of
/// the clock. After each step everything settles.
struct Script: Sendable {
    let runtime: DurableRuntime<Counter>
    let pool: ConnectionPool
    let partitions: Int
    private static let start = 1_700_000_000_000

    func run(_ seed: UInt64, _ count: Int) async throws {
        var random = seededRandom(seed)
        var now = Self.start
        try await set(now)
        for number in 0..<count {
            let key = AggregateKey.device("d\(Int.random(in: 0..<30, using: &random))")
            let id = DecisionIdentifiers.derived("script", String(number))
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5: await submit(.add(Int.random(in: 1..<100, using: &random)), key, id)
            case 5: await submit(.ring(after: .milliseconds(Int64.random(in: 1..<5000, using: &random))), key, id)
            case 6: await submit(.addThenRefuse, key, id)
            case 7, 8:
                try await ping(key, id, at: now)
                try await settle(now)
            default:
                now += Int.random(in: 1..<3000, using: &random)
                try await set(now)
                try await settle(now)
            }
        }
        say("settled")
    }

    private func submit(_ command: Counter.Command, _ key: AggregateKey, _ id: UUID) async {
        let submission = Submission<Counter>(key: key, command: command, origin: Origin(id: id)) { _, _ in [] }
        // A refusal is a valid outcome. The test compares the log.
        _ = try? await runtime.submit(submission)
    }

    private func set(_ now: Int) async throws {
        let statement = Statement("UPDATE bus.clock SET is_virtual = true, rate = 0, virtual_epoch = $1")
        _ = try await pool.execute(Query(statement, [.int(now)]))
        try await wakeUp()
    }

    private func ping(_ key: AggregateKey, _ id: UUID, at now: Int) async throws {
        let statement = Statement(
            """
            WITH moved AS (UPDATE bus.partitions SET head = head + 1, day = current_date WHERE partition = $1 RETURNING head)
            INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, time, correlationid, data)
            SELECT $1, head, current_date, $2, 'other', 'other.thing.pinged', 1, $3, $4, $2, '{}' FROM moved
            """)
        let partition = Int32(key.partition(of: partitions))
        _ = try await pool.execute(Query(statement, [.int4(partition), .uuid(id), .text(key.description), .int(now)]))
        try await wakeUp()
    }

    private func wakeUp() async throws {
        let all = (0..<partitions).map(String.init).joined(separator: ",")
        _ = try await pool.execute(Query(Statement("SELECT pg_notify('dormouse', $1)"), [.text("other:" + all)]))
    }

    /// Waits until the consumer is at every head and no deadline is due.
    private func settle(_ now: Int) async throws {
        let statement = Statement(
            """
            SELECT (SELECT count(*) FROM bus.cursors AS c JOIN bus.partitions AS p USING (partition)
                    WHERE c.consumer = 'counter' AND c.log_offset < p.head)
                + (SELECT count(*) FROM counter.states WHERE next_deadline <= $1)
            """)
        while try await pool.execute(Query(statement, [.int(now)]))[0].decode(Int.self, at: 0) > 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}
