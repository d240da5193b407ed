import FoundationEssentials
import Postgres
import Testing

@Suite("Values of parameters and rows")
struct ValuesTests {
    private func echo(_ type: String, _ parameter: Parameter) async throws -> Row {
        let connection = try await Database().connect()
        return try await connection.execute("SELECT $1::\(type) AS value", parameter)[0]
    }

    @Test(arguments: [Int.min, -1, 0, 1, .max]) func `integers survive a round trip`(value: Int) async throws {
        #expect(try await echo("bigint", .int(value)).int(0) == value)
    }

    @Test func `scalars survive a round trip`() async throws {
        let id = UUID()
        let connection = try await Database().connect()
        let row = try await connection.execute(
            "SELECT $1 AS i, $2 AS b, $3 AS d, $4 AS t, $5 AS y, $6 AS j, $7 AS u, $8 AS s, $9 AS e, 7::smallint AS h",
            .int4(-5), .bool(true), .double(0.1), .text("Größe 🐭"), .bytes([0, 255, 1]),
            .json(Array(#"{"b": 1}"#.utf8)),
            .uuid(id), .timestamp(milliseconds: -1), .date(daysSinceEpoch: -3))[0]
        #expect(try row.int("i") == -5)
        #expect(try row.bool("b"))
        #expect(try row.double("d") == 0.1)
        #expect(try row.text("t") == "Größe 🐭")
        #expect(try row.bytes("y") == [0, 255, 1])
        #expect(try row.text("j") == #"{"b": 1}"#)
        #expect(try row.uuid("u") == id)
        #expect(try row.timestampMilliseconds("s") == -1)
        #expect(try row.daysSinceEpoch("e") == -3)
        #expect(try row.int("h") == 7)
    }

    @Test func `timestamps and dates have the same meaning for the server`() async throws {
        let connection = try await Database().connect()
        let row = try await connection.execute(
            "SELECT $1 = '2026-01-02 03:04:05.678Z'::timestamptz, $2 = '2026-01-02'::date, $3 = 'infinity'::timestamptz",
            .timestamp(milliseconds: 1_767_323_045_678), .date(daysSinceEpoch: 20_455), .timestamp(milliseconds: .max)
        )[0]
        for column in 0..<3 { #expect(try row.bool(column)) }
    }

    @Test func `a null of every type reads as nil`() async throws {
        let connection = try await Database().connect()
        let row = try await connection.execute(
            "SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9", .int(nil), .int4(nil), .bool(nil), .double(nil), .text(nil),
            .bytes(nil), .json(nil), .uuid(nil), .timestamp(milliseconds: nil))[0]
        #expect(try row.optionalInt(0) == nil)
        #expect(try row.optionalInt(1) == nil)
        #expect(try row.optionalBool(2) == nil)
        #expect(try row.optionalDouble(3) == nil)
        #expect(try row.optionalText(4) == nil)
        #expect(try row.optionalBytes(5) == nil)
        #expect(try row.optionalBytes(6) == nil)
        #expect(try row.optionalUUID(7) == nil)
        #expect(try row.optionalTimestampMilliseconds(8) == nil)
    }

    @Test func `an empty value is not null`() async throws {
        let connection = try await Database().connect()
        let row = try await connection.execute("SELECT $1, $2, $3", .text(""), .bytes([]), .texts([String]()))[0]
        #expect(try row.optionalText(0) == "")
        #expect(try row.optionalBytes(1) == [])
        #expect(try row.texts(2) == [])
    }

    @Test func `arrays with nulls survive a round trip`() async throws {
        let ids = [UUID(), nil, UUID()]
        let connection = try await Database().connect()
        let row = try await connection.execute(
            "SELECT $1, $2, $3, $4, $5", .ints([1, nil, -3]), .texts(["a", nil, ""]), .uuids(ids),
            .byteas([[1, 2], nil, []]), .jsons([Array("1".utf8), nil]))[0]
        #expect(try row.optionalInts(0) == [1, nil, -3])
        #expect(try row.optionalTexts(1) == ["a", nil, ""])
        #expect(try row.optionalUUIDs(2) == ids)
        #expect(try row.optionalByteas(3) == [[1, 2], nil, []])
        #expect(try row.optionalByteas(4) == [[0x31], nil])
        #expect(throws: PostgresError.decoding(column: "?column?", reason: "has a null element")) { try row.ints(0) }
    }

    @Test func `arrays without nulls survive a round trip`() async throws {
        let ids = [UUID(), UUID()]
        let connection = try await Database().connect()
        let row = try await connection.execute(
            "SELECT $1, $2, $3, $4, $5, $6, $7, $8", .ints([1, 2]), .int4s([-1, 3]), .bools([true, false]),
            .doubles([0.5]), .timestamps(milliseconds: [0, -5]), .uuids(ids), .texts(["ä"]), .byteas([[], [9]]))[0]
        #expect(try row.ints(0) == [1, 2])
        #expect(try row.ints(1) == [-1, 3])
        #expect(try row.bools(2) == [true, false])
        #expect(try row.doubles(3) == [0.5])
        #expect(try row.timestampsMilliseconds(4) == [0, -5])
        #expect(try row.uuids(5) == ids)
        #expect(try row.texts(6) == ["ä"])
        #expect(try row.byteas(7) == [[], [9]])
    }

    @Test func `unnest turns arrays into rows`() async throws {
        let connection = try await Database().connect()
        let rows = try await connection.execute(
            "SELECT * FROM unnest($1, $2) AS row (number, word)", .ints([3, 1, 2]), .texts(["c", "a", nil]))
        #expect(rows.columns == ["number", "word"])
        #expect(try rows.map { try $0.int(0) } == [3, 1, 2])
        #expect(try rows.map { try $0.optionalText(1) } == ["c", "a", nil])
    }

    @Test func `a reader of the wrong type throws an error that names the column`() async throws {
        let row = try await echo("numeric", .int(5))
        #expect(throws: PostgresError.decoding(column: "value", reason: "is numeric of 10 bytes, not an integer")) {
            try row.int("value")
        }
        #expect(throws: PostgresError.decoding(column: "other", reason: "the result has no column of this name")) {
            try row.int("other")
        }
        #expect(throws: PostgresError.decoding(column: "4", reason: "the result has only 1 columns")) { try row.int(4) }
        let null = try await echo("int8", .int(nil))
        #expect(throws: PostgresError.decoding(column: "value", reason: "is null")) { try null.int(0) }
    }
}
