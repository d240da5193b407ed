import Postgres

/// The statements for commands that may end a process. They are not on the hot path.
extension Statements {
    /// Returns whether a member died within the last minute or has missed two renewals, or whether commands were
    /// recorded in the last 10 minutes. A first record counts after 1.5 s.
    static let guardsCommands = Statement(
        """
        SELECT EXISTS (
                SELECT 1 FROM bus.members
                WHERE consumer = $1 AND member <> $2 AND expires < clock_timestamp() + interval '1.5 seconds')
            OR EXISTS (
                SELECT 1 FROM bus.input_attempts
                WHERE consumer = $1 AND input LIKE 'command:%'
                    AND attempted_at > clock_timestamp() - interval '10 minutes'
                    -- A younger record may belong to a batch under way. Its process has a member row for longer.
                    AND (attempts > 1 OR attempted_at < clock_timestamp() - interval '1.5 seconds'))
        """)
    static let condemnedCommands = Statement(
        "SELECT input FROM bus.input_attempts WHERE consumer = $1 AND input LIKE 'command:%' AND attempts >= $2")
    static let suspects = Statement(
        "SELECT input FROM bus.input_attempts WHERE partition = $1 AND consumer = $2 AND input = ANY($3)")
    static let suspectAll = Statement(
        """
        INSERT INTO bus.input_attempts AS s (partition, consumer, input, attempted_at)
        SELECT p.partition, $2, i.input, statement_timestamp()
        FROM bus.partitions AS p, unnest($3::text[]) AS i (input) WHERE p.partition = $1
        ON CONFLICT (partition, consumer, input) DO UPDATE
        SET attempts = s.attempts + 1, attempted_at = excluded.attempted_at
        RETURNING input, attempts::int8
        """)
    static let clearAll = Statement(
        "DELETE FROM bus.input_attempts WHERE partition = $1 AND consumer = $2 AND input = ANY($3)")
}
