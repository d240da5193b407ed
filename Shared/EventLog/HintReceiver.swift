public import Logging
public import Postgres
public import ServiceLifecycle
import Synchronization

/// Listens for hints on a connection of its own, and passes them on to whoever reads the log in this process.
///
/// A hint is never the truth: who follows it also looks at the log by itself from time to time.
public final class HintReceiver: Service {
    /// What there is to know.
    public enum News: Sendable, Equatable {
        /// Anything may have been missed: look everywhere.
        case everything
        /// Partitions of the log have new events.
        case hint(HintSender.Hint)
        /// The suite's clock was set.
        case clock
    }

    /// Announces a change of the suite's clock, as its whole payload.
    public static let clockPayload = "clock"

    public typealias Follower = @Sendable (News) async -> Void

    private let listener: Listener
    private let sender: HintSender
    private let followers = Mutex<[Follower]>([])

    /// - Parameter sender: tells this process's own hints from those of others.
    public init(_ options: ConnectionOptions, sender: HintSender, logger: Logger) {
        listener = Listener(options, channels: [HintSender.channel], logger: logger)
        self.sender = sender
    }

    /// Calls `follower` for all news from now on, one after the other.
    public func follow(_ follower: @escaping Follower) { followers.withLock { $0.append(follower) } }

    /// Whether the listening connection is up.
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
            case .notification(_, let payload):
                guard let hint = sender.read(payload) else { continue }
                await tell(.hint(hint))
            case .lost: continue
            }
        }
    }

    private func tell(_ news: News) async {
        for follower in followers.withLock({ $0 }) { await follower(news) }
    }
}
