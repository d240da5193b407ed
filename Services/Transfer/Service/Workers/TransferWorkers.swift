import Contracts
import EventLog
import Foundation
import Logging
import Machines
import OrderedCollections
import Postgres
import Records
import Runtime
import ServiceKit
import ServiceLifecycle
import Synchronization
import Telemetry
import TransferCore

/// The transfer worker of a process. It runs the attempts that machines schedule, and stops those that machines end.
///
/// A worker has a lease in real time. When the lease has expired, another worker scans all states for the attempts of
/// the dead worker and takes them over. The machine then increments the epoch, which fences reports of the dead worker.
final class TransferWorkers: Service {
    /// The largest number of concurrent attempts in a process.
    static let limit = 1000
    static let page = 200

    private struct Running {
        var epoch: Int
        var stop: AsyncStream<Never>.Continuation
    }

    let id = UUID.random()
    private let parts: ServiceParts<TransferMachine>
    private let store: TransferStore
    private let storage: any Storage
    private let origins: AllowedOrigins
    private let credentials: any CredentialSource
    private let quotas: FileQuotas
    private let meter: QuotaMeter
    private let scanInterval: Duration
    private let shapers = Shapers()
    private let logger: Logger
    private let lease: WorkerLease
    private let running = Mutex<[AttemptSlot: Running]>([:])
    private let offers = AttemptOffers()
    private let looks = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    private let wantsScan = Atomic(false)

    /// - Parameter scanInterval: the time between two regular scans for attempts without a worker.
    init(
        parts: ServiceParts<TransferMachine>, store: TransferStore, storage: any Storage, origins: AllowedOrigins,
        credentials: any CredentialSource, quotas: FileQuotas, meter: QuotaMeter, scanInterval: Duration
    ) {
        self.credentials = credentials
        self.quotas = quotas
        self.meter = meter
        self.scanInterval = scanInterval
        self.parts = parts
        self.storage = storage
        self.origins = origins
        self.store = store
        logger = parts.logger
        lease = WorkerLease(of: id, parts.options, partitions: store.partitions, logger: parts.logger)
    }

    /// Runs until graceful shutdown or cancellation. Another worker then takes over the running attempts.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            let (known, begun) = AsyncStream<Never>.makeStream()
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.lease.keep { begun.finish() } }
                // Begins no attempt before other workers can see the lease.
                for await _ in known {}
                group.addTask { await self.look() }
                group.addTask { await self.tick() }
                group.addTask { await self.follow() }
                group.addTask { await self.work() }
                await group.waitForAll()
            }
        }
        await lease.end()
    }

    // MARK: Finding work

    /// Scans all states on request, when a worker has died, and after each scan interval.
    private func look() async {
        var scanned = ContinuousClock.now
        var trust = LeaseTrust()
        for await _ in looks.stream {
            do {
                let expired = try await store.deadWorkers().filter { $0 != id }
                let canTakeOver = trust.canTakeOver(at: .now)
                let dead = canTakeOver ? expired : []
                let isWanted = wantsScan.exchange(false, ordering: .relaxed)
                guard isWanted || !dead.isEmpty || .now - scanned >= scanInterval else { continue }
                do { try await scan(takesOver: canTakeOver) } catch {
                    wantsScan.store(true, ordering: .relaxed)
                    throw error
                }
                scanned = .now
                for worker in dead { try await store.reap(worker) }
            } catch {
                trust.databaseFailed(at: .now)
                logger.warning("failed to look for attempts, will retry", error: error)
            }
        }
    }

    private func tick() async {
        while (try? await Task.sleep(for: WorkerLease.renewal)) != nil { looks.continuation.yield() }
    }

    private static let followed: Set<String> = [
        TransferEvent.AttemptScheduled.type, TransferEvent.AttemptEnded.type, TransferEvent.AppRemoved.type,
        TransferEvent.DeviceRemoved.type, TransferEvent.DeviceUpdated.type,
    ]

    private func follow() async {
        while !Task.isCancelled {
            do {
                // Reads the heads before the scan, so that the tail has the attempts that are scheduled meanwhile.
                let heads = try await parts.tail.heads()
                wantsScan.store(true, ordering: .relaxed)
                looks.continuation.yield()
                for try await event in parts.tail.events(in: heads, of: Self.followed) {
                    try note(event)
                }
            } catch {
                if Task.isCancelled { return }
                logger.warning("failed to follow the log, will retry", error: error)
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }

    private func note(_ event: Event) throws(ContractError) {
        switch try TransferEvent(type: event.type, version: event.version, data: event.data) {
        case .attemptScheduled(let scheduled):
            offers.add(
                AttemptOffer(slot: AttemptSlot(key: event.key, taskKey: scheduled.taskKey), epoch: scheduled.epoch))
        case .attemptEnded(let ended):
            stop { $0 == AttemptSlot(key: event.key, taskKey: ended.taskKey) && $1 <= ended.epoch }
        case .appRemoved(let forgotten):
            stop { slot, _ in slot.key == event.key && slot.taskKey.app == forgotten.app }
        case .deviceUpdated(let noted):
            if let network = noted.network { shapers.change(event.key, to: network.shape) }
        case .deviceRemoved: stop { slot, _ in slot.key == event.key }
        default: break
        }
    }

    private func stop(where isOver: (AttemptSlot, _ epoch: Int) -> Bool) {
        let over = running.withLock { running in
            running.filter { isOver($0.key, $0.value.epoch) }.map(\.value.stop)
        }
        for stop in over { stop.finish() }
    }

    /// Scans all states. Offers attempts without a worker, takes over the attempts of dead workers, and counts the bytes
    /// of fleets.
    ///
    /// - Parameter takesOver: false while expired leases of other workers mean nothing.
    private func scan(takesOver: Bool) async throws {
        var bytes: [String: Int] = [:]
        quotas.beginScan()
        try await store.forEachPage(of: Self.page) { rows in
            let states = rows.map { ($0.key, TransferMachine(binary: $0.state)) }
            for case (_, let state?) in states {
                if let fleet = state.fleet { bytes[fleet, default: 0] += state.storedBytes }
            }
            let found = states.flatMap { attempts(of: $0, $1) }
            // Reads the leases after the states, because a worker gets its lease before its first attempt.
            let alive = found.isEmpty ? [] : try await store.livingWorkers()
            for (offer, worker) in found {
                let owner = worker.flatMap(UUID.init(uuidString:))
                let isAlive = owner.map { owner in
                    // The own lease says nothing: the attempt may still run.
                    owner == id ? running.withLock { $0[offer.slot] != nil } : !takesOver || alive.contains(owner)
                }
                if isAlive != true { try await look(at: offer, worker) }
            }
        }
        quotas.endScan(bytes)
    }

    private func attempts(of device: AggregateKey, _ state: TransferMachine?) -> [(AttemptOffer, worker: String?)] {
        guard let state else { return [] }
        return state.sessions.flatMap { key, session in
            session.tasks.compactMap { task in
                // The machine itself moves the bytes of some built-in devices.
                task.attempt.flatMap { attempt in
                    guard attempt.worker != TransferMachine.builtInWorker else { return nil }
                    let taskKey = TaskKey(app: key.app, session: key.session, task: task.task)
                    let slot = AttemptSlot(key: device, taskKey: taskKey)
                    return (AttemptOffer(slot: slot, epoch: attempt.epoch), attempt.worker)
                }
            }
        }
    }

    /// Offers an attempt without a worker. Takes over any other, also an own one that does not run, for example after a
    /// failure of its task.
    private func look(at offer: AttemptOffer, _ worker: String?) async throws {
        guard let worker else { return offers.add(offer) }
        let claim = AttemptClaim(offer.slot.taskKey, epoch: offer.epoch, worker: worker)
        do {
            // The machine schedules the attempt again, and the tail reports that.
            try await parts.commands.submit(.takeOver(claim), to: offer.slot.key, origin: Origin(id: UUID.random()))
        } catch is TransferRefusal {
            // Another worker has taken the attempt over, or it is over.
        } catch let error as RuntimeError where ![.databaseUnavailable, .stopping, .eventsLost].contains(error) {
            // A failure of one device must not delay the others.
            logger.warning(
                "failed to take over an attempt, will retry",
                error: error, metadata: [LogKey.device: "\(offer.slot.key)"])
        }
    }

    // MARK: Work

    private func work() async {
        await withTaskGroup(of: Void.self) { group in
            var count = 0
            for await offer in offers.all {
                if count == Self.limit {
                    await group.next()
                    count -= 1
                }
                count += 1
                group.addTask { await self.carryOut(offer) }
            }
        }
    }

    private func carryOut(_ offer: AttemptOffer) async {
        let slot = offer.slot
        let (stops, stop) = AsyncStream<Never>.makeStream()
        let isNew = running.withLock { running in
            guard running[slot].map({ $0.epoch < offer.epoch }) ?? true else { return false }
            running[slot]?.stop.finish()
            running[slot] = Running(epoch: offer.epoch, stop: stop)
            return true
        }
        guard isNew else { return }
        let runner = AttemptRunner(
            key: slot.key, claim: AttemptClaim(slot.taskKey, epoch: offer.epoch, worker: id.uuidString),
            commands: parts.commands, storage: storage, origins: origins, credentials: credentials,
            shapers: shapers, counts: ByteCounts(metrics: parts.metrics), quotas: quotas, meter: meter,
            logger: logger)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await runner.run() }
            group.addTask { for await _ in stops {} }
            await group.next()
            group.cancelAll()
        }
        running.withLock { running in
            if running[slot]?.epoch == offer.epoch { running[slot] = nil }
        }
    }
}
