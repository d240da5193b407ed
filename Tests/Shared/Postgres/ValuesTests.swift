import FoundationEssentials
import Postgres
import TestSupport
import Testing

@Suite("Values of parameters and rows", .tags(.database))
struct ValuesTests {
    private func echo(_ type: String, _ parameter: Parameter) async throws -> Row {
        let connection = try await Database().connect()
        return try await connection.execute("SELECT $1::\(type) AS value", parameter)[0]
    }

    @Test(arguments: [Int.min, -1, 0, 1, .max]) func `integers survive a round trip`(value: Int) async throws {
        #expect(try await echo("bigint", .int(value)).decode(Int.self, at: 0) == value)
    }

    @Test func `scalars survive a round trip`() async throws {
        let id = UUID()
        let connection = try await Database().connect()
        let row = try await connection.execute(
            "SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, 7::smallint", .int4(-5), .bool(true), .double(0.1),
            .text("Größe 🐭"), .bytes([0, 255, 1]), .json(Array(#"{"b": 1}"#.utf8)), .uuid(id),
            .timestamp(milliseconds: -1), .date(daysSinceEpoch: -3))[0]
        let (integer, bool, double, text, bytes, json, uuid, time, day, small) = try row.decode(
            (Int, Bool, Double, String, [UInt8], String, UUID, PostgresTimestamp, PostgresDate, Int).self)
        #expect(integer == -5 && bool && double == 0.1 && small == 7)
        #expect(text == "Größe 🐭" && bytes == [0, 255, 1] && json == #"{"b": 1}"#)
        #expect(uuid == id && time.milliseconds == -1 && day.daysSinceEpoch == -3)
    }

    @Test func `timestamps and dates have the same meaning for the server`() async throws {
        let connection = try await Database().connect()
        let row = try await connection.execute(
            "SELECT $1 = '2026-01-02 03:04:05.678Z'::timestamptz, $2 = '2026-01-02'::date, $3 = 'infinity'::timestamptz",
            .timestamp(milliseconds: 1_767_323_045_678), .date(daysSinceEpoch: 20_455), .timestamp(milliseconds: .max)
        )[0]
        #expect(try row.decode((Bool, Bool, Bool).self) == (true, true, true))
    }

    @Test func `a null of every type reads as nil`() async throws {
        let connection = try await Database().connect()
        let row = try await connection.execute(
            "SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9", .int(nil), .int4(nil), .bool(nil), .double(nil), .text(nil),
            .bytes(nil), .json(nil), .uuid(nil), .timestamp(milliseconds: nil))[0]
        #expect(try row.decode(Int?.self, at: 0) == nil)
        #expect(try row.decode(Int?.self, at: 1) == nil)
        #expect(try row.decode(Bool?.self, at: 2) == nil)
        #expect(try row.decode(Double?.self, at: 3) == nil)
        #expect(try row.decode(String?.self, at: 4) == nil)
        #expect(try row.decode([UInt8]?.self, at: 5) == nil)
        #expect(try row.decode([UInt8]?.self, at: 6) == nil)
        #expect(try row.decode(UUID?.self, at: 7) == nil)
        #expect(try row.decode(PostgresTimestamp?.self, at: 8)?.milliseconds == nil)
    }

    @Test func `an empty value is not null`() async throws {
        let connection = try await Database().connect()
        let row = try await connection.execute("SELECT $1, $2, $3", .text(""), .bytes([]), .texts([String]()))[0]
        #expect(try row.decode(String?.self, at: 0) == "")
        #expect(try row.decode([UInt8]?.self, at: 1) == [])
        #expect(try row.decode([String].self, at: 2) == [])
    }

    @Test func `arrays with nulls survive a round trip`() async throws {
        let ids = [UUID(), nil, UUID()]
        let connection = try await Database().connect()
        let row = try await connection.execute(
            "SELECT $1, $2, $3, $4, $5", .ints([1, nil, -3]), .texts(["a", nil, ""]), .uuids(ids),
            .byteas([[1, 2], nil, []]), .jsons([Array("1".utf8), nil]))[0]
        #expect(try row.decode([Int?].self, at: 0) == [1, nil, -3])
        #expect(try row.decode([String?].self, at: 1) == ["a", nil, ""])
        #expect(try row.decode([UUID?].self, at: 2) == ids)
        #expect(try row.decode([[UInt8]?].self, at: 3) == [[1, 2], nil, []])
        #expect(try row.decode([[UInt8]?].self, at: 4) == [[0x31], nil])
        #expect(throws: PostgresError.decoding(column: "?column?", reason: "has a null element")) {
            try row.decode([Int].self, at: 0)
        }
    }

    @Test func `arrays without nulls survive a round trip`() async throws {
        let ids = [UUID(), UUID()]
        let connection = try await Database().connect()
        let row = try await connection.execute(
            """
            SELECT $1, $2, $3, ARRAY[0.5::float8], ARRAY[to_timestamp(0), to_timestamp(-0.005)], $4, $5, $6
            """, .ints([1, 2]), .int4s([-1, 3]), .bools([true, false]), .uuids(ids), .texts(["ä"]),
            .byteas([[], [9]]))[0]
        #expect(try row.decode([Int].self, at: 0) == [1, 2])
        #expect(try row.decode([Int].self, at: 1) == [-1, 3])
        #expect(try row.decode([Bool].self, at: 2) == [true, false])
        #expect(try row.decode([Double].self, at: 3) == [0.5])
        #expect(try row.decode([PostgresTimestamp].self, at: 4).map(\.milliseconds) == [0, -5])
        #expect(try row.decode([UUID].self, at: 5) == ids)
        #expect(try row.decode([String].self, at: 6) == ["ä"])
        #expect(try row.decode([[UInt8]].self, at: 7) == [[], [9]])
    }

    @Test func `unnest turns arrays into rows`() async throws {
        let connection = try await Database().connect()
        let rows = try await connection.execute(
            "SELECT * FROM unnest($1, $2) AS row (number, word)", .ints([3, 1, 2]), .texts(["c", "a", nil]))
        #expect(rows.columns == ["number", "word"])
        #expect(try rows.decode((Int, String?).self).map(\.0) == [3, 1, 2])
        #expect(try rows.decode((Int, String?).self).map(\.1) == ["c", "a", nil])
    }

    @Test func `a reader of the wrong type throws an error that names the column`() async throws {
        let row = try await echo("numeric", .int(5))
        #expect(throws: PostgresError.decoding(column: "value", reason: "is numeric of 10 bytes, not an integer")) {
            try row.decode(Int.self)
        }
        #expect(throws: PostgresError.decoding(column: "4", reason: "the result has only 1 columns")) {
            try row.decode(Int.self, at: 4)
        }
        let null = try await echo("int8", .int(nil))
        #expect(throws: PostgresError.decoding(column: "value", reason: "is null")) { try null.decode(Int.self) }
        let array = try await echo("text[]", .texts(["a"]))
        #expect(throws: PostgresError.decoding(column: "value", reason: "is an array of text")) {
            try array.decode([Int].self)
        }
    }

    @Test func `a row with another number of columns throws an error that names the first wrong one`() async throws {
        let row = try await Database().connect().execute("SELECT 1 AS a, 2 AS b")[0]
        #expect(try row.decode((Int, Int).self) == (1, 2))
        #expect(try row.decode(Int.self, at: 1) == 2)
        let (first, second) = try row.decode((Int?, Int?).self, at: 0)
        #expect(first == 1 && second == 2)
        #expect(throws: PostgresError.decoding(column: "1", reason: "the result has 2 columns, not 1")) {
            try row.decode(Int.self)
        }
        #expect(throws: PostgresError.decoding(column: "2", reason: "the result has only 2 columns")) {
            _ = try row.decode((Int, Int, Int).self)
        }
        #expect(throws: PostgresError.decoding(column: "2", reason: "the result has only 2 columns")) {
            _ = try row.decode((Int, Int).self, at: 1)
        }
    }
}
