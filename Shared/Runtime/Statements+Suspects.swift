import Postgres

/// The statements for commands that may end a process. They are not on the hot path.
extension Statements {
    /// Returns whether a member died within the last minute or has missed two renewals, or whether commands were
    /// recorded in the last 10 minutes.
    static let guardsCommands = Statement(
        """
        SELECT EXISTS (
                SELECT FROM bus.members
                WHERE consumer = $1 AND member <> $2 AND expires < clock_timestamp() + interval '1.5 seconds')
            OR EXISTS (
                SELECT FROM bus.input_attempts
                WHERE consumer = $1 AND input LIKE 'command:%'
                    AND attempted_at > clock_timestamp() - interval '10 minutes')
        """)
    static let condemnedCommands = Statement(
        "SELECT input FROM bus.input_attempts WHERE consumer = $1 AND input LIKE 'command:%' AND attempts >= $2")
    static let suspects = Statement(
        "SELECT input FROM bus.input_attempts WHERE partition = $1 AND consumer = $2 AND input = ANY($3)")
    static let suspectAll = Statement(
        """
        INSERT INTO bus.input_attempts AS s (partition, consumer, input)
        SELECT $1, $2, input FROM unnest($3::text[]) AS input
        ON CONFLICT (partition, consumer, input) DO UPDATE
        SET attempts = s.attempts + 1, attempted_at = clock_timestamp()
        RETURNING input, attempts::int8
        """)
    static let clearAll = Statement(
        "DELETE FROM bus.input_attempts WHERE partition = $1 AND consumer = $2 AND input = ANY($3)")
}
