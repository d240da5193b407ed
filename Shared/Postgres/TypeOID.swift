/// The OIDs of PostgreSQL's built-in types, the same in all versions (`src/include/catalog/pg_type.dat`).
enum TypeOID {
    static let bool: UInt32 = 16
    static let bytea: UInt32 = 17
    static let char: UInt32 = 18
    static let int8: UInt32 = 20
    static let int2: UInt32 = 21
    static let int4: UInt32 = 23
    static let text: UInt32 = 25
    static let oid: UInt32 = 26
    static let json: UInt32 = 114
    static let float4: UInt32 = 700
    static let float8: UInt32 = 701
    static let date: UInt32 = 1082
    static let timestamp: UInt32 = 1114
    static let timestamptz: UInt32 = 1184
    static let numeric: UInt32 = 1700
    static let uuid: UInt32 = 2950
    static let jsonb: UInt32 = 3802

    static let boolArray: UInt32 = 1000
    static let byteaArray: UInt32 = 1001
    static let int4Array: UInt32 = 1007
    static let textArray: UInt32 = 1009
    static let int8Array: UInt32 = 1016
    static let float8Array: UInt32 = 1022
    static let timestamptzArray: UInt32 = 1185
    static let jsonArray: UInt32 = 199
    static let uuidArray: UInt32 = 2951

    private static let names = [
        bool: "boolean", bytea: "bytea", char: "\"char\"", int8: "bigint", int2: "smallint", int4: "integer",
        text: "text",
        json: "json", jsonb: "jsonb", float4: "real", float8: "double precision", date: "date", timestamp: "timestamp",
        timestamptz: "timestamptz", numeric: "numeric", uuid: "uuid",
    ]

    /// Returns the SQL name of the type, for messages.
    static func name(_ oid: UInt32) -> String { names[oid] ?? "type \(oid)" }

    /// Whether the binary form of a type is text. True for all types not listed: domains of text, enums, names.
    static func isText(_ oid: UInt32) -> Bool {
        switch oid {
        case bool, bytea, int8, int2, int4, Self.oid, float4, float8, date, timestamp, timestamptz, numeric, uuid,
            jsonb,
            boolArray, byteaArray, int4Array, textArray, int8Array, float8Array, timestamptzArray, jsonArray,
            uuidArray:
            false
        default: true
        }
    }
}
