public import FoundationEssentials

/// Readers of single columns.
extension Row {
    public func int(_ column: Int) throws(PostgresError) -> Int { try decode(Int.self, at: column) }
    public func optionalInt(_ column: Int) throws(PostgresError) -> Int? { try decode(Int?.self, at: column) }
    public func ints(_ column: Int) throws(PostgresError) -> [Int] { try decode([Int].self, at: column) }
    public func optionalInts(_ column: Int) throws(PostgresError) -> [Int?] { try decode([Int?].self, at: column) }
    public func int(_ name: String) throws(PostgresError) -> Int { try decode(Int.self, at: column(name)) }
    public func text(_ column: Int) throws(PostgresError) -> String { try decode(String.self, at: column) }
    public func optionalText(_ column: Int) throws(PostgresError) -> String? { try decode(String?.self, at: column) }
    public func texts(_ column: Int) throws(PostgresError) -> [String] { try decode([String].self, at: column) }
    public func optionalTexts(_ column: Int) throws(PostgresError) -> [String?] {
        try decode([String?].self, at: column)
    }
    public func text(_ name: String) throws(PostgresError) -> String { try decode(String.self, at: column(name)) }
    public func bytes(_ column: Int) throws(PostgresError) -> [UInt8] { try decode([UInt8].self, at: column) }
    public func optionalBytes(_ column: Int) throws(PostgresError) -> [UInt8]? { try decode([UInt8]?.self, at: column) }
    public func byteas(_ column: Int) throws(PostgresError) -> [[UInt8]] { try decode([[UInt8]].self, at: column) }
    public func optionalByteas(_ column: Int) throws(PostgresError) -> [[UInt8]?] {
        try decode([[UInt8]?].self, at: column)
    }
    public func bytes(_ name: String) throws(PostgresError) -> [UInt8] { try decode([UInt8].self, at: column(name)) }
    public func bool(_ column: Int) throws(PostgresError) -> Bool { try decode(Bool.self, at: column) }
    public func optionalBool(_ column: Int) throws(PostgresError) -> Bool? { try decode(Bool?.self, at: column) }
    public func bools(_ column: Int) throws(PostgresError) -> [Bool] { try decode([Bool].self, at: column) }
    public func optionalBools(_ column: Int) throws(PostgresError) -> [Bool?] { try decode([Bool?].self, at: column) }
    public func bool(_ name: String) throws(PostgresError) -> Bool { try decode(Bool.self, at: column(name)) }
    public func double(_ column: Int) throws(PostgresError) -> Double { try decode(Double.self, at: column) }
    public func optionalDouble(_ column: Int) throws(PostgresError) -> Double? { try decode(Double?.self, at: column) }
    public func doubles(_ column: Int) throws(PostgresError) -> [Double] { try decode([Double].self, at: column) }
    public func optionalDoubles(_ column: Int) throws(PostgresError) -> [Double?] {
        try decode([Double?].self, at: column)
    }
    public func double(_ name: String) throws(PostgresError) -> Double { try decode(Double.self, at: column(name)) }
    public func uuid(_ column: Int) throws(PostgresError) -> UUID { try decode(UUID.self, at: column) }
    public func optionalUUID(_ column: Int) throws(PostgresError) -> UUID? { try decode(UUID?.self, at: column) }
    public func uuids(_ column: Int) throws(PostgresError) -> [UUID] { try decode([UUID].self, at: column) }
    public func optionalUUIDs(_ column: Int) throws(PostgresError) -> [UUID?] { try decode([UUID?].self, at: column) }
    public func uuid(_ name: String) throws(PostgresError) -> UUID { try decode(UUID.self, at: column(name)) }
    public func timestampMilliseconds(_ column: Int) throws(PostgresError) -> Int64 {
        try decode(PostgresTimestamp.self, at: column).milliseconds
    }
    public func optionalTimestampMilliseconds(_ column: Int) throws(PostgresError) -> Int64? {
        try decode(PostgresTimestamp?.self, at: column)?.milliseconds
    }
    public func timestampsMilliseconds(_ column: Int) throws(PostgresError) -> [Int64] {
        try decode([PostgresTimestamp].self, at: column).map(\.milliseconds)
    }
    public func daysSinceEpoch(_ name: String) throws(PostgresError) -> Int {
        try decode(PostgresDate.self, at: column(name)).daysSinceEpoch
    }
    public func timestampMilliseconds(_ name: String) throws(PostgresError) -> Int64 {
        try decode(PostgresTimestamp.self, at: column(name)).milliseconds
    }
    /// Returns the index of the column with exactly this name.
    public func column(_ name: String) throws(PostgresError) -> Int {
        let names = (0..<handle.columnCount).map { ResultHandle.columnName(handle.pointer, Int32($0)) }
        guard let index = names.firstIndex(of: name) else {
            throw .decoding(column: name, reason: "the result has no column of this name")
        }
        return index
    }
}
