public import Foundation
public import Logging
public import Postgres
public import ServiceLifecycle
import Synchronization

/// Sends wake-ups to other processes: partitions have new events. It works outside of the commit path.
///
/// It sends the first wake-up at once, then at most one every 10 ms. While processors are short, sending takes longer, and
/// the interval grows to at most 40 ms: each wake-up costs every process some time. After a lost wake-up, the fallback
/// poll of a reader finds the events.
///
/// A payload is `sender:partitions:types`. Without types it means all event types.
public final class WakeUpSender: Service {
    /// The channel of NOTIFY.
    public static let channel = "dormouse"

    private let pool: ConnectionPool
    /// The id of this process in its wake-ups, by which it ignores its own.
    public let sender: UUID
    private let logger: Logger
    private let updates = Mutex((partitions: Set<Int>(), types: Set<String>(), isOfAny: false))
    /// The limit of a payload: NOTIFY takes less than 8,000 bytes. Types that need more are left out.
    private static let payloadLimit = 7900
    private let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    public init(pool: ConnectionPool, sender: UUID, logger: Logger) {
        self.pool = pool
        self.sender = sender
        self.logger = logger
    }

    /// Requests a wake-up for a partition.
    ///
    /// - Parameter types: the types of the new events; empty if unknown.
    public func wakeUp(_ partition: Int, types: some Sequence<String>) {
        updates.withLock { updates in
            updates.partitions.insert(partition)
            var isNamed = false
            for type in types {
                isNamed = true
                updates.types.insert(type)
            }
            if !isNamed { updates.isOfAny = true }
        }
        signal.continuation.yield()
    }

    /// Runs until graceful shutdown or cancellation.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            for await _ in self.signal.stream {
                let start = ContinuousClock.now
                await self.send()
                try? await Task.sleep(for: Self.pause(after: start.duration(to: .now)))
            }
        }
    }

    /// Returns the pause after a wake-up, from 10 to 40 ms.
    ///
    /// - Parameter time: the time that sending took.
    static func pause(after time: Duration) -> Duration {
        min(max(time * 4, .milliseconds(10)), .milliseconds(40))
    }

    private func send() async {
        let (partitions, types) = updates.withLock { updates in
            defer { updates = ([], [], false) }
            return (updates.partitions.sorted(), updates.isOfAny ? [] : updates.types.sorted())
        }
        guard !partitions.isEmpty else { return }
        var payload = sender.uuidString + ":" + partitions.map(String.init).joined(separator: ",")
        let named = types.joined(separator: ",")
        if !named.isEmpty, payload.utf8.count + named.utf8.count < Self.payloadLimit { payload += ":" + named }
        do {
            try await pool.execute(Statement("SELECT pg_notify($1, $2)"), .text(Self.channel), .text(payload))
        } catch {
            logger.debug("failed to send wake-up", error: error)
        }
    }

    /// The payload of a wake-up.
    public struct WakeUp: Sendable, Equatable {
        public var partitions: [Int]
        /// The event types; nil for all.
        public var types: Set<String>?
        /// Whether this process sent it.
        public var isOwn: Bool
    }

    /// Parses a payload; nil if it is not a wake-up.
    public func read(_ payload: String) -> WakeUp? {
        let parts = payload.split(separator: ":")
        guard parts.count == 2 || parts.count == 3 else { return nil }
        return WakeUp(
            partitions: parts[1].split(separator: ",").compactMap { Int($0) },
            types: parts.count == 3 ? Set(parts[2].split(separator: ",").map(String.init)) : nil,
            isOwn: parts[0] == sender.uuidString)
    }
}
