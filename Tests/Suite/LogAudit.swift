import Contracts
import EventLog
import FetchCore
import LifecycleCore
import Logging
import Machines
import Postgres
import PushCore
import Records
import TestSupport
import Testing
import Timeline
import TransferCore

/// The invariants of the log and of all states, checked after all services have stopped.
struct LogAudit {
    let events: [Event]
    private let pool: ConnectionPool

    /// Reads the whole log as the superuser, and checks it.
    ///
    /// - Parameter cluster: the server; the suite's own by default.
    static func run(_ suite: RunningSuite, on cluster: PrivateCluster? = nil) async throws -> LogAudit {
        let cluster = cluster ?? suite.cluster
        var logger = Logger(label: "audit")
        logger.logLevel = .critical
        let pool = ConnectionPool(
            try ConnectionOptions(url: cluster.url(database: suite.database)), size: 1, logger: logger)
        let heads = try await pool.execute(Query(LogReader.heads)).decode((Int, Int).self)
        var events: [Event] = []
        for (partition, head) in heads {
            let rows = try await pool.execute(
                Query(LogReader.all, [.int4(Int32(partition)), .int(0), .int(Int(Int32.max))]))
            let own = try rows.map { row throws(PostgresError) in try LogReader.event(row) }
            #expect(own.map(\.offset) == Array(1..<head + 1), "the offsets of partition \(partition) are dense")
            events += own
        }
        let audit = LogAudit(events: events, pool: pool)
        try await audit.check()
        await pool.close()
        return audit
    }

    private func check() async throws {
        #expect(Set(events.map(\.id)).count == events.count, "ids are unique")
        try await checkStates(of: LifecycleMachine.self)
        try await checkStates(of: FetchMachine.self)
        try await checkStates(of: PushMachine.self)
        try await checkStates(of: TransferMachine.self)
        try await checkWakes()
        let letters = try await pool.execute(Query(Statement("SELECT consumer, key, reason FROM bus.dead_letters")))
        #expect(try letters.map { try $0.decode(String?.self, at: 2) } == [], "there are no dead letters")
    }

    /// Every state is the fold of its events, and every aggregate with events has a state.
    private func checkStates<M: Machine>(of machine: M.Type) async throws {
        let histories = Dictionary(grouping: events.filter { $0.source == M.name }, by: \.key)
        let rows = try await pool.execute(
            Query(Statement("SELECT key, state, version, event_count, decided_at FROM \"\(M.name)\".states")))
        var keys: Set<AggregateKey> = []
        for (key, state, version, count, time) in try rows.decode((AggregateKey, [UInt8], Int, Int, Int).self) {
            keys.insert(key)
            let history = histories[key] ?? []
            let fold = try Aggregate<M>(key: key, folding: history)
            #expect(fold.state.binary == state, "the \(M.name) state of \(key) is its fold")
            #expect(history.last?.offset == version, "the \(M.name) version of \(key) is its last event's")
            #expect(fold.eventCount == count)
            #expect(Int(fold.now.milliseconds) == time)
        }
        #expect(keys == Set(histories.keys), "each history of \(M.name) has a state")
        #expect(!keys.isEmpty)
    }

    /// `lifecycle` has answered every wake request that it has read exactly once.
    private func checkWakes() async throws {
        let answers = try await pool.execute(
            Query(
                Statement(
                    """
                    SELECT request.type, request.key, count(answer.id)
                    FROM bus.events AS request
                    JOIN bus.cursors AS c ON c.partition = request.partition AND c.consumer = 'lifecycle'
                    LEFT JOIN bus.events AS answer ON answer.partition = request.partition
                        AND answer.key = request.key AND answer.causationid = request.id
                        AND answer.type IN ('lifecycle.app.woken', 'lifecycle.wake.refused')
                    WHERE request.type IN ('fetch.refresh.due', 'push.wake.requested', 'transfer.wake.requested')
                        AND request.log_offset <= c.log_offset
                    GROUP BY request.type, request.key, request.id
                    HAVING count(answer.id) <> 1
                    """)))
        let wrong = try answers.decode((String, String, Int).self).map { "\($0) of \($1): \($2) answers" }
        #expect(wrong == [])
    }
}
