import Contracts
import EventLog
import Foundation
import Logging
import Postgres
import TestSupport
import Testing
import Timeline

@testable import Runtime

/// A reader that follows the offsets sees every event of concurrent appenders.
@Suite(.tags(.database), .timeLimit(.minutes(5))) struct AppendOrderTests {
    @Test func `a reader never skips an event of a slow transaction`() async throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let options = try ConnectionOptions(url: try await PrivateCluster.shared().makeDatabase())
        let owner = try await Connection.open(options, logger: logger)
        try await LogSchema.migrate(owner, partitions: 1, logger: logger)
        let pool = ConnectionPool(options, size: 16, logger: logger)

        let isOver = Signal<Void>()
        async let followed = follow(on: owner, until: isOver)
        let committed = try await withThrowingTaskGroup(of: Int.self) { group in
            for appender in 0..<15 { group.addTask { try await append(25, from: UInt64(appender), pool) } }
            return try await group.reduce(0, +)
        }
        isOver.fire()
        // Each read continues after the last one, so the reader would miss an event that appears late.
        let seen = try await followed
        #expect(seen == (0..<committed).map { $0 + 1 })
        await pool.close()
        await owner.close()
    }

    /// Appends one to three events in each transaction, with random pauses before and after the append. Every third
    /// transaction is rolled back.
    private func append(_ transactions: Int, from seed: UInt64, _ pool: ConnectionPool) async throws -> Int {
        var random = seededRandom(seed)
        var committed = 0
        let statements = Statements(service: "other")
        let linger = Statement("SELECT pg_sleep($1)")
        for number in 0..<transactions {
            let events = (0..<Int.random(in: 1...3, using: &random)).map { _ in event() }
            let isRolledBack = number % 3 == 2
            _ = try await pool.execute(
                [
                    Query(statements.begin), Query(linger, [.double(Double.random(in: 0...0.004, using: &random))]),
                ] + statements.append([(partition: 0, events: events)], source: "other") + [
                    Query(linger, [.double(Double.random(in: 0...0.004, using: &random))]),
                    Query(isRolledBack ? statements.rollback : statements.commit),
                ])
            if !isRolledBack { committed += events.count }
        }
        return committed
    }

    private func follow(on connection: Connection, until isOver: Signal<Void>) async throws -> [Int] {
        var offsets: [Int] = []
        while true {
            let wasOver = isOver.hasFired
            let rows = try await connection.execute(Query(LogReader.all, [.int4(0), .int(offsets.last ?? 0), .int(7)]))
            offsets += try rows.map { try LogReader.event($0).offset }
            if wasOver, rows.isEmpty { return offsets }
        }
    }

    private func event() -> Event {
        Event(
            id: UUID(), source: "other", type: "other.thing.pinged", version: 1, key: .device("a"), app: nil,
            time: .epoch, correlation: UUID(), causation: nil, traceparent: nil, data: Array("{}".utf8))
    }
}
