import Postgres

/// The statements of the hot path. Each names exactly one partition.
///
/// The statements of the second pipeline are sent together with the COMMIT. So each raises an error if it does not do
/// its work.
struct Statements: Sendable {
    /// The columns that ``StoredState`` reads.
    static let stateColumns = "key, state, machine_version::int8, event_count, decided_at, version"

    /// Overrides the database's default: a snapshot from before the wait for the cursor's lock would be stale.
    let begin = Statement(TransactionLevel.readCommitted.rawValue)
    /// Limits the effect of a process that is stopped in the middle of a batch: it blocks its own partition, but not
    /// all connections of the others. It ends with the transaction.
    static let limitLocks = Statement("SELECT set_config('lock_timeout', '1s', true)")
    let rollback = Statement("ROLLBACK")
    let commit = Statement("COMMIT")
    let states: Statement
    let deadlines: Statement
    let deadlinesOfOthers: Statement
    let writeStates: Statement
    let refreshStates: Statement
    let slots: Statement
    let writeMoments: Statement
    let dropMoments: Statement

    init(service: String) {
        states = Statement(
            """
            SELECT \(Self.stateColumns) FROM "\(service)".states
            WHERE partition = $1 AND key = ANY($2)
            """)
        // One more than can fire in a batch, so that the next deadline is known without another query.
        deadlines = Statement(
            """
            SELECT key, next_deadline FROM "\(service)".states
            WHERE partition = $1 AND next_deadline IS NOT NULL ORDER BY next_deadline, key LIMIT $2
            """)
        // For partitions with parked keys, whose deadlines would stay at the front for ever.
        deadlinesOfOthers = Statement(
            """
            SELECT s.key, s.next_deadline FROM "\(service)".states AS s
            WHERE s.partition = $1 AND s.next_deadline IS NOT NULL AND NOT EXISTS (
                SELECT FROM bus.dead_letters AS d
                WHERE d.partition = $1 AND d.consumer = '\(service)' AND d.key = s.key)
            ORDER BY s.next_deadline, s.key LIMIT $2
            """)
        // Runs after the append, which locks the head. `back` counts events back from the head. `base` is the event
        // count of the state before the decision. If the stored state has another count, another process has changed
        // it, and the statement fails. It never overwrites a newer state.
        writeStates = Statement(
            """
            INSERT INTO "\(service)".states AS s
                (partition, key, state, machine_version, version, event_count, decided_at, next_deadline)
            SELECT $1, n.key, n.state, $2, (SELECT head FROM bus.partitions WHERE partition = $1) - n.back,
                CASE WHEN n.base = n.stored THEN n.event_count
                    ELSE bus.expect(n.stored, n.base, 'the event count of a stored state') END,
                n.decided_at, n.next_deadline
            FROM (
                SELECT u.*, coalesce((
                    SELECT o.event_count FROM "\(service)".states AS o
                    WHERE o.partition = $1 AND o.key = u.key), 0) AS stored
                FROM unnest($3::text[], $4::bytea[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::int8[])
                    AS u (key, state, back, event_count, decided_at, next_deadline, base)
                OFFSET 0) AS n
            ON CONFLICT (partition, key) DO UPDATE SET state = excluded.state, machine_version = excluded.machine_version,
                version = excluded.version, decided_at = excluded.decided_at, next_deadline = excluded.next_deadline,
                event_count = CASE WHEN s.event_count < excluded.event_count THEN excluded.event_count
                    ELSE bus.expect(s.event_count, excluded.event_count - 1, 'the event count of a stored state') END
            """)
        // Upgraded states that have no new events.
        refreshStates = Statement(
            """
            WITH written AS (
                UPDATE "\(service)".states AS s
                SET state = n.state, machine_version = $2, next_deadline = n.next_deadline
                FROM unnest($3::text[], $4::bytea[], $5::int8[], $6::int8[]) AS n (key, state, event_count, next_deadline)
                WHERE s.partition = $1 AND s.key = n.key AND s.event_count = n.event_count RETURNING 1)
            SELECT bus.expect((SELECT count(*) FROM written), cardinality($3), 'the number of refreshed states')
            """)
        slots = Statement(
            "SELECT page, taken FROM \"\(service)\".slot_pages WHERE partition = $1 AND slots_per_second = $2")
        writeMoments = Statement(
            """
            INSERT INTO "\(service)".slot_pages (partition, slots_per_second, page, ends, taken)
            SELECT $1, $2, p.page, p.ends, p.taken FROM unnest($3::int8[], $4::int8[], $5::bytea[]) AS p (page, ends, taken)
            ON CONFLICT (partition, slots_per_second, page) DO UPDATE SET taken = excluded.taken
            """)
        // Ended pages, also of former ceilings, and empty pages.
        dropMoments = Statement(
            """
            DELETE FROM "\(service)".slot_pages
            WHERE partition = $1 AND (ends < $4 OR slots_per_second = $2 AND page = ANY($3))
            """)
    }

    let lockCursor = Statement(
        """
        SELECT c.log_offset, c.owner, c.epoch, c.last_batch, c.parked::int8, c.attempts::int8,
            c.owner IS NOT NULL AND c.lease_expires < clock_timestamp(),
            c.served_at < clock_timestamp() - interval '1 second', lower(c.outage), upper(c.outage)
        FROM bus.cursors AS c
        WHERE c.partition = $1 AND c.consumer = $2 FOR UPDATE
        """)
    /// Returns the offset of an event after another offset; null if it is not there, or without an id.
    static let probe = Statement(
        "SELECT max(log_offset) FROM bus.events WHERE partition = $1 AND log_offset > $2 AND id = $3")
    /// The clock's setting, the partition's head, and the database's own time.
    let clockAndHead = Statement(
        """
        SELECT c.is_virtual, c.real_epoch, c.virtual_epoch, c.rate, p.head, clock_timestamp()
        FROM bus.clock AS c, bus.partitions AS p WHERE p.partition = $1
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
    let idempotency = Statement(
        "SELECT key, fingerprint, answer FROM bus.idempotency WHERE partition = $1 AND service = $2 AND key = ANY($3)")
    // Inserts all rows or fails. Only an unknown partition would give a null offset, so it raises an error.
    let append = Statement(
        """
        WITH moved AS (
            UPDATE bus.partitions SET head = head + $2, day = greatest(day, current_date)
            WHERE partition = $1 RETURNING head, day)
        INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, app, time, correlationid,
            causationid, traceparent, data)
        SELECT $1, coalesce((SELECT head FROM moved), bus.expect(0, 1, 'the number of partitions')) - $2 + e.n,
            (SELECT day FROM moved), e.id, $3, e.type, e.version, e.key, e.app, e.time, e.correlationid, e.causationid,
            e.traceparent, e.data
        FROM unnest($4::uuid[], $5::text[], $6::int4[], $7::text[], $8::text[], $9::int8[], $10::uuid[],
            $11::uuid[], $12::text[], $13::json[]) WITH ORDINALITY
            AS e (id, type, version, key, app, time, correlationid, causationid, traceparent, data, n)
        """)
    // If the position was the head before the append, the cursor also skips its own events. $6 is the epoch of the
    // lease; null for a batch with only commands. $8 is true if the log was read to its head and nothing is due.
    // Returns the head.
    let moveCursor = Statement(
        """
        WITH moved AS (
            UPDATE bus.cursors SET last_batch = $3, parked = parked + $7, attempts = CASE WHEN $8 THEN 0 ELSE attempts END,
                log_offset = CASE
                    WHEN $4 = (SELECT head FROM bus.partitions WHERE partition = $1) - $5 THEN $4 + $5 ELSE $4 END
            WHERE partition = $1 AND consumer = $2 AND ($6 IS NULL OR epoch = $6) RETURNING 1)
        SELECT (SELECT head FROM bus.partitions WHERE partition = $1),
            CASE WHEN EXISTS (SELECT FROM moved) THEN 1
                ELSE bus.expect(0, 1, 'the number of cursors moved') END
        """)
    let storeAnswers = Statement(
        """
        INSERT INTO bus.idempotency (partition, service, key, fingerprint, answer)
        SELECT $1, $2, a.key, a.fingerprint, a.answer
        FROM unnest($3::text[], $4::bytea[], $5::bytea[]) AS a (key, fingerprint, answer)
        """)
}
