public import Logging
public import Postgres
public import ServiceLifecycle
import Synchronization

/// Listens for wake-ups on its own connection, and forwards them to the readers of the log in this process.
///
/// Wake-ups may be lost, so every reader also polls the log.
public final class WakeUpReceiver: Service {
    /// An update for readers of the log.
    public enum LogUpdate: Sendable, Equatable {
        /// Wake-ups may have been lost: read all partitions and the clock.
        case everything
        /// Partitions have new events.
        case wakeUp(WakeUpSender.WakeUp)
        /// The suite's clock was changed.
        case clock
        /// An advance of the clock waits until every consumer has read the log: read to the head at once.
        case settling
    }

    /// The payload of a notification that the suite's clock was changed.
    public static let clockPayload = "clock"

    /// A payload that asks every consumer to read the log to its head at once.
    public static let settlingPayload = "settling"

    /// A handler of updates.
    public typealias Follower = @Sendable (LogUpdate) async -> Void

    private let listener: Listener
    private let sender: WakeUpSender
    private let followers = Mutex<[Follower]>([])

    /// - Parameter sender: identifies the wake-ups of this process.
    public init(_ options: ConnectionOptions, sender: WakeUpSender, logger: Logger) {
        listener = Listener(options, channels: [WakeUpSender.channel], logger: logger)
        self.sender = sender
    }

    /// Calls `follower` for all updates from now on, one at a time.
    public func follow(_ follower: @escaping Follower) { followers.withLock { $0.append(follower) } }

    /// Whether the connection listens.
    public var isListening: Bool { get async { await listener.isListening } }

    /// Runs until graceful shutdown or cancellation.
    public func run() async throws {
        try await cancelWhenGracefulShutdown {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.listener.run() }
                group.addTask { await self.receive() }
                try await group.waitForAll()
            }
        }
    }

    private func receive() async {
        for await event in listener.events {
            switch event {
            case .listening: await tell(.everything)
            case .notification(_, Self.clockPayload): await tell(.clock)
            case .notification(_, Self.settlingPayload): await tell(.settling)
            case .notification(_, let payload):
                guard let wakeUp = sender.read(payload) else { continue }
                await tell(.wakeUp(wakeUp))
            case .lost: continue
            }
        }
    }

    private func tell(_ updates: LogUpdate) async {
        for follower in followers.withLock({ $0 }) { await follower(updates) }
    }
}
