public import FoundationEssentials

/// One-dimensional arrays in the binary format (`array_recv` in PostgreSQL's `arrayfuncs.c`), for `unnest($1, $2, …)`,
/// which makes one statement process a batch of any size.
extension Parameter {
    /// `bigint[]`
    public static func ints(_ values: [Int]) -> Parameter { array(TypeOID.int8Array, of: TypeOID.int8, values) }

    /// `bigint[]` with nulls
    public static func ints(_ values: [Int?]) -> Parameter { array(TypeOID.int8Array, of: TypeOID.int8, values) }

    /// `integer[]`
    public static func int4s(_ values: [Int32]) -> Parameter { array(TypeOID.int4Array, of: TypeOID.int4, values) }

    /// `boolean[]`
    public static func bools(_ values: [Bool]) -> Parameter { array(TypeOID.boolArray, of: TypeOID.bool, values) }

    /// `uuid[]`
    public static func uuids(_ values: [UUID]) -> Parameter { array(TypeOID.uuidArray, of: TypeOID.uuid, values) }

    /// `uuid[]` with nulls
    public static func uuids(_ values: [UUID?]) -> Parameter { array(TypeOID.uuidArray, of: TypeOID.uuid, values) }

    /// `text[]`
    public static func texts(_ values: [String]) -> Parameter { array(TypeOID.textArray, of: TypeOID.text, values) }

    /// `text[]` with nulls
    public static func texts(_ values: [String?]) -> Parameter { array(TypeOID.textArray, of: TypeOID.text, values) }

    /// `bytea[]`
    public static func byteas(_ values: [[UInt8]]) -> Parameter { array(TypeOID.byteaArray, of: TypeOID.bytea, values) }

    /// `bytea[]` with nulls
    public static func byteas(_ values: [[UInt8]?]) -> Parameter {
        array(TypeOID.byteaArray, of: TypeOID.bytea, values)
    }

    /// `json[]`, each element one JSON value in UTF-8
    public static func jsons(_ values: [[UInt8]]) -> Parameter { array(TypeOID.jsonArray, of: TypeOID.json, values) }

    /// `json[]` with nulls
    public static func jsons(_ values: [[UInt8]?]) -> Parameter { array(TypeOID.jsonArray, of: TypeOID.json, values) }

    /// Writes an array into one allocation of the exact size.
    private static func array<Element: ArrayElement>(_ type: UInt32, of element: UInt32, _ values: [Element])
        -> Parameter
    {
        let payload = values.reduce(0) { $0 + ($1.byteCount ?? 0) }
        let total = 20 + 4 * values.count + payload
        let bytes = [UInt8](unsafeUninitializedCapacity: total) { buffer, initialized in
            guard let base = buffer.baseAddress else { return }
            var writer = WireWriter(base)
            writer.write(Int32(values.isEmpty ? 0 : 1))
            writer.write(Int32(values.contains { $0.byteCount == nil } ? 1 : 0))
            writer.write(element)
            if !values.isEmpty {
                writer.write(Int32(clamping: values.count))
                writer.write(Int32(1))
            }
            for value in values {
                writer.write(value.byteCount.map { Int32(clamping: $0) } ?? -1)
                value.write(to: &writer)
            }
            initialized = writer.count
        }
        return Parameter(type, .bytes(bytes))
    }
}

private protocol ArrayElement {
    /// The number of bytes on the wire; nil for a null.
    var byteCount: Int? { get }
    func write(to writer: inout WireWriter)
}

extension Optional: ArrayElement where Wrapped: ArrayElement {
    var byteCount: Int? { flatMap(\.byteCount) }
    func write(to writer: inout WireWriter) { self?.write(to: &writer) }
}

extension Int: ArrayElement {
    var byteCount: Int? { 8 }
    func write(to writer: inout WireWriter) { writer.write(Int64(self)) }
}

extension Int32: ArrayElement {
    var byteCount: Int? { 4 }
    func write(to writer: inout WireWriter) { writer.write(self) }
}

extension Bool: ArrayElement {
    var byteCount: Int? { 1 }
    func write(to writer: inout WireWriter) { writer.write(UInt8(self ? 1 : 0)) }
}

extension UUID: ArrayElement {
    var byteCount: Int? { 16 }
    func write(to writer: inout WireWriter) { withUnsafeBytes(of: uuid) { writer.write($0) } }
}

extension String: ArrayElement {
    var byteCount: Int? { utf8.count }
    func write(to writer: inout WireWriter) { writer.write(self) }
}

extension Array: ArrayElement where Element == UInt8 {
    var byteCount: Int? { count }
    func write(to writer: inout WireWriter) { withUnsafeBytes { writer.write($0) } }
}
