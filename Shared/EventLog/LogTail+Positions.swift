public import Postgres

/// The reason why a stream can't start after a position.
public enum PositionError: Sendable, Equatable {
    /// Retention dropped events after the position.
    case beyondRetention
    /// The position is after the end of the log: the log was restored to an earlier point.
    case beyondLog(LogPosition, head: Int)
}

/// A position in the log: a partition and an offset.
public struct LogPosition: Sendable, Hashable, CustomStringConvertible {
    public let partition: Int
    public let offset: Int

    public init(partition: Int, offset: Int) { (self.partition, self.offset) = (partition, offset) }

    public var description: String { "\(partition):\(offset)" }
}

extension LogTail {
    // No service has ever returned a position beyond a head, and the heads are read after the client got its position.
    static let faults = Statement(
        """
        SELECT s.partition::int8, s.log_offset, p.head
        FROM unnest($1::int4[], $2::int8[]) AS s (partition, log_offset) JOIN bus.partitions AS p USING (partition)
        LEFT JOIN bus.retention AS r ON r.partition = p.partition AND r.partition = ANY($1)
        WHERE p.partition = ANY($1) AND (s.log_offset > p.head OR s.log_offset < r.dropped_to)
        ORDER BY s.log_offset <= p.head, s.partition LIMIT 1
        """)

    /// Returns the reason why a stream can't start after these positions; nil if it can.
    ///
    /// - Parameter places: the offsets by partition. The log must have these partitions.
    public func fault(of places: [Int: Int]) async throws(PostgresError) -> PositionError? {
        let places = places.sorted { $0.key < $1.key }
        let parameters: [Parameter] = [.int4s(places.map { Int32(clamping: $0.key) }), .ints(places.map(\.value))]
        guard let row = try await pool.execute(Self.faults, parameters).first else { return nil }
        let (partition, offset, head) = try row.decode((Int, Int, Int).self)
        let position = LogPosition(partition: partition, offset: offset)
        return position.offset > head ? .beyondLog(position, head: head) : .beyondRetention
    }
}
