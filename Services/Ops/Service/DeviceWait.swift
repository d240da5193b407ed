import Contracts
import EventLog
import Foundation
import OrderedCollections
import Postgres
import Synchronization
import Timeline

/// Waits, during an advance of the clock, for the answers of connected devices.
///
/// A device is connected for orders while it, or a client of its fleet, has an open stream of orders. A notification is
/// delivered to connected devices only.
actor DeviceWait {
    /// The newest events of each partition that may hold orders from before the advance.
    private static let lookBack = 1000
    private static let page = 1000

    /// The longest real time for each order.
    private let patience: Duration
    private let store: OpsStore
    private let streams: OrderStreamStore
    private let tail: LogTail
    private let past: PastOrders
    private var orders = OpenOrders()
    /// The offsets up to which the events are read, by partition; nil before the first read.
    private var positions: [Int: Int]?
    /// The names of the devices that did not answer in time.
    private(set) var unanswered: Set<String> = []

    /// - Parameter past: the orders that earlier advances gave up.
    init(for patience: Duration, store: OpsStore, tail: LogTail, past: PastOrders) {
        self.patience = patience
        self.past = past
        self.store = store
        self.tail = tail
        streams = OrderStreamStore(pool: store.pool)
    }

    /// Waits until all orders of connected devices up to the heads are answered, or the time for them is over.
    ///
    /// - Returns: whether it has waited, so that the services may have new events.
    func settled(at heads: [Int: Int]) async throws -> Bool {
        guard patience > .zero else { return false }
        try await read(to: heads)
        var hasWaited = false
        while let end = try await nextEnd() {
            hasWaited = true
            try await tail.waitForEvent(after: positions ?? heads, of: OpenOrders.types, until: end)
            try await read(to: try await tail.heads())
        }
        return hasWaited
    }

    /// Gives up orders whose time is over, and returns the earliest end of the others; nil if there are none.
    private func nextEnd() async throws -> ContinuousClock.Instant? {
        guard !orders.devices.isEmpty else { return nil }
        let devices = Array(orders.devices.keys)
        let connected = try await connected(devices)
        let now = ContinuousClock.now
        var earliest: ContinuousClock.Instant?
        for device in devices {
            for (order, begin) in orders.devices[device] ?? [:]
            where order.kind == .notification || connected.contains(device) {
                let isPast = past.contains(begin.event)
                let end = begin.readAt + patience
                guard isPast || end <= now else {
                    earliest = min(earliest ?? end, end)
                    continue
                }
                orders.giveUp(order, of: device)
                if isPast { continue }
                past.add(begin.event)
                unanswered.insert(device.device ?? device.description)
            }
        }
        return earliest
    }

    /// Returns the devices with an open stream of orders, of their own or of their fleet.
    private func connected(_ devices: [AggregateKey]) async throws -> Set<AggregateKey> {
        let open = try await streams.open()
        var connected: Set<AggregateKey> = []
        var others: [AggregateKey] = []
        for device in devices {
            if open.contains(.device(device)) { connected.insert(device) } else { others.append(device) }
        }
        let fleets = open.compactMap { subject in if case .fleet(let name) = subject { name } else { nil } }
        guard !fleets.isEmpty, !others.isEmpty else { return connected }
        return connected.union(try await store.members(of: fleets, among: others, partitions: tail.partitions))
    }

    /// Reads the events up to the heads.
    private func read(to heads: [Int: Int]) async throws {
        var positions = self.positions ?? heads.mapValues { max(0, $0 - Self.lookBack) }
        for (partition, head) in heads.sorted(by: { $0.key < $1.key }) {
            while let position = positions[partition], position < head {
                let rows = try await store.pool.execute(
                    LogReader.following, .partition(partition), .int(position), .texts(Array(OpenOrders.types)),
                    .int(Self.page))
                let now = ContinuousClock.now
                let events = try rows.map(LogReader.event)
                for event in events { orders.take(event, at: now) }
                let end = min(head, position + LogReader.scanLimit)
                let isFull = events.count == Self.page
                positions[partition] = isFull ? events.last?.offset ?? end : max(end, events.last?.offset ?? end)
            }
        }
        self.positions = positions
    }
}

/// The orders that advances of this process gave up. A later advance does not wait for them again.
final class PastOrders: Sendable {
    /// The events that gave the orders, the oldest first.
    private let events = Mutex(OrderedSet<UUID>())
    private static let limit = 100_000

    func contains(_ event: UUID) -> Bool { events.withLock { $0.contains(event) } }

    func add(_ event: UUID) {
        events.withLock { events in
            events.append(event)
            if events.count > Self.limit { events.removeFirst(Self.limit / 2) }
        }
    }
}

extension LogTail {
    /// Waits for an event of some types after positions, until a real time.
    fileprivate func waitForEvent(
        after positions: [Int: Int], of types: Set<String>, until end: ContinuousClock.Instant
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    for try await _ in self.events(in: positions, of: types) { return }
                } catch TailError.slowReader {
                    // Too many events at once: the caller reads them from the database.
                }
            }
            group.addTask { try await Task.sleep(until: end, clock: .continuous) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
