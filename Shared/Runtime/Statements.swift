import Postgres

/// The statements of the hot path. Each names exactly one partition.
struct Statements: Sendable {
    let begin = Statement("BEGIN")
    let rollback = Statement("ROLLBACK")
    let commit = Statement("COMMIT")
    let states: Statement
    let deadlines: Statement
    let writeStates: Statement

    init(service: String) {
        states = Statement(
            """
            SELECT key, state, machine_version::int8, event_count, decided_at FROM \(service).states
            WHERE partition = $1 AND key = ANY($2)
            """)
        // One more than can fire in a batch, so that the moment of the next one is known without another query.
        deadlines = Statement(
            """
            SELECT key, next_deadline FROM \(service).states
            WHERE partition = $1 AND next_deadline IS NOT NULL ORDER BY next_deadline LIMIT $2
            """)
        // Runs after the events were appended: the head is ours then, and `back` counts events from it.
        writeStates = Statement(
            """
            INSERT INTO \(service).states AS s
                (partition, key, state, machine_version, version, event_count, decided_at, next_deadline)
            SELECT $1, n.key, n.state, $2, p.head - n.back, n.event_count, n.decided_at, n.next_deadline
            FROM bus.partitions AS p,
                unnest($3::text[], $4::bytea[], $5::int8[], $6::int8[], $7::int8[], $8::int8[])
                AS n (key, state, back, event_count, decided_at, next_deadline)
            WHERE p.partition = $1
            ON CONFLICT (partition, key) DO UPDATE SET state = excluded.state, machine_version = excluded.machine_version,
                version = excluded.version, event_count = excluded.event_count, decided_at = excluded.decided_at,
                next_deadline = excluded.next_deadline
            WHERE s.event_count < excluded.event_count
            """)
    }

    let lockCursor = Statement(
        """
        SELECT c.log_offset, c.owner, c.epoch, c.last_batch FROM bus.cursors AS c
        WHERE c.partition = $1 AND c.consumer = $2 FOR UPDATE
        """)
    let head = Statement("SELECT head FROM bus.partitions WHERE partition = $1")
    let idempotency = Statement(
        "SELECT key, fingerprint, answer FROM bus.idempotency WHERE partition = $1 AND service = $2 AND key = ANY($3)")
    let append = Statement(
        """
        WITH place AS (
            UPDATE bus.partitions SET head = head + $2, day = greatest(day, current_date)
            WHERE partition = $1 RETURNING head, day)
        INSERT INTO bus.events (partition, log_offset, day, id, source, type, version, key, app, time, correlationid,
            causationid, traceparent, data)
        SELECT $1, place.head - $2 + e.n, place.day, e.id, $3, e.type, e.version, e.key, e.app, e.time, e.correlationid,
            e.causationid, e.traceparent, e.data
        FROM place, unnest($4::uuid[], $5::text[], $6::int4[], $7::text[], $8::text[], $9::int8[], $10::uuid[],
            $11::uuid[], $12::text[], $13::json[]) WITH ORDINALITY
            AS e (id, type, version, key, app, time, correlationid, causationid, traceparent, data, n)
        """)
    // A consumer whose position was the head before its own append has nothing of others before it: it moves on past its own
    // events without reading them.
    let moveCursor = Statement(
        """
        UPDATE bus.cursors SET attempts = 0, last_batch = $3, log_offset = CASE
            WHEN $4 = (SELECT head FROM bus.partitions WHERE partition = $1) - $5 THEN $4 + $5 ELSE $4 END
        WHERE partition = $1 AND consumer = $2
        """)
    let storeAnswers = Statement(
        """
        INSERT INTO bus.idempotency (partition, service, key, fingerprint, answer)
        SELECT $1, $2, a.key, a.fingerprint, a.answer
        FROM unnest($3::text[], $4::bytea[], $5::bytea[]) AS a (key, fingerprint, answer)
        """)

    /// Enrols a member, forgets dead ones, and counts the living. Not on the hot path.
    static let enrol = Statement(
        """
        INSERT INTO bus.members (consumer, member, expires)
        VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3))
        ON CONFLICT (consumer, member) DO UPDATE SET expires = excluded.expires
        """)
    static let bury = Statement("DELETE FROM bus.members WHERE consumer = $1 AND expires < clock_timestamp()")
    static let leave = Statement("DELETE FROM bus.members WHERE consumer = $1 AND member = $2")
    static let living = Statement("SELECT count(*) FROM bus.members WHERE consumer = $1")
    static let renew = Statement(
        """
        UPDATE bus.cursors SET lease_expires = clock_timestamp() + make_interval(secs => $4)
        WHERE partition = $1 AND consumer = $2 AND owner = $3 RETURNING epoch
        """)
    static let acquire = Statement(
        """
        UPDATE bus.cursors SET owner = $3, epoch = epoch + 1, attempts = attempts + 1,
            lease_expires = clock_timestamp() + make_interval(secs => $4)
        WHERE partition = $1 AND consumer = $2 AND (owner IS NULL OR lease_expires < clock_timestamp()) RETURNING epoch
        """)
    static let release = Statement(
        """
        UPDATE bus.cursors SET owner = NULL, attempts = 0
        WHERE partition = $1 AND consumer = $2 AND owner = $3
        """)
    static let free = Statement(
        """
        SELECT partition::int8 FROM bus.cursors
        WHERE consumer = $1 AND (owner IS NULL OR lease_expires < clock_timestamp()) ORDER BY partition
        """)
}
