public import Postgres

extension LogTail {
    static let dropped = Statement(
        """
        SELECT EXISTS (
            SELECT 1 FROM unnest($1::int4[], $2::int8[]) AS s (partition, log_offset)
            JOIN bus.retention AS r USING (partition) WHERE r.partition = ANY($1) AND s.log_offset < r.dropped_to)
        """)

    /// Returns whether retention has dropped events after one of these positions, so that a stream would skip them.
    public func isBeyondRetention(_ start: [Int: Int]) async throws(PostgresError) -> Bool {
        let places = start.sorted { $0.key < $1.key }
        let parameters: [Parameter] = [.int4s(places.map { Int32($0.key) }), .ints(places.map(\.value))]
        return try await pool.execute(Self.dropped, parameters)[0].decode(Bool.self)
    }
}
