public import FoundationEssentials

/// The same readers by column name. Each call scans the names; in a loop over many rows, call ``Row/column(_:)`` once.
extension Row {
    /// Returns the index of the column with exactly this name.
    public func column(_ name: String) throws(PostgresError) -> Int {
        guard let index = handle.columnIndex(name) else {
            throw .decoding(column: name, reason: "the result has no column of this name")
        }
        return index
    }

    public func int(_ name: String) throws(PostgresError) -> Int { try int(column(name)) }

    public func optionalInt(_ name: String) throws(PostgresError) -> Int? { try optionalInt(column(name)) }

    public func text(_ name: String) throws(PostgresError) -> String { try text(column(name)) }

    public func optionalText(_ name: String) throws(PostgresError) -> String? { try optionalText(column(name)) }

    public func bytes(_ name: String) throws(PostgresError) -> [UInt8] { try bytes(column(name)) }

    public func optionalBytes(_ name: String) throws(PostgresError) -> [UInt8]? { try optionalBytes(column(name)) }

    public func bool(_ name: String) throws(PostgresError) -> Bool { try bool(column(name)) }

    public func optionalBool(_ name: String) throws(PostgresError) -> Bool? { try optionalBool(column(name)) }

    public func double(_ name: String) throws(PostgresError) -> Double { try double(column(name)) }

    public func optionalDouble(_ name: String) throws(PostgresError) -> Double? { try optionalDouble(column(name)) }

    public func uuid(_ name: String) throws(PostgresError) -> UUID { try uuid(column(name)) }

    public func optionalUUID(_ name: String) throws(PostgresError) -> UUID? { try optionalUUID(column(name)) }

    public func timestampMilliseconds(_ name: String) throws(PostgresError) -> Int64 {
        try timestampMilliseconds(column(name))
    }

    public func optionalTimestampMilliseconds(_ name: String) throws(PostgresError) -> Int64? {
        try optionalTimestampMilliseconds(column(name))
    }

    public func daysSinceEpoch(_ name: String) throws(PostgresError) -> Int { try daysSinceEpoch(column(name)) }

    public func optionalDaysSinceEpoch(_ name: String) throws(PostgresError) -> Int? {
        try optionalDaysSinceEpoch(column(name))
    }

    public func ints(_ name: String) throws(PostgresError) -> [Int] { try ints(column(name)) }

    public func texts(_ name: String) throws(PostgresError) -> [String] { try texts(column(name)) }
}
