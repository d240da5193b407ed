import Postgres

/// The statements that share out the partitions. Not on the hot path.
extension Statements {
    /// For how long, in seconds, a lease or a membership is good once it was renewed.
    static let term = 3.0

    /// Whether a lease or a membership is over. One that is good for longer than two terms was renewed by a clock that
    /// has gone back since, as after a failover to a server whose clock is behind: nobody would know whether its holder is
    /// dead. A living holder loses a lease at most, which the epoch guards.
    static func isOver(_ moment: String) -> String {
        "(\(moment) < clock_timestamp() OR \(moment) > clock_timestamp() + interval '\(2 * term) seconds')"
    }

    /// Enrols a member, forgets dead ones, and counts the living.
    static let enrol = Statement(
        """
        INSERT INTO bus.members AS m (consumer, member, since_time, expires, machine_version)
        VALUES ($1, $2, bus.suite_time(bus.real_now()), clock_timestamp() + make_interval(secs => $3), $4)
        ON CONFLICT (consumer, member) DO UPDATE SET expires = excluded.expires,
            since = CASE WHEN m.expires < clock_timestamp() THEN excluded.since ELSE m.since END,
            since_time = CASE WHEN m.expires < clock_timestamp() THEN excluded.since_time ELSE m.since_time END
        """)
    // The dead are remembered for a minute: what ended them may come again.
    static let bury = Statement(
        "DELETE FROM bus.members WHERE consumer = $1 AND expires < clock_timestamp() - interval '1 minute'")
    static let leave = Statement("DELETE FROM bus.members WHERE consumer = $1 AND member = $2")
    static let living = Statement(
        """
        SELECT count(*), coalesce(min(machine_version), 0)::int8, coalesce(max(machine_version), 0)::int8,
            count(*) FILTER (WHERE member <> $2)
        FROM bus.members WHERE consumer = $1 AND NOT \(isOver("expires"))
        """)
    static let renew = Statement(
        """
        UPDATE bus.cursors SET lease_expires = clock_timestamp() + make_interval(secs => $4), \(served),
            \(outage(noted: "$5 AND \(isOver("lease_expires"))"))
        WHERE partition = $1 AND consumer = $2 AND owner = $3 RETURNING epoch
        """)
    // One that comes back to its own lease has lived through whatever it was. That an owner let go proves nothing about
    // the inputs it never came to: only a batch at the head of the log clears the attempts.
    static let acquire = Statement(
        """
        UPDATE bus.cursors SET owner = $3, epoch = epoch + 1,
            attempts = CASE WHEN owner IS NULL OR owner = $3 THEN attempts ELSE attempts + 1 END,
            lease_expires = clock_timestamp() + make_interval(secs => $4), \(served), \(outage(noted: "$5"))
        WHERE partition = $1 AND consumer = $2 AND (owner IS NULL OR \(isOver("lease_expires")))
        RETURNING epoch, attempts::int8
        """)
    static let release = Statement(
        """
        UPDATE bus.cursors SET owner = NULL, \(served), \(outage(noted: "$4 AND \(isOver("lease_expires"))"))
        WHERE partition = $1 AND consumer = $2 AND owner = $3
        """)
    static let free = Statement(
        """
        SELECT partition::int8 FROM bus.cursors
        WHERE consumer = $1 AND (owner IS NULL OR \(isOver("lease_expires"))) ORDER BY partition
        """)
    /// Trials that never came to an end and were never repeated either.
    static let forgetSuspects = Statement(
        """
        DELETE FROM bus.suspects
        WHERE partition = $1 AND consumer = $2 AND tried_at < clock_timestamp() - interval '24 hours'
        """)
}
