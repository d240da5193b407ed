import Logging
import Postgres
import Testing
import TestSupport
import Glibc

@Suite struct Measure {
    @Test func speed() async throws {
        let url = getenv("MEASURE_URL").map { String(cString: $0) } ?? ""
        if url.isEmpty { return }
        let o = try ConnectionOptions(url: url)
        let c = try await Connection.open(o, logger: Logger(label: "m"))
        let s = Statement("SELECT abalance FROM pgbench_accounts WHERE aid = $1")
        let clock = ContinuousClock()
        for round in 0..<3 {
            var n = 0
            let t = clock.now
            while clock.now - t < .seconds(3) { n += try await c.run(Call(s, [.int4(Int32(n % 100000 + 1))]))[0].int(0) == 0 ? 1 : 1 }
            print("single", round, Double(n) / 3)
            n = 0
            let t2 = clock.now
            while clock.now - t2 < .seconds(3) { _ = try await c.run((0..<5).map { Call(s, [.int4(Int32((n + $0) % 100000 + 1))]) }); n += 1 }
            print("pipe5", round, Double(n) / 3)
        }
        let pool = ConnectionPool(o, size: 8, logger: Logger(label: "m"))
        for clients in [1, 8] {
            let t3 = clock.now
            let total = try await withThrowingTaskGroup(of: Int.self) { g in
                for _ in 0..<clients { g.addTask {
                    var n = 0
                    while clock.now - t3 < .seconds(3) { _ = try await pool.run([Call(s, [.int4(Int32(n % 100000 + 1))])]); n += 1 }
                    return n } }
                return try await g.reduce(0, +)
            }
            print("pool", clients, Double(total) / 3)
        }
    }
}
