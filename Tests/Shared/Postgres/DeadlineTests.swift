import Glibc
import Testing
import TestSupport

@testable import Postgres

@Suite("Deadlines of queries", .tags(.database, .processes), .timeLimit(.minutes(2)))
struct DeadlineTests {
    private static let short = Duration.milliseconds(200)

    @Test func `a query to a stopped server process ends at its deadline`() async throws {
        let database = try await Database()
        let options = try ConnectionOptions(url: database.url, pipelineTimeout: Self.short)
        let connection = try await Connection.open(options, logger: .quiet)
        let backend = pid_t(await connection.backendPID)
        #expect(kill(backend, SIGSTOP) == 0)
        defer { kill(backend, SIGCONT) }
        let error = try await withTimeout(seconds: 60, "the call to end") {
            await caught { try await connection.execute("SELECT 1") }
        }
        try expectTimedOut(error)
        #expect(await !connection.isHealthy)
    }

    @Test(arguments: [1, 20_000_000])
    func `a query ends at its deadline if the network loses all data`(size: Int) async throws {
        let cluster = try await PrivateCluster.shared()
        let proxy = try await TCPProxy.start(port: cluster.port)
        let options = try ConnectionOptions(
            url: cluster.tcpURL(database: "postgres", port: proxy.port), pipelineTimeout: Self.short)
        let pool = ConnectionPool(options, size: 1, logger: .quiet)
        let query = Query(Statement("SELECT length($1)"), [.bytes([UInt8](repeating: 7, count: size))])
        _ = try await pool.execute(Query(Statement("SELECT 1")))
        try await proxy.pause()
        let error = try await withTimeout(seconds: 60, "the call to end") {
            await caught { _ = try await pool.execute(query) }
        }
        try expectTimedOut(error)
        proxy.resume()
        // The pool opens another connection.
        #expect(try await pool.execute(Query(Statement("SELECT 1")))[0].decode(Int.self) == 1)
        await pool.close()
        try await proxy.stop()
    }

    @Test func `a script ends at its deadline`() async throws {
        let cluster = try await PrivateCluster.shared()
        let proxy = try await TCPProxy.start(port: cluster.port)
        let options = try ConnectionOptions(
            url: cluster.tcpURL(database: "postgres", port: proxy.port), pipelineTimeout: Self.short)
        let connection = try await Connection.open(options, logger: .quiet)
        try await proxy.pause()
        try expectTimedOut(
            try await withTimeout(seconds: 60, "the script to end") {
                await caught { try await connection.script("LISTEN news") }
            })
        try await proxy.stop()
    }

    @Test func `each query of a connection has its own deadline`() async throws {
        let database = try await Database()
        let options = try ConnectionOptions(url: database.url, pipelineTimeout: .milliseconds(500))
        let connection = try await Connection.open(options, logger: .quiet)
        for _ in 0..<4 { try await connection.execute("SELECT pg_sleep(0.2)") }
        #expect(await connection.isHealthy)
    }

    @Test func `the end of an answer is read from the buffer of OpenSSL`() async throws {
        let cluster = try await PrivateCluster.shared()
        let proxy = try await TLSProxy.start(port: cluster.port)
        let url = cluster.tcpURL(database: "postgres", port: proxy.port) + "?sslmode=require&channel_binding=disable"
        let connection = try await Connection.open(try ConnectionOptions(url: url), logger: .quiet)
        proxy.cutRecords()
        let rows = try await withTimeout(seconds: 10, "the answer") {
            try await connection.execute("SELECT repeat('x', 1000) FROM generate_series(1, 20)")
        }
        #expect(rows.count == 20)
        await connection.close()
        try await proxy.stop()
    }

    @Test func `a call past its deadline is overdue until it ends`() async throws {
        let deadline = PipelineDeadline()
        #expect(deadline.overdueCall == nil)
        deadline.begin(.seconds(60))
        #expect(deadline.overdueCall == nil)
        deadline.begin(.zero)
        try await eventually(describe: "the call is overdue") { deadline.overdueCall != nil }
        deadline.end()
        #expect(deadline.overdueCall == nil)
    }

    @Test func `a pool lists the deadlines of its open connections`() async throws {
        let pool = try await Database().pool(size: 2)
        #expect(pool.callDeadlines.isEmpty)
        try await pool.withConnection { connection in
            #expect(pool.callDeadlines.count == 1)
            await connection.close()
        }
        _ = try await pool.execute(Query(Statement("SELECT 1")))
        #expect(pool.callDeadlines.count == 1)
        await pool.close()
    }

    private func expectTimedOut(_ error: PostgresError?) throws {
        guard case .timedOut(let time) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        // The time includes sending.
        #expect(time > .zero)
        #expect(error?.isConnectionProblem == true)
    }
}

@Suite("Session settings against stalls", .tags(.database))
struct StallSettingsTests {
    @Test func `the server detects dead clients by TCP keepalive`() async throws {
        let cluster = try await PrivateCluster.shared()
        let options = try ConnectionOptions(url: cluster.tcpURL(database: "postgres"))
        let connection = try await Connection.open(options, logger: .quiet)
        for (name, value) in [
            ("tcp_keepalives_idle", "5"), ("tcp_keepalives_interval", "2"), ("tcp_keepalives_count", "3"),
            ("tcp_user_timeout", "15000"),
        ] {
            #expect(try await connection.execute("SHOW \(name)")[0].decode(String.self) == value, "\(name)")
        }
    }

    @Test(arguments: [(Duration.seconds(30), "30000ms"), (.microseconds(10), "1ms")])
    func `version 17 ends a transaction that is open for longer than the query timeout`(
        timeout: Duration, expected: String
    ) throws {
        let options = try ConnectionOptions(url: "host=a", pipelineTimeout: timeout)
        let setting = try #require(options.settings.first { $0.name == "transaction_timeout" })
        #expect(setting.value == expected)
        #expect(setting.major == 17)
        let unlimited = try ConnectionOptions(url: "host=a", pipelineTimeout: nil)
        #expect(!unlimited.settings.contains { $0.name == "transaction_timeout" })
    }
}
