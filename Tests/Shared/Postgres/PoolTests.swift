import Postgres
import Synchronization
import TestSupport
import Testing

@Suite("The pool", .tags(.database))
struct PoolTests {
    @Test func `an exhausted pool times out and reports its size`() async throws {
        let pool = try await Database().pool(size: 1, acquisitionTimeout: .milliseconds(50))
        try await pool.withConnection { _ in
            let error = await caught { _ = try await pool.execute(Query(Statement("SELECT 1"))) }
            #expect(error == .poolTimeout(waited: .milliseconds(50), size: 1))
        }
        #expect(try await pool.execute(Query(Statement("SELECT 1")))[0].decode(Int.self) == 1)
        #expect(pool.metrics.waiting == 0)
    }

    @Test func `a pool tells how long its callers waited, successful or not`() async throws {
        let waits = Mutex<[Duration]>([])
        let pool = try await Database().pool(size: 1, acquisitionTimeout: .milliseconds(50)) { wait in
            waits.withLock { $0.append(wait) }
        }
        _ = try await pool.execute(Query(Statement("SELECT 1")))
        let none = waits.withLock { $0 }
        #expect(none.isEmpty)
        try await pool.withConnection { _ in
            _ = await caught { _ = try await pool.execute(Query(Statement("SELECT 1"))) }
        }
        let found = waits.withLock { $0 }
        #expect(found.count == 1 && found[0] >= .milliseconds(50))
    }

    @Test func `a pool refuses a database until it suits`() async throws {
        let fault = Mutex<String?>("it has another log")
        let pool = ConnectionPool(
            try await Database().options, size: 1, fault: { _ in fault.withLock { $0 } }, logger: .quiet)
        let error = await caught { _ = try await pool.execute(Query(Statement("SELECT 1"))) }
        #expect(error?.description.hasSuffix(": it has another log") == true)
        #expect(error?.publicDescription == "PostgreSQL has another log than this service")
        #expect(error?.isAway == false && pool.faults.newest(within: .seconds(60)) == error)
        fault.withLock { $0 = nil }
        #expect(try await pool.execute(Query(Statement("SELECT 1"))).count == 1)
    }

    @Test func `a waiter gets the connection that is released`() async throws {
        let pool = try await Database().pool(size: 1)
        let waiter = try await pool.withConnection { connection in
            let pid = await connection.backendPID
            let waiter = Task {
                try await pool.execute(Query(Statement("SELECT pg_backend_pid()")))[0].decode(Int.self) == pid
            }
            try await eventually(describe: "a waiter") { pool.metrics.waiting == 1 }
            return waiter
        }
        #expect(try await waiter.value)
    }

    @Test func `a cancelled waiter leaves the queue`() async throws {
        let pool = try await Database().pool(size: 1)
        try await pool.withConnection { _ in
            let waiter = Task { _ = try await pool.execute(Query(Statement("SELECT 1"))) }
            try await eventually(describe: "a waiter") { pool.metrics.waiting == 1 }
            waiter.cancel()
            #expect(await caught { try await waiter.value } == .cancelled)
            #expect(pool.metrics.waiting == 0)
        }
        #expect(try await pool.execute(Query(Statement("SELECT 1"))).count == 1)
    }

    @Test func `an open transaction is rolled back on release`() async throws {
        let pool = try await Database().pool(size: 1)
        try await pool.withConnection { connection in
            try await connection.execute("BEGIN")
            try await connection.execute("CREATE TABLE t (n int8)")
        }
        #expect(try await pool.execute(Query(Statement("SELECT to_regclass('t') IS NULL")))[0].decode(Bool.self))
        #expect(pool.metrics.open == 1)
    }

    @Test func `a pool opens no more connections than its size`() async throws {
        let pool = try await Database().pool(size: 3)
        let pids = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<60 {
                group.addTask {
                    try await pool.execute(Query(Statement("SELECT pg_backend_pid()")))[0].decode(Int.self)
                }
            }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect((1...3).contains(pids.count))
        #expect(pool.metrics.open <= 3)
    }

    @Test func `a failed connection attempt does not count as open`() async throws {
        let options = try ConnectionOptions(url: "postgres://x@127.0.0.1:\(freePort())/x")
        let pool = ConnectionPool(options, size: 1, logger: .quiet)
        for _ in 0..<3 {
            guard case .connectFailed = await caught({ _ = try await pool.execute(Query(Statement("SELECT 1"))) })
            else {
                Issue.record("another error")
                return
            }
        }
        #expect(pool.metrics.open == 0)
    }

    @Test func `callers do not all connect at once to a server that refuses connections`() async throws {
        let proxy = try await TCPProxy.start(port: try await PrivateCluster.shared().port)
        proxy.refuse(true)
        let options = try ConnectionOptions(
            url: "postgres://x@127.0.0.1:\(proxy.port)/x?sslmode=disable&gssencmode=disable")
        let pool = ConnectionPool(options, size: 8, logger: .quiet)
        // Callers pause only after a failure.
        _ = await caught { _ = try await pool.execute(Query(Statement("SELECT 1"))) }
        let before = proxy.refusals
        let failures = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<200 {
                group.addTask { await caught { _ = try await pool.execute(Query(Statement("SELECT 1"))) } != nil }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(failures == 200)
        #expect((1...20).contains(proxy.refusals - before))
        #expect(pool.metrics.open == 0)
        try await proxy.stop()
    }

    @Test func `a closed pool fails new and waiting callers`() async throws {
        let pool = try await Database().pool(size: 1)
        try await pool.withConnection { _ in
            let waiter = Task { _ = try await pool.execute(Query(Statement("SELECT 1"))) }
            try await eventually(describe: "a waiter") { pool.metrics.waiting == 1 }
            await pool.close()
            #expect(await caught { try await waiter.value } == .closed)
        }
        #expect(await caught { _ = try await pool.execute(Query(Statement("SELECT 1"))) } == .closed)
        #expect(pool.metrics.open == 0)
    }

    @Test func `bodies run in the isolation of the caller`() async throws {
        let holder = Holder(try await Database().pool(size: 1))
        #expect(try await holder.load() == 41)
    }
}

/// Compiles only if bodies run in the isolation of the calling actor.
private actor Holder {
    private let pool: ConnectionPool
    private var value = 0

    init(_ pool: ConnectionPool) { self.pool = pool }

    func load() async throws -> Int {
        try await pool.withConnection { connection in
            value = try await connection.execute("SELECT 41")[0].decode(Int.self)
        }
        return try await pool.transaction { _ in value }
    }
}
