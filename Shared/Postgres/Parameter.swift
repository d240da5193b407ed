public import FoundationEssentials

/// A value for a `$n` of a statement, in PostgreSQL's binary format. Its type is explicit, also for a null, so the
/// server never infers types.
public struct Parameter: Sendable {
    enum Value: Sendable {
        case null
        /// The low `count` bytes of a number, sent in network order, without an allocation.
        case word(UInt64, count: Int)
        case text(String)
        case bytes([UInt8])
    }

    let type: UInt32
    let value: Value

    init(_ type: UInt32, _ value: Value?) {
        self.type = type
        self.value = value ?? .null
    }

    /// `bigint`
    public static func int(_ value: Int?) -> Parameter {
        Parameter(TypeOID.int8, value.map { .word(UInt64(bitPattern: Int64($0)), count: 8) })
    }

    /// `integer`
    public static func int4(_ value: Int32?) -> Parameter {
        Parameter(TypeOID.int4, value.map { .word(UInt64(UInt32(bitPattern: $0)), count: 4) })
    }

    /// `boolean`
    public static func bool(_ value: Bool?) -> Parameter {
        Parameter(TypeOID.bool, value.map { .word($0 ? 1 : 0, count: 1) })
    }

    /// `double precision`
    public static func double(_ value: Double?) -> Parameter {
        Parameter(TypeOID.float8, value.map { .word($0.bitPattern, count: 8) })
    }

    /// `text`. PostgreSQL rejects text with U+0000 (SQLSTATE 22021).
    public static func text(_ value: String?) -> Parameter {
        Parameter(TypeOID.text, value.map { .text($0) })
    }

    /// `bytea`
    public static func bytes(_ value: [UInt8]?) -> Parameter {
        Parameter(TypeOID.bytea, value.map { .bytes($0) })
    }

    /// `json`, which the server stores byte for byte. `utf8` must be one JSON value (else SQLSTATE 22P02).
    public static func json(_ utf8: [UInt8]?) -> Parameter {
        Parameter(TypeOID.json, utf8.map { .bytes($0) })
    }

    /// `uuid`
    public static func uuid(_ value: UUID?) -> Parameter {
        Parameter(TypeOID.uuid, value.map { .bytes(withUnsafeBytes(of: $0.uuid) { Array($0) }) })
    }

    /// `timestamptz`, in milliseconds since 1970 UTC. Values out of range become `infinity` or `-infinity`.
    public static func timestamp(milliseconds: Int64?) -> Parameter {
        Parameter(
            TypeOID.timestamptz,
            milliseconds.map { .word(UInt64(bitPattern: Epoch.wire(milliseconds: $0)), count: 8) })
    }

    /// `date`, in days since 1970-01-01. Values out of range become `infinity` or `-infinity`.
    public static func date(daysSinceEpoch: Int?) -> Parameter {
        Parameter(
            TypeOID.date,
            daysSinceEpoch.map { .word(UInt64(UInt32(bitPattern: Epoch.wire(days: $0))), count: 4) })
    }

    /// The number of bytes of the value on the wire.
    var byteCount: Int {
        switch value {
        case .null: 0
        case .word(_, let count): count
        case .text(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        }
    }

    func write(to writer: inout WireWriter) {
        switch value {
        case .null: break
        case .word(let bits, let count):
            switch count {
            case 8: writer.write(bits)
            case 4: writer.write(UInt32(truncatingIfNeeded: bits))
            default: writer.write(UInt8(truncatingIfNeeded: bits))
            }
        case .text(let text): writer.write(text)
        case .bytes(let bytes): bytes.withUnsafeBytes { writer.write($0) }
        }
    }
}
