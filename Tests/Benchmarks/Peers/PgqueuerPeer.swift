import Foundation
import TestSupport

/// A queue of pgqueuer over a private PostgreSQL server. A producer enqueues in batches, and one worker handles.
struct PgqueuerPeer {
    static let packages = ["pgqueuer[asyncpg]==1.6.0"]

    let pace: Pace

    private static let script = #"""
        import asyncio, sys, time
        import asyncpg
        from pgqueuer import PgQueuer
        from pgqueuer.db import AsyncpgDriver
        from pgqueuer.queries import Queries

        async def install(queries, driver):
            await queries.install()
            print("installed", flush=True)

        async def produce(queries, driver):
            size, rounds = int(sys.argv[3]), int(sys.argv[4])
            start = time.time()
            for number in range(rounds):
                await asyncio.sleep(max(0, start + number / 100 - time.time()))
                now = str(time.time()).encode()
                await queries.enqueue(["ping"] * size, [now] * size, [0] * size)

        async def consume(queries, driver):
            total = int(sys.argv[3]) * int(sys.argv[4])
            queue, times = PgQueuer(driver), []

            @queue.entrypoint("ping")
            async def ping(job):
                times.append(1000 * (time.time() - float(job.payload)))
                if len(times) == total:
                    queue.shutdown.set()

            print("ready", flush=True)
            await queue.run(batch_size=100)
            for value in times:
                print(value)

        async def main():
            driver = AsyncpgDriver(await asyncpg.connect(sys.argv[2]))
            await {"install": install, "produce": produce, "consume": consume}[sys.argv[1]](Queries(driver), driver)

        asyncio.run(main())
        """#

    /// - Returns: the milliseconds from the client that enqueues a job to its handler.
    func measure() async throws -> [Double] {
        let python: PythonEnvironment
        do { python = try await PythonEnvironment.make(Self.packages) } catch {
            throw ToolMissing(description: "\(error)")
        }
        let cluster = try await PrivateCluster.make(settings: ["shared_buffers": "512MB", "max_wal_size": "4GB"])
        let url = cluster.tcpURL(database: try await cluster.makeNamedDatabase())
        func start(_ role: String) throws -> ChildProcess {
            try ChildProcess.start(
                python.interpreter, ["-c", Self.script, role, url, "\(pace.batch)", "\(pace.rounds)"])
        }
        try await ended(start("install"))
        let worker = try start("consume")
        try await worker.waitForLine(containing: "ready")
        try await ended(start("produce"))
        try await ended(worker)
        try await cluster.destroy()
        return worker.output.lines.compactMap { Double($0) }
    }

    private func ended(_ process: ChildProcess) async throws {
        let status = try await process.exit(within: Double(20 * pace.seconds + 60))
        guard status == .exited(0) else {
            throw ToolFailed(description: "pgqueuer: \(status)\n\(process.errors.lines.suffix(8))")
        }
    }
}
