import Postgres

/// The statements for leases and members. They are not on the hot path.
extension Statements {
    /// The term of a lease or a membership, in seconds.
    static let term = 3.0

    /// Returns a condition: whether a lease or a membership is over. One with more than two terms left was renewed by a
    /// clock that has gone back since. This happens in a failover to a server with a slow clock. Its holder may be
    /// dead. A living holder loses at most a lease, and the epoch guards its batches.
    static func isOver(_ moment: String) -> String {
        "(\(moment) < clock_timestamp() OR \(moment) > clock_timestamp() + interval '\(2 * term) seconds')"
    }

    /// Adds a member, or renews its membership. Parameters: consumer, member, term, machine version, whether it takes
    /// partitions.
    static let enrol = Statement(
        """
        INSERT INTO bus.members AS m (consumer, member, since_time, expires, machine_version, takes_partitions)
        VALUES ($1, $2, bus.suite_time(bus.real_now()), clock_timestamp() + make_interval(secs => $3), $4, $5)
        ON CONFLICT (consumer, member) DO UPDATE SET expires = excluded.expires,
            takes_partitions = excluded.takes_partitions,
            since = CASE WHEN m.expires < clock_timestamp() THEN excluded.since ELSE m.since END,
            since_time = CASE WHEN m.expires < clock_timestamp() THEN excluded.since_time ELSE m.since_time END
        """)
    // Dead members stay for a minute, because the input that ended them may return.
    static let reap = Statement(
        "DELETE FROM bus.members WHERE consumer = $1 AND expires < clock_timestamp() - interval '1 minute'")
    static let leave = Statement("DELETE FROM bus.members WHERE consumer = $1 AND member = $2")
    /// The number of members that take partitions, the oldest and the newest version of all members, the number of
    /// others, and the newest form of the stored states.
    static let living = Statement(
        """
        SELECT count(*) FILTER (WHERE takes_partitions), coalesce(min(machine_version), 0)::int8,
            coalesce(max(machine_version), 0)::int8, count(*) FILTER (WHERE member <> $2),
            (SELECT coalesce(max(c.newest_state), 0)::int8 FROM bus.cursors AS c WHERE c.consumer = $1)
        FROM bus.members WHERE consumer = $1 AND NOT \(isOver("expires"))
        """)
    private static let isLeaseOver = "(c.lease_expires < t.now OR c.lease_expires > t.latest)"
    static let renew = Statement(
        """
        \(moments(term: "$4", noted: "$5"))
        UPDATE bus.cursors AS c SET lease_expires = t.expires, \(served), \(outage(noted: "$5 AND \(isLeaseOver)"))
        FROM t WHERE c.partition = $1 AND c.consumer = $2 AND c.owner = $3 RETURNING c.newest_state::int8
        """)
    /// Renews the leases whose rows no other session has locked. Returns their partitions and the newest forms of their
    /// states. Parameters: partitions, consumer, owner, term, whether to note outages. A subquery in place of `held` would
    /// lock the rows again for each row of `c`.
    static let renewFree = Statement(
        """
        \(moments(term: "$4", noted: "$5")),
        held AS MATERIALIZED (
            SELECT partition FROM bus.cursors
            WHERE partition = ANY($1) AND consumer = $2 AND owner = $3 ORDER BY partition FOR UPDATE SKIP LOCKED)
        UPDATE bus.cursors AS c SET lease_expires = t.expires, \(served), \(outage(noted: "$5 AND \(isLeaseOver)"))
        FROM t, held AS h
        WHERE c.partition = h.partition AND c.partition = ANY($1) AND c.consumer = $2
        RETURNING c.partition::int8, c.newest_state::int8
        """)
    /// The partitions whose leases others have. Parameters: partitions, consumer, owner.
    static let lost = Statement(
        """
        SELECT partition::int8 FROM bus.cursors
        WHERE partition = ANY($1) AND consumer = $2 AND owner IS DISTINCT FROM $3
        """)
    // An owner that takes its own lease back has survived. A release proves nothing about inputs that the owner never
    // reached, so only a batch at the head of the log clears the attempts.
    static let acquire = Statement(
        """
        \(moments(term: "$4", noted: "$5"))
        UPDATE bus.cursors AS c SET owner = $3, epoch = c.epoch + 1,
            attempts = CASE WHEN c.owner IS NULL OR c.owner = $3 THEN c.attempts ELSE c.attempts + 1 END,
            lease_expires = t.expires, \(served), \(outage(noted: "$5"))
        FROM t WHERE c.partition = $1 AND c.consumer = $2 AND (c.owner IS NULL OR \(isLeaseOver))
        RETURNING c.epoch, c.attempts::int8, c.state_form::int8, c.newest_state::int8
        """)
    static let release = Statement(
        """
        \(moments(term: "0", noted: "$4"))
        UPDATE bus.cursors AS c SET owner = NULL, \(served), \(outage(noted: "$4 AND \(isLeaseOver)"))
        FROM t WHERE c.partition = $1 AND c.consumer = $2 AND c.owner = $3
        """)
    /// The partitions without a living owner, and the newest forms of their states.
    static let free = Statement(
        """
        SELECT partition::int8, newest_state::int8 FROM bus.cursors
        WHERE consumer = $1 AND (owner IS NULL OR \(isOver("lease_expires"))) ORDER BY partition
        """)
    /// Sets the form in which the states of partitions are written, where no other session has locked the row. Retention
    /// then waits for the upgrade of older forms. Returns the partitions and the newest forms of their states. Parameters:
    /// partitions, consumer, owner, form.
    static let setForms = Statement(
        """
        WITH held AS (
            SELECT partition FROM bus.cursors
            WHERE partition = ANY($1) AND consumer = $2 AND owner = $3 ORDER BY partition FOR UPDATE SKIP LOCKED),
        changed AS (
            UPDATE bus.cursors AS c
            SET state_form = $4, newest_state = greatest(c.newest_state, $4), form_changes = c.form_changes + 1
            FROM held AS h WHERE c.partition = h.partition AND c.partition = ANY($1) AND c.consumer = $2
            RETURNING c.partition, c.newest_state),
        noted AS (
            UPDATE bus.state_versions AS v SET reached = $4
            FROM changed AS c
            WHERE v.partition = c.partition AND v.partition = ANY($1) AND v.service = $2 AND v.reached > $4)
        SELECT partition::int8, newest_state::int8 FROM changed
        """)
    /// The form of a partition's states, whether some are newer, the changes of the form, and the head. Parameters:
    /// partition, consumer, owner, epoch.
    static let formPlan = Statement(
        """
        SELECT c.state_form::int8, c.newest_state > c.state_form, c.form_changes, p.head
        FROM bus.cursors AS c JOIN bus.partitions AS p USING (partition)
        WHERE c.partition = $1 AND p.partition = $1 AND c.consumer = $2 AND c.owner = $3 AND c.epoch = $4
        """)
    /// Notes the end of a sweep. Without a change of the form or a newer state since its start, all states have the chosen
    /// form, except those that it counted. Parameters: partition, consumer, owner, epoch, changes, whether no newer state
    /// is left.
    static let swept = Statement(
        """
        WITH held AS (
            SELECT partition, state_form FROM bus.cursors
            WHERE partition = $1 AND consumer = $2 AND owner = $3 AND epoch = $4 AND form_changes = $5 FOR UPDATE),
        noted AS (
            UPDATE bus.state_versions AS v SET reached = h.state_form
            FROM held AS h
            WHERE v.partition = h.partition AND v.partition = $1 AND v.service = $2 AND v.reached < h.state_form)
        UPDATE bus.cursors AS c SET newest_state = CASE WHEN $6 THEN h.state_form ELSE c.newest_state END
        FROM held AS h WHERE c.partition = h.partition AND c.partition = $1 AND c.consumer = $2
        RETURNING c.newest_state::int8
        """)
    /// Deletes records of old trials that were never finished.
    static let forgetSuspects = Statement(
        """
        DELETE FROM bus.input_attempts
        WHERE partition = $1 AND consumer = $2 AND attempted_at < statement_timestamp() - interval '24 hours'
        """)
}
