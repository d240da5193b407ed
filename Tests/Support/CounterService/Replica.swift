import EventLog
import Foundation
import Logging
import Machines
import Postgres
import Runtime
import ServiceLifecycle
import UnixSignals

/// Writes one line without buffering.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

/// A process that runs a machine until SIGTERM, or until its client finishes.
struct Replica: Sendable {
    let options: ConnectionOptions
    let partitions: Int
    let logger: Logger
    let pool: ConnectionPool

    init(options: ConnectionOptions, partitions: Int, logger: Logger) {
        self.options = options
        self.partitions = partitions
        self.logger = logger
        pool = ConnectionPool(options, size: 8, logger: logger)
    }

    func run<M: Machine>(
        _: M.Type, _ policy: M.Policy, limits: StallLimits = StallLimits(),
        client: @escaping @Sendable (DurableRuntime<M>) async throws -> Void
    ) async throws {
        let placement = try await pool.withConnection { try await LogPlacement.read($0) }
        let runtime = DurableRuntime<M>(
            pool: pool, options: options, partitions: partitions, clock: SharedClock(), policy: policy,
            limits: limits, placement: placement, logger: logger)
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(service: runtime),
                    .init(
                        service: Client { try await client(runtime) },
                        successTerminationBehavior: .gracefullyShutdownGroup),
                ],
                gracefulShutdownSignals: [.sigterm], logger: logger))
        say("up")
        try await group.run()
        await pool.close()
        say("down")
    }
}

private struct Client: Service {
    let body: @Sendable () async throws -> Void

    func run() async throws { await cancelWhenGracefulShutdown { try? await self.body() } }
}
