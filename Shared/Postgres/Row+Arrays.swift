public import FoundationEssentials

/// Readers of one-dimensional arrays. A null array throws, and so does a null element except in `optional…` readers.
extension Row {
    /// Reads a `bigint[]` or `integer[]`.
    public func ints(_ column: Int) throws(PostgresError) -> [Int] {
        try elements(column) { cell in
            switch (cell.type, cell.bytes.count) {
            case (TypeOID.int8, 8): Int(cell.load(as: Int64.self))
            case (TypeOID.int4, 4): Int(cell.load(as: Int32.self))
            default: nil
            }
        }
    }

    /// Reads a `bigint[]` or `integer[]` with nulls.
    public func optionalInts(_ column: Int) throws(PostgresError) -> [Int?] {
        try optionalElements(column) { cell in
            switch (cell.type, cell.bytes.count) {
            case (TypeOID.int8, 8): Int(cell.load(as: Int64.self))
            case (TypeOID.int4, 4): Int(cell.load(as: Int32.self))
            default: nil
            }
        }
    }

    public func bools(_ column: Int) throws(PostgresError) -> [Bool] {
        try elements(column) { cell in
            cell.type == TypeOID.bool && cell.bytes.count == 1 ? cell.bytes[0] != 0 : nil
        }
    }

    public func doubles(_ column: Int) throws(PostgresError) -> [Double] {
        try elements(column) { cell in
            cell.type == TypeOID.float8 && cell.bytes.count == 8
                ? Double(bitPattern: cell.load(as: UInt64.self)) : nil
        }
    }

    public func texts(_ column: Int) throws(PostgresError) -> [String] { try elements(column, Self.text) }

    public func optionalTexts(_ column: Int) throws(PostgresError) -> [String?] {
        try optionalElements(column, Self.text)
    }

    /// Reads a `bytea[]`, or the UTF-8 of a `text[]` or `json[]`.
    public func byteas(_ column: Int) throws(PostgresError) -> [[UInt8]] { try elements(column, Self.bytes) }

    public func optionalByteas(_ column: Int) throws(PostgresError) -> [[UInt8]?] {
        try optionalElements(column, Self.bytes)
    }

    public func uuids(_ column: Int) throws(PostgresError) -> [UUID] { try elements(column, Self.uuid) }

    public func optionalUUIDs(_ column: Int) throws(PostgresError) -> [UUID?] {
        try optionalElements(column, Self.uuid)
    }

    /// Reads a `timestamptz[]` in milliseconds since 1970 UTC.
    public func timestampsMilliseconds(_ column: Int) throws(PostgresError) -> [Int64] {
        try elements(column) { cell in
            cell.type == TypeOID.timestamptz && cell.bytes.count == 8
                ? Epoch.milliseconds(wire: cell.load(as: Int64.self)) : nil
        }
    }

    private static func text(_ cell: Cell) -> String? {
        TypeOID.isText(cell.type) ? String(decoding: cell.bytes, as: UTF8.self) : nil
    }

    private static func bytes(_ cell: Cell) -> [UInt8]? {
        cell.type == TypeOID.bytea || TypeOID.isText(cell.type) ? [UInt8](cell.bytes) : nil
    }

    private static func uuid(_ cell: Cell) -> UUID? {
        cell.type == TypeOID.uuid && cell.bytes.count == 16
            ? UUID(uuid: cell.bytes.loadUnaligned(as: uuid_t.self)) : nil
    }
}

extension Row {
    private func elements<Element>(
        _ column: Int, _ decode: (Cell) -> Element?
    ) throws(PostgresError) -> [Element] {
        var values: [Element] = []
        for value in try optionalElements(column, decode) {
            guard let value else {
                throw .decoding(column: handle.columnName(column), reason: "has a null element")
            }
            values.append(value)
        }
        return values
    }

    private func optionalElements<Element>(
        _ column: Int, _ decode: (Cell) -> Element?
    ) throws(PostgresError) -> [Element?] {
        let cell = try require(cell(column), column)
        guard var reader = ArrayReader(cell.bytes) else { throw mismatch(column, cell, "an array of one dimension") }
        var values: [Element?] = []
        values.reserveCapacity(reader.count)
        for _ in 0..<reader.count {
            switch reader.next() {
            case .null: values.append(nil)
            case .value(let element):
                guard let value = decode(element) else {
                    throw .decoding(
                        column: handle.columnName(column), reason: "is an array of \(TypeOID.name(element.type))")
                }
                values.append(value)
            case .truncated: throw mismatch(column, cell, "a whole array")
            }
        }
        return values
    }
}

/// Reads the binary format of `array_send`, and checks all its lengths.
private struct ArrayReader {
    enum Element {
        case null
        case value(Cell)
        case truncated
    }

    let count: Int
    private let type: UInt32
    private let bytes: UnsafeRawBufferPointer
    private var position: Int

    init?(_ bytes: UnsafeRawBufferPointer) {
        func word(_ offset: Int) -> Int32 {
            Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self))
        }
        guard bytes.count >= 12 else { return nil }
        self.bytes = bytes
        type = UInt32(bitPattern: word(8))
        switch word(0) {
        case 0:
            count = 0
            position = 12
        case 1:
            // An element has at least 4 bytes, so a larger count is invalid.
            guard bytes.count >= 20, word(12) >= 0, Int(word(12)) <= (bytes.count - 20) / 4 else { return nil }
            count = Int(word(12))
            position = 20
        default: return nil
        }
    }

    mutating func next() -> Element {
        guard position + 4 <= bytes.count else { return .truncated }
        let length = Int(Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: Int32.self)))
        position += 4
        guard length >= 0 else { return .null }
        guard position + length <= bytes.count else { return .truncated }
        defer { position += length }
        return .value(Cell(type: type, bytes: UnsafeRawBufferPointer(rebasing: bytes[position..<position + length])))
    }
}
