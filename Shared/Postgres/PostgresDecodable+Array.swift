/// An array of one dimension.
extension Array: PostgresDecodable where Element: PostgresDecodable {
    public init(decoding cell: Cell) throws(PostgresError) { self = try Element.array(decoding: cell) }
}

extension PostgresDecodable {
    public static func array(decoding cell: Cell) throws(PostgresError) -> [Self] {
        guard var reader = ArrayReader(try cell.value()) else { throw cell.mismatch("an array of one dimension") }
        var values: [Self] = []
        values.reserveCapacity(reader.count)
        for _ in 0..<reader.count {
            guard let bytes = reader.next() else { throw cell.mismatch("a whole array") }
            values.append(try Self(decoding: cell.element(reader.type, bytes)))
        }
        return values
    }
}

/// Reads the binary format of `array_send`, and checks all its lengths.
private struct ArrayReader {
    let count: Int
    let type: UInt32
    private let bytes: UnsafeRawBufferPointer
    private var position: Int

    init?(_ bytes: UnsafeRawBufferPointer) {
        func word(_ offset: Int) -> Int { Int(bytes.bigEndian(Int32.self, at: offset)) }
        guard bytes.count >= 12 else { return nil }
        self.bytes = bytes
        type = bytes.bigEndian(UInt32.self, at: 8)
        switch word(0) {
        case 0:
            count = 0
            position = 12
        case 1:
            // An element has at least 4 bytes, so a larger count is invalid.
            guard bytes.count >= 20, word(12) >= 0, word(12) <= (bytes.count - 20) / 4 else { return nil }
            count = word(12)
            position = 20
        default: return nil
        }
    }

    /// Returns the bytes of the next element, with nil for a null; nil if the array is truncated.
    mutating func next() -> UnsafeRawBufferPointer?? {
        guard position + 4 <= bytes.count else { return nil }
        let length = Int(bytes.bigEndian(Int32.self, at: position))
        position += 4
        guard length >= 0 else { return .some(nil) }
        guard position + length <= bytes.count else { return nil }
        defer { position += length }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<position + length])
    }
}
