import Contracts
import Foundation
import Logging
import Machines
import Postgres
import PushCore
import Runtime
import ServiceKit
import ServiceLifecycle
import Synchronization
import Telemetry

/// The device connections of this process, held under a lease, and the sweep of connections of lost processes.
final class Connections: Service {
    static let renewal = Duration.seconds(3)
    /// Time for other processes to renew their leases after an outage of the database.
    private static let grace = Duration.seconds(6)
    private static let page = 200

    /// The id of this process.
    let holder = UUID.random()
    private let commands: Commands<PushMachine>
    private let store: PushStore
    private let logger: Logger
    private let own = Mutex(Own())

    private struct Own {
        /// Disconnections that are not recorded yet.
        var unnoted: [PushStore.Held] = []
        var isRenewed = false
        var reported: Set<UUID> = []
        var sweepsFrom = ContinuousClock.now
    }

    init(commands: Commands<PushMachine>, store: PushStore, logger: Logger) {
        self.commands = commands
        self.store = store
        self.logger = logger
    }

    /// Connects a device while the body runs. The row that names the process exists before the connection begins, and
    /// until it has ended.
    func hold(
        _ connection: UUID, _ key: AggregateKey, by requester: Requester, _ body: () async throws -> Void
    ) async throws {
        let held = PushStore.Held(key: key, connection: connection)
        try await store.add(held, of: holder)
        do {
            let connect = PushCommand.connect(connection: connection.lowercased, holder: holder.lowercased)
            try await commands.submit(connect, to: key, origin: requester.origin)
            // After a stall past the lease, a sweep may have removed the row before the device was connected.
            guard try await store.isThere(held) else { throw LeaseLost() }
            try await body()
        } catch {
            await leave(held, .closed, requester)
            throw error
        }
        await leave(held, .closed, requester)
    }

    /// Connects a device by the stream of its fleet, until ``leave(_:_:_:)``.
    ///
    /// - Returns: false if the device has its own connection, or can't be connected now.
    func join(_ held: PushStore.Held, by requester: Requester) async throws -> Bool {
        let name = held.connection.lowercased
        try await store.add(held, of: holder)
        do {
            let connect = PushCommand.connect(connection: name, holder: holder.lowercased, kind: .fleet)
            let isConnected = try await commands.submit(
                connect, to: held.key, origin: requester.origin
            ) { aggregate, _ in aggregate.state.connection?.id == name ? [1] : [] }
            guard !isConnected.isEmpty else {
                try await store.remove(held)
                return false
            }
            guard try await store.isThere(held) else { throw LeaseLost() }
            return true
        } catch is PushRefusal {
            // It has no network or no power, or it was removed.
            try await store.remove(held)
            return false
        } catch RuntimeError.parked {
            await leave(held, .closed, requester)
            return false
        } catch {
            await leave(held, .closed, requester)
            throw error
        }
    }

    /// Disconnects a device. Must not fail the end of a stream: a failed disconnection is retried later.
    func leave(_ held: PushStore.Held, _ cause: ConnectionEnd, _ requester: Requester) async {
        do {
            try await disconnect(held, cause, requester)
            try await store.remove(held)
        } catch {
            own.withLock { $0.unnoted.append(held) }
            logger.warning("failed to record disconnection, will retry", error: error)
        }
    }

    private func disconnect(
        _ held: PushStore.Held, _ cause: ConnectionEnd, _ requester: Requester = Requester()
    ) async throws {
        let command = PushCommand.disconnect(connection: held.connection.lowercased, cause)
        do {
            try await commands.submit(command, to: held.key, origin: requester.origin)
        } catch PushRefusal.deviceNotRegistered {
            // A removed device is not connected.
        }
    }

    // MARK: The lease

    /// Renews this process's lease and sweeps connections of dead processes, until graceful shutdown. The server shuts
    /// down first, so no stream is open then.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { group in
                // Separate tasks: a long sweep must not delay the renewal of the lease.
                group.addTask {
                    await self.again("renew lease") { try await self.renew() }
                }
                group.addTask { await self.again("record disconnections") { await self.note() } }
                group.addTask { await self.again("sweep lost connections") { try await self.sweep() } }
            }
        }
        try? await store.reap(holder, leaves: true)
    }

    private func renew() async throws {
        do { try await store.renew(holder) } catch {
            own.withLock { $0.isRenewed = false }
            throw error
        }
        own.withLock { own in
            // After an outage of the database, leases of live processes have expired too: let them renew first.
            if !own.isRenewed { own.sweepsFrom = .now + Self.grace }
            own.isRenewed = true
        }
    }

    /// Retries disconnections that failed.
    private func note() async {
        var rest = own.withLock { own in
            defer { own.unnoted = [] }
            return own.unnoted[...]
        }
        while !rest.isEmpty {
            await withDiscardingTaskGroup { group in
                for held in rest.prefix(Self.page) {
                    group.addTask { await self.leave(held, .closed, Requester()) }
                }
            }
            rest = rest.dropFirst(Self.page)
        }
    }

    private func again(_ what: String, _ round: () async throws -> Void) async {
        repeat {
            do { try await round() } catch {
                if Task.isCancelled { return }
                logger.warning(
                    "failed to maintain connections, will retry", error: error, metadata: [LogKey.task: "\(what)"])
            }
        } while (try? await Task.sleep(for: Self.renewal)) != nil
    }

    /// Disconnects the devices of dead processes, page by page.
    func sweep() async throws {
        guard own.withLock({ $0.isRenewed && $0.sweepsFrom <= .now }) else { return }
        try await restore()
        while let dead = try await store.claim(by: holder) {
            // A parked device keeps its holder for a long time: log each holder once.
            if own.withLock({ $0.reported.insert(dead).inserted }) {
                logger.notice("disconnect devices of lost process", metadata: [LogKey.holder: "\(dead)"])
            }
            var last: UUID?
            while let page = try await store.page(of: dead, after: last, limit: Self.page), let end = page.last {
                last = end.connection
                try await store.remove(await disconnected(page), of: dead)
            }
            try await store.reap(dead, leaves: false)
        }
    }

    /// Restores missing rows of connections. A failed partition delays neither the other partitions nor the sweep.
    private func restore() async throws {
        for partition in try await store.partitionsToRestore() {
            do {
                let lost = try await store.restore(in: partition)
                guard lost > 0 else { continue }
                logger.notice(
                    "restored rows of connections",
                    metadata: [LogKey.count: "\(lost)", LogKey.partition: "\(partition)"])
            } catch {
                logger.warning(
                    "failed to restore rows of connections, will retry",
                    error: error, metadata: [LogKey.partition: "\(partition)"])
            }
        }
    }

    /// Disconnects the devices of a page and returns those that succeeded. A parked device keeps its row for a retry.
    private func disconnected(_ page: [PushStore.Held]) async -> [UUID] {
        await withTaskGroup(of: UUID?.self) { group in
            for held in page {
                group.addTask {
                    do { try await self.disconnect(held, .processLost) } catch {
                        self.logger.warning("failed to disconnect device of lost process, will retry", error: error)
                        return nil
                    }
                    return held.connection
                }
            }
            return await group.reduce(into: []) { $0 += [$1].compactMap { $0 } }
        }
    }
}

/// The lease of this process expired while a device connected.
private struct LeaseLost: Error {}
