import Postgres
import TestSupport
import Testing

@Suite("The pool")
struct PoolTests {
    @Test func anExhaustedPoolTimesOutAndSaysHowItIsBuilt() async throws {
        let pool = try await Database().pool(size: 1, acquisitionTimeout: .milliseconds(50))
        try await pool.withConnection { _ in
            let error = await caught { _ = try await pool.run(Call(Statement("SELECT 1"))) }
            #expect(error == .poolTimeout(waited: .milliseconds(50), size: 1))
        }
        #expect(try await pool.run(Call(Statement("SELECT 1")))[0].int(0) == 1)
        #expect(pool.metrics.waiting == 0)
    }

    @Test func aWaiterGetsTheConnectionThatComesBack() async throws {
        let pool = try await Database().pool(size: 1)
        let waiter = try await pool.withConnection { connection in
            let pid = await connection.backendPID
            let waiter = Task { try await pool.run(Call(Statement("SELECT pg_backend_pid()")))[0].int(0) == pid }
            try await eventually(describe: "a waiter") { pool.metrics.waiting == 1 }
            return waiter
        }
        #expect(try await waiter.value)
    }

    @Test func aCancelledWaiterLeavesTheLine() async throws {
        let pool = try await Database().pool(size: 1)
        try await pool.withConnection { _ in
            let waiter = Task { _ = try await pool.run(Call(Statement("SELECT 1"))) }
            try await eventually(describe: "a waiter") { pool.metrics.waiting == 1 }
            waiter.cancel()
            #expect(await caught { try await waiter.value } == .cancelled)
            #expect(pool.metrics.waiting == 0)
        }
        #expect(try await pool.run(Call(Statement("SELECT 1"))).count == 1)
    }

    @Test func aTransactionLeftOpenIsRolledBack() async throws {
        let pool = try await Database().pool(size: 1)
        try await pool.withConnection { connection in
            try await connection.run("BEGIN")
            try await connection.run("CREATE TABLE t (n int8)")
        }
        #expect(try await pool.run(Call(Statement("SELECT to_regclass('t') IS NULL")))[0].bool(0))
        #expect(pool.metrics.open == 1)
    }

    @Test func itNeverOpensMoreThanItsSize() async throws {
        let pool = try await Database().pool(size: 3)
        let pids = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<60 {
                group.addTask { try await pool.run(Call(Statement("SELECT pg_backend_pid()")))[0].int(0) }
            }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect((1...3).contains(pids.count))
        #expect(pool.metrics.open <= 3)
    }

    @Test func anUnreachableServerFreesThePlace() async throws {
        let options = try ConnectionOptions(url: "postgres://x@127.0.0.1:\(freePort())/x")
        let pool = ConnectionPool(options, size: 1, logger: .quiet)
        for _ in 0..<3 {
            guard case .connectFailed = await caught({ _ = try await pool.run(Call(Statement("SELECT 1"))) }) else {
                Issue.record("another error")
                return
            }
        }
        #expect(pool.metrics.open == 0)
    }

    @Test func `a server that refuses connections is not asked by all callers at once`() async throws {
        let proxy = try await TCPProxy.start(port: try await PrivateCluster.shared().port)
        proxy.refuse(true)
        let options = try ConnectionOptions(
            url: "postgres://x@127.0.0.1:\(proxy.port)/x?sslmode=disable&gssencmode=disable")
        let pool = ConnectionPool(options, size: 8, logger: .quiet)
        // Without an earlier failure, all callers would try at once.
        _ = await caught { _ = try await pool.run(Call(Statement("SELECT 1"))) }
        let before = proxy.refusals
        let failures = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<200 {
                group.addTask { await caught { _ = try await pool.run(Call(Statement("SELECT 1"))) } != nil }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(failures == 200)
        #expect((1...20).contains(proxy.refusals - before))
        #expect(pool.metrics.open == 0)
        try await proxy.stop()
    }

    @Test func aClosedPoolRefusesNewcomersAndWaiters() async throws {
        let pool = try await Database().pool(size: 1)
        try await pool.withConnection { _ in
            let waiter = Task { _ = try await pool.run(Call(Statement("SELECT 1"))) }
            try await eventually(describe: "a waiter") { pool.metrics.waiting == 1 }
            await pool.close()
            #expect(await caught { try await waiter.value } == .closed)
        }
        #expect(await caught { _ = try await pool.run(Call(Statement("SELECT 1"))) } == .closed)
        #expect(pool.metrics.open == 0)
    }

    @Test func bodiesRunWhereTheirCallerRuns() async throws {
        let holder = Holder(try await Database().pool(size: 1))
        #expect(try await holder.load() == 41)
    }
}

/// Compiles only when a pool's body may touch the state of the actor that lends.
private actor Holder {
    private let pool: ConnectionPool
    private var value = 0

    init(_ pool: ConnectionPool) { self.pool = pool }

    func load() async throws -> Int {
        try await pool.withConnection { connection in
            value = try await connection.run("SELECT 41")[0].int(0)
        }
        return try await pool.transaction { _ in value }
    }
}
