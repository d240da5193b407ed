import Contracts
import EventLog
import Foundation
import OrderedCollections
import Postgres
import Reports
import Timeline

// The notifications of a report: those that were sent in its range, and what has become of them by now.
extension OpsStore {
    /// A late notification, or one that did not arrive, with the places of its first and last event.
    struct WorstPush {
        var history: PushHistory
        var partition: Int
        var offset: Int
        /// The event of its arrival, its end or its latest status.
        var event: UUID
    }

    /// The most late notifications of an app and type, and the most for each reason to be late or not to arrive.
    private static let mostLate = 10
    private static let mostOfReason = 3

    // The notifications with their verdicts. A notification that is pending has not arrived. One scan per partition,
    // because the indexes begin with it.
    private static let judged = """
        SELECT p.*, coalesce(p.app, '') AS app_name, p.arrived_at - p.sent_at AS delay,
            CASE v.verdict WHEN 'pending' THEN 'never' ELSE v.verdict END AS verdict,
            CASE WHEN v.verdict <> 'pending' THEN ops.push_why(v.verdict, p.status, p.wait)
                WHEN p.status LIKE 'Stored%' THEN 'Still stored' WHEN p.status LIKE 'Held%' THEN 'Still held'
                ELSE 'Still under way' END AS why
        FROM \(partitions) AS b CROSS JOIN LATERAL (
            SELECT * FROM ops.known_pushes AS p
            WHERE p.partition = b.partition AND p.sent_at >= $1 AND p.sent_at < $2 AND ($3::text IS NULL OR p.fleet = $3)
                AND p.status NOT LIKE 'Refused%'
            OFFSET 0) AS p
        CROSS JOIN LATERAL (
            SELECT ops.push_verdict(p.sent_at, p.arrived_at, ops.push_ended(p.status, p.acknowledged, p.waking), $4) AS verdict)
            AS v
        """
    // PostgreSQL's percentile_disc computes ranks with fractions, so the ranks are whole numbers here.
    private static let delays = Statement(
        """
        SELECT j.app_name, j.type, j.n, j.delivered, ARRAY(
                SELECT j.delays[greatest(1, (cardinality(j.delays)::int8 * p + 99) / 100)::int4]
                FROM unnest(ARRAY[50, 90, 95, 99, 100]) AS p WHERE cardinality(j.delays) > 0 ORDER BY p) AS percentiles,
            ARRAY(SELECT (SELECT count(*) FROM unnest(j.delays) AS d WHERE d <= e) FROM unnest($5::int8[]) AS e ORDER BY e) AS counts
        FROM (
            SELECT j.app_name, j.type, count(*) AS n, count(*) FILTER (WHERE j.delivered_at IS NOT NULL) AS delivered,
                coalesce(array_agg(j.delay ORDER BY j.delay) FILTER (WHERE j.delay IS NOT NULL), '{}') AS delays
            FROM (\(judged)) AS j GROUP BY 1, 2) AS j
        ORDER BY j.app_name COLLATE "C", j.type COLLATE "C"
        """)
    private static let reasons = Statement(
        """
        SELECT j.app_name, j.type, j.verdict, coalesce(j.why, ''), count(*) FROM (\(judged)) AS j
        GROUP BY 1, 2, 3, 4 ORDER BY j.app_name, j.type, j.verdict, coalesce(j.why, '') COLLATE "C"
        """)
    private static let worst = Statement(
        """
        SELECT j.app_name, j.type, j.verdict, j.why, j.key, j.notification, j.partition, j.log_offset, j.sent_at,
            j.arrived_at, j.event
        FROM (
            SELECT j.*, row_number() OVER (
                    PARTITION BY j.app_name, j.type, j.verdict
                    ORDER BY j.delay DESC, j.sent_at, j.key, j.notification COLLATE "C") AS place,
                row_number() OVER (
                    PARTITION BY j.app_name, j.type, j.verdict, j.why
                    ORDER BY j.delay DESC, j.sent_at, j.key, j.notification COLLATE "C") AS place_of_reason
            FROM (\(judged)) AS j WHERE j.verdict IN ('late', 'never')) AS j
        WHERE j.place_of_reason <= $6::int8 OR j.verdict = 'late' AND j.place <= $5::int8
        ORDER BY j.app_name COLLATE "C", j.type COLLATE "C", j.verdict, CASE j.verdict WHEN 'never' THEN j.why END COLLATE "C",
            j.place
        """)
    private static let steps = Statement(
        """
        SELECT \(LogReader.columns) FROM bus.events
        WHERE partition = $1 AND key = $2 AND log_offset >= $3 AND log_offset <= $4 AND type LIKE 'push.%'
            AND data ->> 'notification' = $5
        ORDER BY log_offset LIMIT 100
        """)

    /// Returns the figures of the notifications by app, and the worst of them.
    func pushes(
        _ query: ReportQuery
    ) async throws(PostgresError) -> (apps: OrderedDictionary<String, [PushReport]>, worst: [WorstPush]) {
        let range: [Parameter] = [
            .instant(query.from), .instant(query.to), .text(query.fleet), .int(Int(query.lateAfter.milliseconds)),
        ]
        // The last entry has no end.
        let ends = DelayCount.ends.map { Int($0.milliseconds) } + [.max]
        let answers = try await pool.execute([
            Query(Self.delays, range + [.ints(ends)]), Query(Self.reasons, range),
            Query(Self.worst, range + [.int(Self.mostLate), .int(Self.mostOfReason)]),
        ])
        var apps: OrderedDictionary<String, [PushReport]> = [:]
        for row in answers[0] { try apps[row.decode(String.self, at: 0), default: []].append(PushReport(delays: row)) }
        for (app, type, verdict, why, count) in try answers[1].decode((String, String, String, String, Int).self) {
            guard let index = apps[app]?.firstIndex(where: { $0.content == type }) else { continue }
            apps[app]?[index].add(verdict, why, count)
        }
        return (apps, try answers[2].map { row throws(PostgresError) in try WorstPush(row) })
    }

    /// Returns the events of a notification, from the first one up to that of its outcome.
    func steps(of push: WorstPush, upTo offset: Int) async throws(PostgresError) -> [Event] {
        try await pool.execute(
            Self.steps, .partition(push.partition), .key(.device(push.history.device)), .int(push.offset), .int(offset),
            .text(push.history.notification)
        ).map(LogReader.event)
    }
}

extension OpsStore.WorstPush {
    fileprivate init(_ row: Row) throws(PostgresError) {
        history = PushHistory()
        let key: AggregateKey
        let why: String?
        (history.app, history.content, history.verdict, why, key, history.notification) = try row.decode(
            (String, String, String, String?, AggregateKey, String).self, at: 0)
        (partition, offset, history.sentAt, history.arrivedAt, event) = try row.decode(
            (Int, Int, Instant, Instant?, UUID).self, at: 6)
        history.device = key.device ?? key.description
        history.why = why ?? ""
    }
}

extension PushReport {
    fileprivate init(delays row: Row) throws(PostgresError) {
        self.init()
        let (percentiles, counts): ([Int], [Int])
        (content, sent, delivered, percentiles, counts) = try row.decode((String, Int, Int, [Int], [Int]).self, at: 1)
        for (percent, value) in zip([50, 90, 95, 99, 100], percentiles) {
            delaySeconds["p\(percent)"] = .milliseconds(Int64(value))
        }
        var earlier = 0
        for (end, count) in zip(DelayCount.ends.map(Optional.some) + [nil], counts) {
            delayCounts.append(DelayCount(count - earlier, upTo: end))
            earlier = count
        }
    }

    fileprivate mutating func add(_ verdict: String, _ why: String, _ count: Int) {
        switch verdict {
        case "inTime": inTime += count
        case "late":
            late += count
            lateReasons[why] = count
        default: never[why] = count
        }
    }
}
