import Postgres
import TestSupport
import Testing

@Suite("Outages of the server and the network", .tags(.database))
struct OutageTests {
    @Test func `the outcome is unknown if the server dies during a query`() async throws {
        let cluster = try await PrivateCluster.make(fsync: false)
        let options = try ConnectionOptions(url: cluster.url(database: "postgres"))
        let connection = try await Connection.open(options, logger: .quiet)
        let sleep = "SELECT pg_sleep(60) AS killed"
        let task = Task { try await connection.execute(sleep) }
        try await cluster.awaitRunning(sleep)
        try await cluster.stop(.immediate)
        let error = try await withTimeout(seconds: 60) { await caught { _ = try await task.value } }
        #expect(error == .connectionLost(duringPipeline: true))
        #expect(await !connection.isHealthy)
        try await cluster.destroy()
    }

    @Test func `a query on a connection that was lost while idle was not sent`() async throws {
        let database = try await Database()
        let connection = try await database.connect()
        try await end(connection, with: try await database.connect())
        #expect(await caught { try await connection.execute("SELECT 1") } == .connectionLost(duringPipeline: false))
    }

    @Test func `a pool replaces connections that were lost while idle`() async throws {
        let cluster = try await PrivateCluster.make(fsync: false)
        let options = try ConnectionOptions(url: cluster.url(database: "postgres"))
        let pool = ConnectionPool(options, size: 3, logger: .quiet)
        try await fill(pool, 3)
        try await cluster.stop(.fast)
        try await cluster.start()
        #expect(try await pool.execute(Query(Statement("SELECT 1")))[0].decode(Int.self) == 1)
        try await fill(pool, 3)
        #expect(pool.metrics.open == 3 && pool.metrics.idle == 3)
        await pool.close()
        try await cluster.destroy()
    }

    @Test(arguments: [ProxyCut.Moment.forwarding, .beforeForwarding])
    func `the outcome is unknown if the connection is lost during COMMIT`(moment: ProxyCut.Moment) async throws {
        let cluster = try await PrivateCluster.shared()
        let name = try await cluster.makeNamedDatabase()
        let proxy = try await TCPProxy.start(port: cluster.port)
        let options = try ConnectionOptions(
            url: cluster.tcpURL(database: name, port: proxy.port) + "?sslmode=disable&gssencmode=disable")
        let pool = ConnectionPool(options, size: 1, logger: .quiet)
        _ = try await pool.execute(Query(Statement("CREATE TABLE t (n int8)")))
        let cut = proxy.cut(whenClientSends: Array("COMMIT".utf8), after: moment)
        let error = await caught {
            _ = try await pool.transaction { try await $0.execute("INSERT INTO t VALUES (1)") }
        }
        #expect(error == .connectionLost(duringPipeline: true))
        try await cut.settled()
        // In either case the pool still works, and a query shows the outcome.
        let count = try await pool.execute(Query(Statement("SELECT count(*) FROM t")))[0].decode(Int.self)
        if moment == .beforeForwarding { #expect(count == 0) } else { #expect((0...1).contains(count)) }
        await pool.close()
        try await proxy.stop()
    }

    private func end(_ connection: Connection, with other: Connection) async throws {
        let pid = await connection.backendPID
        try await other.execute("SELECT pg_terminate_backend($1::int4, 5000)", .int(pid))
    }

    /// Fills the pool with `count` idle connections.
    private func fill(_ pool: ConnectionPool, _ count: Int) async throws {
        let all = Signal<Void>()
        let arrived = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask {
                    try await pool.withConnection { connection in
                        try await connection.execute("SELECT 1")
                        arrived.add()
                        try await all.value()
                    }
                }
            }
            try await arrived.reaches(count)
            all.fire()
            try await group.waitForAll()
        }
    }
}
