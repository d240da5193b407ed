import Postgres
import Synchronization
import TestSupport
import Testing

@Suite("Pool transactions", .tags(.database))
struct TransactionTests {
    @Test func `a transaction commits the work of its body`() async throws {
        let pool = try await Database().pool(size: 1)
        let answer = try await pool.transaction { connection in
            try await connection.execute("CREATE TABLE t (n int8)")
            return try await connection.execute("INSERT INTO t VALUES (5) RETURNING n")[0].decode(Int.self, at: 0)
        }
        #expect(answer == 5)
        #expect(try await pool.execute(Query(Statement("SELECT count(*) FROM t")))[0].decode(Int.self) == 1)
    }

    @Test func `a transaction rolls back if its body throws`() async throws {
        struct Refused: Error {}
        let pool = try await Database().pool(size: 1)
        await #expect(throws: Refused.self) {
            try await pool.transaction { connection in
                try await connection.execute("CREATE TABLE t (n int8)")
                throw Refused()
            }
        }
        #expect(try await pool.execute(Query(Statement("SELECT to_regclass('t') IS NULL")))[0].decode(Bool.self))
    }

    @Test func `a transaction is retried after a serialization failure`() async throws {
        let pool = try await Database().pool(size: 2)
        _ = try await pool.execute(Query(Statement("CREATE TABLE t AS SELECT 0::int8 AS n")))
        let attempts = Mutex(0)
        try await pool.transaction(level: .repeatableRead) { connection in
            let read = try await connection.execute("SELECT n FROM t")[0].decode(Int.self)
            let attempt = attempts.withLock { count in
                count += 1
                return count
            }
            // On the first attempt, another transaction writes between this one's read and write.
            if attempt == 1 { _ = try await pool.execute(Query(Statement("UPDATE t SET n = n + 10"))) }
            try await connection.execute("UPDATE t SET n = $1", .int(read + 1))
        }
        #expect(attempts.withLock { $0 } == 2)
        #expect(try await pool.execute(Query(Statement("SELECT n FROM t")))[0].decode(Int.self) == 11)
    }

    @Test func `a transaction is retried after a deadlock`() async throws {
        // On a loaded machine, one transaction may wait long for the other to begin.
        let options = try ConnectionOptions(
            url: try await Database().url, settings: ["idle_in_transaction_session_timeout": "2min"])
        let pool = ConnectionPool(options, size: 2, acquisitionTimeout: .seconds(60), logger: .quiet)
        _ = try await pool.execute(
            Query(Statement("CREATE TABLE t AS SELECT n::int8, 0 AS m FROM generate_series(1, 2) n")))
        let bothHaveOne = Tally()
        let update = "UPDATE t SET m = m + 1 WHERE n = $1"
        try await withThrowingTaskGroup(of: Void.self) { group in
            for order in [[1, 2], [2, 1]] {
                group.addTask {
                    try await pool.transaction { connection in
                        try await connection.execute(update, .int(order[0]))
                        bothHaveOne.add()
                        try await bothHaveOne.reaches(2)
                        try await connection.execute(update, .int(order[1]))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await pool.execute(Query(Statement("SELECT sum(m) FROM t")))[0].decode(Int.self) == 4)
    }

    @Test func `a transaction fails after the last retry`() async throws {
        let pool = try await Database().pool(size: 1)
        let attempts = Mutex(0)
        let error = await caught {
            try await pool.transaction(retries: 2) { connection in
                attempts.withLock { $0 += 1 }
                try await connection.script("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$")
            }
        }
        #expect(error?.isRetryable == true)
        #expect(attempts.withLock { $0 } == 3)
    }
}
