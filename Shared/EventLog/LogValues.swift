public import Contracts
public import Postgres
public import Timeline

// The types of the log in columns and parameters.

extension Instant: PostgresDecodable {
    /// Decodes milliseconds since 1970 UTC as an integer, or a `timestamptz`.
    public init(decoding cell: Cell) throws(PostgresError) {
        self.init(
            milliseconds: cell.isTimestamp
                ? try PostgresTimestamp(decoding: cell).milliseconds : Int64(try Int(decoding: cell)))
    }
}

extension AggregateKey: PostgresDecodable {
    public init(decoding cell: Cell) throws(PostgresError) { self.init(try String(decoding: cell)) }
}

extension Parameter {
    /// `integer`, the number of a partition
    public static func partition(_ partition: Int) -> Parameter { .int4(Int32(partition)) }

    /// `text`
    public static func key(_ key: AggregateKey) -> Parameter { .text(key.description) }

    /// `bigint`, in milliseconds since 1970 UTC
    public static func instant(_ instant: Instant?) -> Parameter { .int(instant.map { Int($0.milliseconds) }) }
}
