public import FoundationEssentials

/// One-dimensional arrays in the binary format (`array_recv` in PostgreSQL's `arrayfuncs.c`), for `unnest($1, $2, …)`,
/// which makes one statement process a batch of any size.
extension Parameter {
    /// `bigint[]`
    public static func ints(_ values: [Int]) -> Parameter {
        fixed(TypeOID.int8Array, of: TypeOID.int8, width: 8, values) { $1.write(Int64($0)) }
    }

    /// `bigint[]` with nulls
    public static func ints(_ values: [Int?]) -> Parameter {
        optional(TypeOID.int8Array, of: TypeOID.int8, values, size: { _ in 8 }) { $1.write(Int64($0)) }
    }

    /// `integer[]`
    public static func int4s(_ values: [Int32]) -> Parameter {
        fixed(TypeOID.int4Array, of: TypeOID.int4, width: 4, values) { $1.write($0) }
    }

    /// `boolean[]`
    public static func bools(_ values: [Bool]) -> Parameter {
        fixed(TypeOID.boolArray, of: TypeOID.bool, width: 1, values) { $1.write(UInt8($0 ? 1 : 0)) }
    }

    /// `double precision[]`
    public static func doubles(_ values: [Double]) -> Parameter {
        fixed(TypeOID.float8Array, of: TypeOID.float8, width: 8, values) { $1.write($0.bitPattern) }
    }

    /// `timestamptz[]`, in milliseconds since 1970 UTC
    public static func timestamps(milliseconds values: [Int64]) -> Parameter {
        fixed(TypeOID.timestamptzArray, of: TypeOID.timestamptz, width: 8, values) {
            $1.write(Epoch.wire(milliseconds: $0))
        }
    }

    /// `timestamptz[]` with nulls, in milliseconds since 1970 UTC
    public static func timestamps(milliseconds values: [Int64?]) -> Parameter {
        optional(TypeOID.timestamptzArray, of: TypeOID.timestamptz, values, size: { _ in 8 }) {
            $1.write(Epoch.wire(milliseconds: $0))
        }
    }

    /// `uuid[]`
    public static func uuids(_ values: [UUID]) -> Parameter {
        fixed(TypeOID.uuidArray, of: TypeOID.uuid, width: 16, values) { write($0, to: &$1) }
    }

    /// `uuid[]` with nulls
    public static func uuids(_ values: [UUID?]) -> Parameter {
        optional(TypeOID.uuidArray, of: TypeOID.uuid, values, size: { _ in 16 }) { write($0, to: &$1) }
    }

    /// `text[]`
    public static func texts(_ values: [String]) -> Parameter {
        variable(TypeOID.textArray, of: TypeOID.text, values, size: { $0.utf8.count }) { $1.write($0) }
    }

    /// `text[]` with nulls
    public static func texts(_ values: [String?]) -> Parameter {
        optional(TypeOID.textArray, of: TypeOID.text, values, size: { $0.utf8.count }) { $1.write($0) }
    }

    /// `bytea[]`
    public static func byteas(_ values: [[UInt8]]) -> Parameter {
        variable(TypeOID.byteaArray, of: TypeOID.bytea, values, size: \.count) { write($0, to: &$1) }
    }

    /// `bytea[]` with nulls
    public static func byteas(_ values: [[UInt8]?]) -> Parameter {
        optional(TypeOID.byteaArray, of: TypeOID.bytea, values, size: \.count) { write($0, to: &$1) }
    }

    /// `json[]`, each element one JSON value in UTF-8
    public static func jsons(_ values: [[UInt8]]) -> Parameter {
        variable(TypeOID.jsonArray, of: TypeOID.json, values, size: \.count) { write($0, to: &$1) }
    }

    /// `json[]` with nulls
    public static func jsons(_ values: [[UInt8]?]) -> Parameter {
        optional(TypeOID.jsonArray, of: TypeOID.json, values, size: \.count) { write($0, to: &$1) }
    }
}

// Each function writes its array into one allocation of the exact size.
extension Parameter {
    private static let headerSize = 20

    private static func write(_ uuid: UUID, to writer: inout WireWriter) {
        withUnsafeBytes(of: uuid.uuid) { writer.write($0) }
    }

    private static func write(_ bytes: [UInt8], to writer: inout WireWriter) {
        bytes.withUnsafeBytes { writer.write($0) }
    }

    @inline(__always)
    private static func fixed<Element>(
        _ type: UInt32, of element: UInt32, width: Int, _ values: [Element],
        write: (Element, inout WireWriter) -> Void
    ) -> Parameter {
        array(type, of: element, count: values.count, hasNulls: false, payload: values.count * width) { writer in
            for value in values {
                writer.write(Int32(truncatingIfNeeded: width))
                write(value, &writer)
            }
        }
    }

    @inline(__always)
    private static func variable<Element>(
        _ type: UInt32, of element: UInt32, _ values: [Element], size: (Element) -> Int,
        write: (Element, inout WireWriter) -> Void
    ) -> Parameter {
        let payload = values.reduce(0) { $0 + size($1) }
        return array(type, of: element, count: values.count, hasNulls: false, payload: payload) { writer in
            for value in values {
                writer.write(Int32(clamping: size(value)))
                write(value, &writer)
            }
        }
    }

    @inline(__always)
    private static func optional<Element>(
        _ type: UInt32, of element: UInt32, _ values: [Element?], size: (Element) -> Int,
        write: (Element, inout WireWriter) -> Void
    ) -> Parameter {
        let payload = values.reduce(0) { $0 + ($1.map(size) ?? 0) }
        let hasNulls = values.contains { $0 == nil }
        return array(type, of: element, count: values.count, hasNulls: hasNulls, payload: payload) { writer in
            for value in values {
                guard let value else {
                    writer.write(Int32(-1))
                    continue
                }
                writer.write(Int32(clamping: size(value)))
                write(value, &writer)
            }
        }
    }

    @inline(__always)
    private static func array(
        _ type: UInt32, of element: UInt32, count: Int, hasNulls: Bool, payload: Int,
        body: (inout WireWriter) -> Void
    ) -> Parameter {
        let total = headerSize + 4 * count + payload
        let bytes = [UInt8](unsafeUninitializedCapacity: total) { buffer, initialized in
            guard let base = buffer.baseAddress else { return }
            var writer = WireWriter(base)
            writer.write(Int32(count == 0 ? 0 : 1))
            writer.write(Int32(hasNulls ? 1 : 0))
            writer.write(element)
            if count > 0 {
                writer.write(Int32(clamping: count))
                writer.write(Int32(1))
                body(&writer)
            }
            initialized = writer.count
        }
        return Parameter(type, .bytes(bytes))
    }
}
