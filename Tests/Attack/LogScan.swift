import EventLog
import Foundation
import Logging
import Postgres
import TestSupport

/// The parts of a logged event that the audit needs.
struct LoggedEvent: Sendable, Equatable {
    var partition: Int
    var offset: Int
    var source: String
    var type: String
    var key: String
    /// Whether no other event caused it: it answers a command, or follows from a deadline.
    var isDirect: Bool
    var correlation: String
    var traceparent: String?
}

/// Reads the log as the superuser, past all services.
struct LogScan: Sendable {
    private static let page = 20_000
    private static let events = Statement(
        """
        SELECT log_offset, source, type, key, causationid IS NULL, correlationid::text, traceparent
        FROM bus.events WHERE partition = $1 AND log_offset > $2 AND log_offset <= $3 ORDER BY log_offset LIMIT \(page)
        """)
    // The last bits of an event's id depend on its input only: two decisions about one input share them.
    private static let doubled = Statement(
        """
        SELECT min(source || ' ' || type), count(*) FROM bus.events
        GROUP BY partition, key, source, right(id::text, 17) HAVING count(*) > 1 LIMIT 100
        """)
    // A requested wake is granted or refused exactly once.
    private static let wakes = Statement(
        """
        SELECT request.type, request.key, count(answer.id)
        FROM bus.events AS request
        JOIN bus.cursors AS c ON c.partition = request.partition AND c.consumer = 'lifecycle'
        LEFT JOIN bus.events AS answer ON answer.partition = request.partition AND answer.key = request.key
            AND answer.causationid = request.id
            AND answer.type IN ('lifecycle.app.woken', 'lifecycle.wake.refused')
        WHERE request.type IN ('fetch.refresh.due', 'fetch.task.due', 'push.wake.requested', 'transfer.wake.requested')
            AND request.log_offset <= c.log_offset
        GROUP BY request.type, request.key, request.id HAVING count(answer.id) <> 1 LIMIT 100
        """)
    private static let letters = Statement(
        "SELECT consumer, key, coalesce(reason, 'waits behind another') FROM bus.dead_letters ORDER BY 1, 2 LIMIT 100")
    private static let lag = Statement(
        """
        SELECT c.consumer, c.partition::int8, p.head - c.log_offset, p.head FROM bus.cursors AS c
        JOIN bus.partitions AS p USING (partition) WHERE c.log_offset < p.head ORDER BY 1, 2
        """)

    let pool: ConnectionPool

    init(_ suite: AttackedSuite) throws {
        var logger = Logger(label: "audit")
        logger.logLevel = .critical
        pool = ConnectionPool(
            try ConnectionOptions(url: suite.cluster.url(database: suite.database)), size: 1, logger: logger)
    }

    /// Returns the head of each partition.
    func heads() async throws -> [Int: Int] {
        let rows = try await pool.execute(Postgres.Query(LogReader.heads))
        return try LogReader.heads(rows)
    }

    /// Reads all events up to the heads, partition by partition, in order.
    func read(to heads: [Int: Int], _ body: (LoggedEvent) -> Void) async throws {
        for (partition, head) in heads.sorted(by: { $0.key < $1.key }) {
            var last = 0
            while last < head {
                let rows = try await pool.execute(
                    Postgres.Query(Self.events, [.int4(Int32(partition)), .int(last), .int(head)]))
                let events = try rows.decode((Int, String, String, String, Bool, String, String?).self)
                guard let end = events.last else { break }
                for (offset, source, type, key, isDirect, correlation, traceparent) in events {
                    body(
                        LoggedEvent(
                            partition: partition, offset: offset, source: source, type: type, key: key,
                            isDirect: isDirect, correlation: correlation, traceparent: traceparent))
                }
                last = end.0
            }
        }
    }

    /// Returns decisions about an input that was decided twice.
    func doubledDecisions() async throws -> [String] {
        try await pool.execute(Postgres.Query(Self.doubled)).decode((String, Int).self).map { "\($0): \($1) times" }
    }

    /// Returns requested wakes without exactly one answer.
    func unansweredWakes() async throws -> [String] {
        try await pool.execute(Postgres.Query(Self.wakes)).decode((String, String, Int).self).map {
            "\($0) of \($1): \($2) answers"
        }
    }

    /// Returns the dead letters of all consumers.
    func deadLetters() async throws -> [(key: String, text: String)] {
        try await pool.execute(Postgres.Query(Self.letters)).decode((String, String, String).self).map {
            ($1, "\($0) of \($1): \($2)")
        }
    }

    /// Returns the consumers that have not read the whole log.
    func laggards() async throws -> [String] {
        try await pool.execute(Postgres.Query(Self.lag)).decode((String, Int, Int, Int).self).map {
            "\($0) lags \($2) behind \($3) in partition \($1)"
        }
    }

    /// Returns deadlines that are overdue by a number of seconds. Those of parked keys do not fire.
    func overdue(seconds: Int) async throws -> [String] {
        var overdue: [String] = []
        for service in AttackedService.writers {
            let rows = try await pool.execute(
                Postgres.Query(
                    Statement(
                        """
                        SELECT s.key, (extract(epoch FROM clock_timestamp()) * 1000)::int8 - s.next_deadline
                        FROM "\(service)".states AS s
                        WHERE s.next_deadline < (extract(epoch FROM clock_timestamp()) * 1000)::int8 - $1 * 1000
                            AND NOT EXISTS (
                                SELECT FROM bus.dead_letters AS d
                                WHERE d.partition = s.partition AND d.consumer = '\(service)' AND d.key = s.key)
                        ORDER BY s.next_deadline LIMIT 20
                        """), [.int(seconds)]))
            overdue += try rows.decode((String, Int).self).map {
                "\(service) of \($0): a deadline is overdue by \($1) ms"
            }
        }
        return overdue
    }
}
