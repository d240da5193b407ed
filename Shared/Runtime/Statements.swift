import Postgres

/// The statements of the hot path. Each takes a list of partitions, and reads or writes rows of these partitions only.
///
/// A condition on `partition` restricts each table, even where a join already does. So Citus sends a statement to one
/// shard, if the shard has all the partitions. The list of the condition has each partition once: an index scan sorts it
/// again for each row of a join. Statements that write call no volatile functions, which Citus refuses.
///
/// A lookup for each row of a list has this condition on Citus only. On one PostgreSQL the planner estimates the cost of
/// one index scan for each element of the list. It would then read the whole table for each row, while the table is small
/// or has no statistics. A lookup is a subquery of its own, so no plan reads the table once for a join.
///
/// The statements of the commit are sent together with the COMMIT. So each raises an error if it does not do its work.
struct Statements: Sendable {
    /// The columns that ``StoredState`` reads.
    static let stateColumns = "key, state, machine_version::int8, event_count, decided_at, version"

    /// Overrides the database's default: a snapshot from before the wait for the cursor's lock would be stale.
    let begin = Statement(TransactionLevel.readCommitted.rawValue)
    /// Limits the effect of a process that is stopped in the middle of a batch: it blocks its own partition, but not
    /// all connections of the others. It ends with the transaction.
    static let limitLocks = Statement("SELECT set_config('lock_timeout', '1s', true)")
    /// A partition whose cursor another session holds for longer tries again later, without a connection meanwhile.
    static let limitCursorLock = Statement("SELECT set_config('lock_timeout', '50ms', true)")
    let rollback = Statement("ROLLBACK")
    let commit = Statement("COMMIT")
    let states: Statement
    let answers: Statement
    let deadlines: Statement
    let deadlinesOfOthers: Statement
    let writeStates: Statement
    let refreshStates: Statement
    let slots: Statement
    let writeMoments: Statement
    let dropMoments: Statement
    /// Whether Citus distributes the log.
    let isDistributed: Bool

    init(service: String, isDistributed: Bool = false) {
        self.isDistributed = isDistributed
        func of(_ column: String, _ list: String) -> String { isDistributed ? "AND \(column) = ANY(\(list))" : "" }
        // Parameters: the partition of each key, keys, partitions.
        states = Statement(
            """
            SELECT s.* FROM unnest($1::int4[], $2::text[]) AS asked (partition, key)
            CROSS JOIN LATERAL (
                SELECT \(Self.stateColumns), partition::int8 FROM "\(service)".states AS o
                WHERE o.partition = asked.partition AND o.key = asked.key \(of("o.partition", "$3")) OFFSET 0) AS s
            WHERE asked.partition = ANY($3)
            """)
        // Parameters: the partition of each key, keys, partitions.
        answers = Statement(
            """
            SELECT i.* FROM unnest($1::int4[], $3::text[]) AS asked (partition, key)
            CROSS JOIN LATERAL (
                SELECT o.partition::int8, o.key, o.fingerprint, o.answer FROM bus.idempotency AS o
                WHERE o.partition = asked.partition AND o.service = $2 AND o.key = asked.key
                    \(of("o.partition", "$4")) OFFSET 0) AS i
            WHERE asked.partition = ANY($4)
            """)
        deadlines = Self.deadlines(service, others: "", of: of)
        // For partitions with parked keys, whose deadlines would stay at the front for ever.
        deadlinesOfOthers = Self.deadlines(
            service,
            others: """
                AND NOT EXISTS (
                    SELECT FROM bus.dead_letters AS d
                    WHERE d.partition = s.partition AND d.consumer = '\(service)' AND d.key = s.key
                        \(of("d.partition", "$1")))
                """, of: of)
        // Runs after the append, which locks the heads. `back` counts events back from the head. `base` is the event
        // count of the state before the decision. If the stored state has another count, another process has changed
        // it, and the statement fails. It never overwrites a newer state. The last parameter lists the partitions.
        let stored = """
            coalesce((SELECT o.event_count FROM "\(service)".states AS o
                WHERE o.partition = p.partition AND o.key = n.key \(of("o.partition", "$10"))), 0)
            """
        writeStates = Statement(
            """
            INSERT INTO "\(service)".states AS s
                (partition, key, state, machine_version, version, event_count, decided_at, next_deadline)
            SELECT p.partition, n.key, n.state, n.machine_version, p.head - n.back,
                CASE WHEN n.base = \(stored) THEN n.event_count
                    ELSE bus.expect(\(stored), n.base, 'the event count of a stored state') END,
                n.decided_at, n.next_deadline
            FROM unnest($1::int4[], $2::int4[], $3::text[], $4::bytea[], $5::int8[], $6::int8[], $7::int8[], $8::int8[],
                $9::int8[])
                AS n (machine_version, partition, key, state, back, event_count, decided_at, next_deadline, base)
            JOIN bus.partitions AS p ON p.partition = n.partition
            WHERE p.partition = ANY($10)
            ON CONFLICT (partition, key) DO UPDATE SET state = excluded.state, machine_version = excluded.machine_version,
                version = excluded.version, decided_at = excluded.decided_at, next_deadline = excluded.next_deadline,
                event_count = CASE WHEN s.event_count < excluded.event_count THEN excluded.event_count
                    ELSE bus.expect(s.event_count, excluded.event_count - 1, 'the event count of a stored state') END
            """)
        // States in another form, or with another deadline, that have no new events.
        refreshStates = Statement(
            """
            WITH written AS (
                UPDATE "\(service)".states AS s
                SET state = n.state, machine_version = n.machine_version, next_deadline = n.next_deadline
                FROM unnest($2::int4[], $3::text[], $4::bytea[], $5::int8[], $6::int8[])
                    AS n (machine_version, key, state, event_count, next_deadline)
                WHERE s.partition = $1 AND s.key = n.key AND s.event_count = n.event_count RETURNING 1)
            SELECT bus.expect((SELECT count(*) FROM written), cardinality($3), 'the number of refreshed states')
            """)
        slots = Statement(
            "SELECT page, taken FROM \"\(service)\".slot_pages WHERE partition = $1 AND slots_per_second = $2")
        writeMoments = Statement(
            """
            INSERT INTO "\(service)".slot_pages (partition, slots_per_second, page, ends, taken)
            SELECT q.partition, $2, p.page, p.ends, p.taken
            FROM bus.partitions AS q, unnest($3::int8[], $4::int8[], $5::bytea[]) AS p (page, ends, taken)
            WHERE q.partition = $1
            ON CONFLICT (partition, slots_per_second, page) DO UPDATE SET taken = excluded.taken
            """)
        // Ended pages, also of former ceilings, and empty pages.
        dropMoments = Statement(
            """
            DELETE FROM "\(service)".slot_pages
            WHERE partition = $1 AND (ends < $4 OR slots_per_second = $2 AND page = ANY($3))
            """)
    }

    /// Reads the deadlines of partitions up to a time, and the first one after it, in order. Parameters: partitions,
    /// the most deadlines of each, time.
    private static func deadlines(_ service: String, others: String, of: (String, String) -> String) -> Statement {
        Statement(
            """
            SELECT a.partition::int8, d.key, d.next_deadline
            FROM unnest($1::int4[], $2::int8[]) AS a (partition, most)
            CROSS JOIN LATERAL (
                (SELECT s.key, s.next_deadline FROM "\(service)".states AS s
                    WHERE s.partition = a.partition \(of("s.partition", "$1")) AND s.next_deadline <= $3 \(others)
                    ORDER BY s.next_deadline, s.key LIMIT a.most)
                UNION ALL
                (SELECT s.key, s.next_deadline FROM "\(service)".states AS s
                    WHERE s.partition = a.partition \(of("s.partition", "$1")) AND s.next_deadline > $3 \(others)
                    ORDER BY s.next_deadline, s.key LIMIT 1)) AS d
            ORDER BY a.partition, d.next_deadline, d.key
            """)
    }

    private static let cursors = """
        SELECT c.partition::int8, c.log_offset, c.owner, c.epoch, c.last_batch, c.parked::int8, c.attempts::int8,
            CASE WHEN c.owner IS NOT NULL THEN c.lease_expires END, c.served_at, lower(c.outage), upper(c.outage),
            c.state_form::int8
        FROM bus.cursors AS c
        WHERE c.partition = ANY($1) AND c.consumer = $2 ORDER BY c.partition FOR UPDATE
        """
    /// Locks the cursors of partitions, in order. Parameters: partitions, consumer.
    static let lockCursors = Statement(cursors)
    /// Locks the cursors that no other session holds.
    static let lockFreeCursors = Statement(cursors + " SKIP LOCKED")
    /// Returns up to where a consumer has read a partition. Parameters: partition, consumer.
    static let position = Statement("SELECT log_offset FROM bus.cursors WHERE partition = $1 AND consumer = $2")
    /// Returns the state of an aggregate. Parameters: partition, key.
    static func state(_ service: String) -> Statement {
        Statement("SELECT \(stateColumns) FROM \"\(service)\".states WHERE partition = $1 AND key = $2")
    }
    /// Returns the offset of an event after another offset; null if it is not there, or without an id.
    static let probe = Statement(
        "SELECT max(log_offset) FROM bus.events WHERE partition = $1 AND log_offset > $2 AND id = $3")
    /// The head of each partition, and its day in days since 2000-01-01.
    static let heads = Statement(
        """
        SELECT p.partition::int8, p.head, (p.day - date '2000-01-01')::int8
        FROM bus.partitions AS p WHERE p.partition = ANY($1)
        """)
    /// Returns each key's last event between two offsets that has one of the types. Parameters: partition, offset,
    /// offset, keys, types.
    static let unreadOf = Statement(
        """
        SELECT key, max(log_offset) FROM bus.events
        WHERE partition = $1 AND log_offset > $2 AND log_offset <= $3 AND key = ANY($4) AND type = ANY($5) GROUP BY key
        """)
    /// Returns a key's last event after a consumer's cursor that has one of the types, or null. Parameters:
    /// partition, consumer, key, types.
    static let unread = Statement(
        """
        SELECT max(log_offset) FROM bus.events
        WHERE partition = $1 AND key = $3 AND type = ANY($4)
            AND log_offset > (SELECT log_offset FROM bus.cursors WHERE partition = $1 AND consumer = $2)
        """)
    /// Locks the heads of partitions in order, so that two services can't wait for each other.
    static let lockHeads = Statement(
        "SELECT head FROM bus.partitions WHERE partition = ANY($1) ORDER BY partition FOR UPDATE")
    // Inserts all rows or fails. Only an unknown partition would give a null offset, which the table refuses.
    static let append = Statement(
        """
        WITH moved AS (
            UPDATE bus.partitions AS p SET head = p.head + n.count, day = greatest(p.day, current_date)
            FROM unnest($1::int4[], $2::int8[]) AS n (partition, count)
            WHERE p.partition = n.partition RETURNING p.partition, p.head, p.day, n.count)
        INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, app, time, correlationid,
            causationid, traceparent, actor, data)
        SELECT e.partition, m.head - m.count + e.n, m.day, e.id, $3, e.type, e.version, e.key, e.app, e.time,
            e.correlationid, e.causationid, e.traceparent, e.actor, e.data
        FROM unnest($4::int4[], $5::int8[], $6::uuid[], $7::text[], $8::int4[], $9::text[], $10::text[], $11::int8[],
            $12::uuid[], $13::uuid[], $14::text[], $15::text[], $16::json[])
            AS e (partition, n, id, type, version, key, app, time, correlationid, causationid, traceparent, actor, data)
        LEFT JOIN moved AS m ON m.partition = e.partition
        """)
    // Citus sends an INSERT … SELECT to one shard only if the SELECT reads a table of that shard, and changes nothing.
    // Parameters: partitions, numbers of events.
    static let moveHeads = Statement(
        """
        UPDATE bus.partitions AS p SET head = p.head + n.count, day = greatest(p.day, current_date)
        FROM unnest($1::int4[], $2::int8[]) AS n (partition, count)
        WHERE p.partition = n.partition AND p.partition = ANY($1)
        """)
    // The same after `moveHeads`. `back` counts events back from the head.
    static let appendBehindHeads = Statement(
        """
        INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, app, time, correlationid,
            causationid, traceparent, actor, data, appended_at)
        SELECT p.partition, p.head - e.back, p.day, e.id, $2, e.type, e.version, e.key, e.app, e.time, e.correlationid,
            e.causationid, e.traceparent, e.actor, e.data, statement_timestamp()
        FROM unnest($3::int4[], $4::int8[], $5::uuid[], $6::text[], $7::int4[], $8::text[], $9::text[], $10::int8[],
            $11::uuid[], $12::uuid[], $13::text[], $14::text[], $15::json[])
            AS e (partition, back, id, type, version, key, app, time, correlationid, causationid, traceparent, actor,
                data)
        JOIN bus.partitions AS p ON p.partition = e.partition WHERE p.partition = ANY($1)
        """)
    // A batch that assumes has no position: its cursor stays. If the position was the head before the append, the cursor
    // also skips its own events. `epoch` is that of the lease; null for a batch with only commands. `is_at_head` is true
    // if the log was read to its head and nothing is due. Returns the heads.
    // `form` is the newest form of the states that the batch writes.
    static let moveCursors = Statement(
        """
        WITH moved AS (
            UPDATE bus.cursors AS c SET last_batch = n.batch, parked = c.parked + n.parked,
                attempts = CASE WHEN n.is_at_head THEN 0 ELSE c.attempts END,
                newest_state = greatest(c.newest_state, n.form),
                form_changes = c.form_changes + CASE WHEN n.form > c.state_form THEN 1 ELSE 0 END,
                log_offset = coalesce(n.position, c.log_offset)
                    + CASE WHEN coalesce(n.position, c.log_offset) = p.head - n.count THEN n.count ELSE 0 END
            FROM unnest($2::int4[], $3::uuid[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::bool[], $9::int4[])
                AS n (partition, batch, position, count, epoch, parked, is_at_head, form)
            JOIN bus.partitions AS p ON p.partition = n.partition
            WHERE c.partition = n.partition AND c.consumer = $1 AND (n.epoch IS NULL OR c.epoch = n.epoch)
                AND c.partition = ANY($2) AND p.partition = ANY($2)
            RETURNING c.partition, p.head)
        SELECT a.partition::int8, m.head, CASE WHEN m.partition IS NULL
            THEN bus.expect(m.partition, a.partition, 'the partition of the moved cursor') END
        FROM unnest($2::int4[]) AS a (partition) LEFT JOIN moved AS m USING (partition)
        """)
    /// Parameters: the partition of each answer, service, keys, fingerprints, answers, partitions.
    static let storeAnswers = Statement(
        """
        INSERT INTO bus.idempotency (partition, service, key, fingerprint, answer, created_at)
        SELECT p.partition, $2, a.key, a.fingerprint, a.answer, statement_timestamp()
        FROM unnest($1::int4[], $3::text[], $4::bytea[], $5::bytea[]) AS a (partition, key, fingerprint, answer)
        JOIN bus.partitions AS p ON p.partition = a.partition WHERE p.partition = ANY($6)
        """)

    /// The list of the partitions of some rows.
    static func list(_ partitions: [Int32]) -> Parameter { .int4s(Set(partitions).sorted()) }
}
