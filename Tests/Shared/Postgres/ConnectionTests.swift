import Logging
import Postgres
import TestSupport
import Testing

@Suite("A connection", .tags(.database))
struct ConnectionTests {
    @Test func `the queries of a pipeline return their results in order`() async throws {
        let connection = try await Database().connect()
        let echo = Statement("SELECT $1::int8")
        let answers = try await connection.execute((0..<50).map { Query(echo, [.int($0)]) })
        #expect(try answers.map { try $0[0].decode(Int.self, at: 0) } == Array(0..<50))
    }

    @Test func `a result has the number of affected rows`() async throws {
        let connection = try await Database().connect()
        try await connection.execute("CREATE TABLE t (n int8)")
        #expect(try await connection.execute("INSERT INTO t SELECT generate_series(1, 7)").affected == 7)
        let updated = try await connection.execute("UPDATE t SET n = n + 1 WHERE n > 5 RETURNING n")
        #expect(updated.affected == 2 && updated.count == 2)
        #expect(try await connection.execute("DELETE FROM t WHERE n = 0").affected == 0)
    }

    @Test func `a statement is prepared once for each list of parameter types`() async throws {
        let connection = try await Database().connect()
        let statement = Statement("SELECT $1")
        for _ in 0..<3 {
            _ = try await connection.execute([Query(statement, [.int(1)]), Query(statement, [.int(2)])])
            _ = try await connection.execute(Query(statement, [.text("a")]))
        }
        let prepared = try await connection.execute(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT $1'")
        #expect(try prepared[0].decode(Int.self, at: 0) == 2)
    }

    @Test func `an error aborts the pipeline and leaves the connection usable`() async throws {
        let connection = try await Database().connect()
        try await connection.execute("CREATE TABLE t (n int8 CONSTRAINT only_once PRIMARY KEY)")
        let insert = Statement("INSERT INTO t VALUES ($1)")
        let error = await caught {
            _ = try await connection.execute([1, 2, 1, 3].map { Query(insert, [.int($0)]) })
        }
        guard case .server(let refused) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(refused.queryIndex == 2)
        #expect(refused.sqlState == "23505")
        #expect(refused.constraint == "only_once")
        #expect(refused.table == "t")
        #expect(
            try await connection.execute("SELECT count(*) FROM t")[0].decode(Int.self) == 0,
            "a pipeline is one transaction")
    }

    @Test func `the description of an error contains no values`() async throws {
        let connection = try await Database().connect()
        let error = await caught { try await connection.execute("SELECT $1::int8", .text("hunter2")) }
        #expect(error?.sqlState == "22P02")
        #expect(error?.description.contains("hunter2") == false)
        #expect(error?.description.contains("statement: SELECT $1::int8") == true, "the statement contains no values")
        #expect(error?.publicDescription == "PostgreSQL fails statements with SQLSTATE 22P02")
        #expect(error.map { String(reflecting: $0) }?.contains("hunter2") == true)
    }

    @Test func `an error keeps the server's message if that can't contain data`() async throws {
        let connection = try await Database().connect()
        try await connection.execute("CREATE TABLE t (n text CONSTRAINT short CHECK (length(n) < 3))")
        for (sql, words) in [
            ("SELECT * FROM nowhere", #"(SQLSTATE 42P01: relation "nowhere" does not exist, statement: SELECT * "#),
            (
                "DO $$ BEGIN RAISE 'could not load library plpgsql.so' USING ERRCODE = '58P01'; END $$",
                "58P01: could not load library plpgsql.so"
            ),
        ] {
            let error = await caught { try await connection.execute(sql) }
            #expect(error?.description.contains(words) == true, "\(error.map { "\($0)" } ?? "")")
        }
        let error = await caught { try await connection.execute("INSERT INTO t VALUES ($1)", .text("hunter2")) }
        #expect(error?.description.contains("23514, table public.t, constraint short, statement: INSERT") == true)
        #expect(error?.description.contains("hunter2") == false)
        // The message of a syntax error quotes the unknown text.
        let syntax = await caught { try await connection.script("ALTER ROLE nobody PASSWORD 'x' hunter2") }
        #expect(syntax?.sqlState == "42601" && syntax?.description.contains("hunter2") == false)
    }

    @Test(arguments: [
        ("58P01", true), ("53100", true), ("25006", true), ("XX001", true), ("57P01", true), ("57014", false),
        ("22P02", false), ("23505", false), ("40001", false), ("DM001", false),
    ])
    func `server faults differ from statement errors`(sqlState: String, isServers: Bool) async throws {
        let database = try await Database()
        let pool = database.pool(size: 1)
        let raise = Statement("DO $$ BEGIN RAISE 'no' USING ERRCODE = '\(sqlState)'; END $$")
        let error = await caught { _ = try await pool.execute(Query(raise)) }
        #expect(error?.sqlState == sqlState && error?.isServerFault == isServers)
        #expect((pool.faults.newest(within: .seconds(60)) != nil) == isServers)
        await pool.close()
    }

    @Test func `a failed PREPARE is retried by the next query`() async throws {
        let connection = try await Database().connect()
        let select = Statement("SELECT n FROM later")
        let other = Statement("SELECT 1 AS other")
        for _ in 0..<2 {
            let error = await caught { _ = try await connection.execute([Query(select), Query(other)]) }
            #expect(error?.sqlState == "42P01")
        }
        try await connection.execute("CREATE TABLE later (n int8)")
        #expect(try await connection.execute([Query(select), Query(other)])[1][0].decode(Int.self, at: 0) == 1)
    }

    @Test func `a statement is prepared again after its table changed`() async throws {
        let connection = try await Database().connect()
        try await connection.execute("CREATE TABLE t (n int8)")
        let all = Statement("SELECT * FROM t")
        _ = try await connection.execute(Query(all))
        try await connection.execute("ALTER TABLE t ADD m int8")
        #expect(await caught { _ = try await connection.execute(Query(all)) }?.sqlState == "0A000")
        #expect(try await connection.execute(Query(all)).columns == ["n", "m"])
    }

    @Test func `a statement is prepared again after DEALLOCATE ALL`() async throws {
        let connection = try await Database().connect()
        let one = Statement("SELECT 1")
        _ = try await connection.execute(Query(one))
        try await connection.script("DEALLOCATE ALL")
        #expect(await caught { _ = try await connection.execute(Query(one)) }?.sqlState == "26000")
        #expect(try await connection.execute(Query(one))[0].decode(Int.self, at: 0) == 1)
    }

    @Test func `statements beyond the limit of 512 run unprepared`() async throws {
        let connection = try await Database().connect()
        for start in stride(from: 0, to: 600, by: 100) {
            let answers = try await connection.execute((start..<start + 100).map { Query(Statement("SELECT \($0)")) })
            #expect(try answers.map { try $0[0].decode(Int.self, at: 0) } == Array(start..<start + 100))
        }
        let prepared = try await connection.execute("SELECT count(*) FROM pg_prepared_statements")
        #expect(try prepared[0].decode(Int.self, at: 0) == 512)
    }

    @Test func `a query with another row count than expected throws`() async throws {
        let connection = try await Database().connect()
        try await connection.execute("CREATE TABLE t (n int8)")
        let update = Query(Statement("UPDATE t SET n = 1"), rowsExpected: 1)
        let expected = PostgresError.guardFailed(queryIndex: 1, expected: 1, got: 0)
        #expect(await caught { _ = try await connection.execute([Query(Statement("SELECT 1")), update]) } == expected)
        #expect(try await connection.execute(Query(Statement("SELECT 1"), rowsExpected: 1)).count == 1)
    }

    @Test func `a violation of a deferred constraint fails the pipeline`() async throws {
        let connection = try await Database().connect()
        try await connection.script(
            "CREATE TABLE t (n int8 CONSTRAINT late UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO t VALUES (1)")
        let error = await caught { try await connection.execute("INSERT INTO t VALUES (1)") }
        #expect(error?.sqlState == "23505")
        #expect(try await connection.execute("SELECT count(*) FROM t")[0].decode(Int.self) == 1)
    }

    @Test func `COMMIT of a failed transaction throws`() async throws {
        let connection = try await Database().connect()
        try await connection.execute("BEGIN")
        _ = await caught { try await connection.execute("SELECT 1/0") }
        #expect(await caught { _ = try await connection.execute(Query(.commit)) }?.sqlState == "25P02")
        #expect(try await connection.execute("SELECT 1")[0].decode(Int.self) == 1)
    }

    @Test func `a script runs its statements in one transaction`() async throws {
        let connection = try await Database().connect()
        try await connection.script("CREATE TABLE a (n int8); CREATE TABLE b (n int8); INSERT INTO b VALUES (1), (2)")
        #expect(try await connection.execute("SELECT count(*) FROM b")[0].decode(Int.self) == 2)
        let error = await caught { try await connection.script("INSERT INTO b VALUES (3); SELECT 1/0") }
        #expect(error?.sqlState == "22012")
        #expect(try await connection.execute("SELECT count(*) FROM b")[0].decode(Int.self) == 2)
    }

    @Test func `COPY throws and ends the session`() async throws {
        let connection = try await Database().connect()
        #expect(await caught { try await connection.script("COPY (SELECT 1) TO STDOUT") } != nil)
        #expect(await !connection.isHealthy)
    }

    @Test func `concurrent pipelines share a connection`() async throws {
        let connection = try await Database().connect()
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 1...50 {
                group.addTask { try await connection.execute("SELECT $1::int8", .int(number))[0].decode(Int.self) }
            }
            return try await group.reduce(0, +)
        }
        #expect(sum == 1275)
    }

    @Test func `a result of 100 MB arrives`() async throws {
        let connection = try await Database().connect()
        let rows = try await connection.execute(
            "SELECT convert_to(repeat('x', 1000000), 'UTF8') FROM generate_series(1, 100)")
        #expect(rows.count == 100)
        #expect(try rows.reduce(0) { try $0 + $1.decode([UInt8].self, at: 0).count } == 100_000_000)
    }

    @Test func `parameters of 50 MB are sent`() async throws {
        let connection = try await Database().connect()
        let values = [[UInt8]](repeating: [UInt8](repeating: 7, count: 1_000_000), count: 50)
        let answers = try await connection.execute([
            Query(Statement("SELECT sum(length(b))::int8 FROM unnest($1) AS b"), [.byteas(values)]),
            Query(Statement("SELECT $1"), [.bytes(values[0])]),
        ])
        #expect(try answers[0][0].decode(Int.self, at: 0) == 50_000_000)
        #expect(try answers[1][0].decode([UInt8].self, at: 0) == values[0])
    }

    @Test func `too many parameters are refused before anything is sent`() async throws {
        let connection = try await Database().connect()
        let many = Query(Statement("SELECT 1"), Array(repeating: .int(1), count: 65_536))
        guard
            case .invalidQuery(queryIndex: 1, _) = await caught({
                _ = try await connection.execute([Query(Statement("SELECT 1")), many])
            })
        else {
            Issue.record("the query was sent")
            return
        }
        #expect(try await connection.execute("SELECT 1")[0].decode(Int.self) == 1)
    }

    @Test func `session settings apply`() async throws {
        let database = try await Database()
        let options = try ConnectionOptions(
            url: database.url, settings: ["lock_timeout": "1234ms", "search_path": #""a b", public"#])
        let connection = try await Connection.open(options, logger: .quiet)
        #expect(try await connection.execute("SHOW lock_timeout")[0].decode(String.self) == "1234ms")
        #expect(try await connection.execute("SHOW search_path")[0].decode(String.self) == #""a b", public"#)
        #expect(try await connection.execute("SHOW idle_in_transaction_session_timeout")[0].decode(String.self) == "5s")
    }

    @Test func `options of the URL override the settings`() async throws {
        let url = try await Database().url + "&options=-c%20lock_timeout%3D5s%20--jit%3Don"
        let options = try ConnectionOptions(url: url, settings: ["lock_timeout": "1234ms"])
        let connection = try await Connection.open(options, logger: .quiet)
        #expect(try await connection.execute("SHOW lock_timeout")[0].decode(String.self) == "5s")
        #expect(try await connection.execute("SHOW jit")[0].decode(String.self) == "on")
    }

    @Test func `an invalid setting fails the connection`() async throws {
        let options = try ConnectionOptions(url: try await Database().url, settings: ["lock_timeout": "soon"])
        await #expect(throws: PostgresError.self) { try await Connection.open(options, logger: .quiet) }
    }

    @Test func `a closed connection throws`() async throws {
        let connection = try await Database().connect()
        await connection.close()
        #expect(await caught { try await connection.execute("SELECT 1") } == .closed)
    }

    @Test func `a deallocated connection ends its session`() async throws {
        let database = try await Database()
        let watcher = try await database.connect()
        let pid = try await database.connect().execute("SELECT pg_backend_pid()")[0].decode(Int.self)
        try await eventually(describe: "the session has ended") {
            try await watcher.execute("SELECT FROM pg_stat_activity WHERE pid = $1", .int(pid)).isEmpty
        }
    }
}
