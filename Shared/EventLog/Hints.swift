public import Foundation
public import Logging
public import Postgres
public import ServiceLifecycle
import Synchronization

/// Tells other processes, off the commit path, that partitions have news.
///
/// Coalesced: the first hint goes out at once, then at most one notification every 10 ms. A hint that is lost costs a reader
/// at most its fallback poll: the log is the truth.
public final class HintSender: Service {
    public static let channel = "dormouse"

    private let pool: ConnectionPool
    /// Names this process in its hints, so that it can pass over its own.
    public let sender: UUID
    private let logger: Logger
    private let touched = Mutex<Set<Int>>([])
    private let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    public init(pool: ConnectionPool, sender: UUID, logger: Logger) {
        self.pool = pool
        self.sender = sender
        self.logger = logger
    }

    public func hint(_ partition: Int) {
        touched.withLock { _ = $0.insert(partition) }
        signal.continuation.yield()
    }

    public func run() async throws {
        await cancelWhenGracefulShutdown {
            for await _ in self.signal.stream {
                await self.send()
                try? await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    private func send() async {
        let partitions = touched.withLock { touched in
            defer { touched.removeAll() }
            return touched.sorted()
        }
        guard !partitions.isEmpty else { return }
        let payload = sender.uuidString + ":" + partitions.map(String.init).joined(separator: ",")
        do {
            _ = try await pool.run([
                Call(Statement("SELECT pg_notify($1, $2)"), [.text(Self.channel), .text(payload)])
            ])
        } catch {
            logger.debug("a hint was lost", metadata: ["error": "\(error)"])
        }
    }

    /// The partitions in a hint's payload, and whether this process sent it; nil for anything else.
    public func read(_ payload: String) -> (partitions: [Int], isOwn: Bool)? {
        let parts = payload.split(separator: ":")
        guard parts.count == 2 else { return nil }
        return (parts[1].split(separator: ",").compactMap { Int($0) }, parts[0] == sender.uuidString)
    }
}
