import Postgres
import TestSupport
import Testing

@Suite("Cancellation", .tags(.database))
struct CancellationTests {
    @Test func `cancellation stops the query and leaves the connection usable`() async throws {
        let connection = try await Database().connect()
        let sleep = "SELECT pg_sleep(60) AS stopped"
        let task = Task { try await connection.execute([Query(Statement("SELECT 1")), Query(Statement(sleep))]) }
        try await PrivateCluster.shared().awaitRunning(sleep)
        task.cancel()
        let error = try await withTimeout(seconds: 60, "the pipeline to end") {
            await caught { _ = try await task.value }
        }
        #expect(error == .cancelled)
        #expect(try await connection.execute("SELECT 1")[0].decode(Int.self) == 1)
    }

    @Test func `cancellation stops a script`() async throws {
        let connection = try await Database().connect()
        let sleep = "SELECT pg_sleep(61) AS stopped"
        let task = Task { try await connection.script(sleep) }
        try await PrivateCluster.shared().awaitRunning(sleep)
        task.cancel()
        #expect(try await withTimeout(seconds: 60) { await caught { try await task.value } } == .cancelled)
        #expect(try await connection.execute("SELECT 1")[0].decode(Int.self) == 1)
    }

    @Test func `a cancelled task sends nothing`() async throws {
        let connection = try await Database().connect()
        let started = Signal<Void>()
        let task = Task {
            // Ends when the task is cancelled.
            _ = try? await started.value()
            try await connection.execute("CREATE TABLE never (n int8)")
        }
        task.cancel()
        #expect(await caught { _ = try await task.value } == .cancelled)
        #expect(try await connection.execute("SELECT to_regclass('never') IS NULL")[0].decode(Bool.self))
    }

    @Test func `cancellation of a transaction rolls it back and keeps the connection`() async throws {
        let pool = try await Database().pool(size: 1)
        let sleep = "SELECT pg_sleep(62) AS stopped"
        _ = try await pool.execute(Query(Statement("CREATE TABLE t (n int8)")))
        let task = Task {
            try await pool.transaction { connection in
                try await connection.execute("INSERT INTO t VALUES (1)")
                try await connection.execute(sleep)
            }
        }
        try await PrivateCluster.shared().awaitRunning(sleep)
        task.cancel()
        #expect(await caught { _ = try await task.value } == .cancelled)
        #expect(try await pool.execute(Query(Statement("SELECT count(*) FROM t")))[0].decode(Int.self) == 0)
        #expect(pool.metrics.open == 1, "the connection is reused")
    }

    @Test func `cancellation ends a connection attempt`() async throws {
        let silent = try await TCPProxy.start(port: PrivateCluster.shared().port)
        try await silent.pause()
        let options = try ConnectionOptions(url: "postgres://nobody@127.0.0.1:\(silent.port)/postgres")
        let task = Task { _ = try await Connection.open(options, logger: .quiet) }
        try await eventually(describe: "the client is connected") { silent.connections == 1 }
        task.cancel()
        #expect(try await withTimeout(seconds: 60) { await caught { try await task.value } } == .cancelled)
        try await silent.stop()
    }
}
