public import Foundation
public import Logging
public import Postgres
public import ServiceLifecycle
import Synchronization

/// Tells other processes, off the commit path, that partitions have news.
///
/// Coalesced: the first hint goes out at once, then at most one notification every 10 ms. A hint that is lost costs a reader
/// at most its fallback poll: the log is the truth.
///
/// A payload is `sender:partitions:types`: which partitions have news, and of which types of event. Without the types it is
/// news of any.
public final class HintSender: Service {
    public static let channel = "dormouse"

    private let pool: ConnectionPool
    /// Names this process in its hints, so that it can pass over its own.
    public let sender: UUID
    private let logger: Logger
    private let news = Mutex((partitions: Set<Int>(), types: Set<String>(), isOfAny: false))
    /// A payload takes less than 8,000 bytes; types that need more are not named.
    private static let payloadLimit = 7900
    private let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    public init(pool: ConnectionPool, sender: UUID, logger: Logger) {
        self.pool = pool
        self.sender = sender
        self.logger = logger
    }

    /// - Parameter types: of the events that are new; none where that is not known.
    public func hint(_ partition: Int, types: some Sequence<String>) {
        news.withLock { news in
            news.partitions.insert(partition)
            var isNamed = false
            for type in types {
                isNamed = true
                news.types.insert(type)
            }
            if !isNamed { news.isOfAny = true }
        }
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
        let (partitions, types) = news.withLock { news in
            defer { news = ([], [], false) }
            return (news.partitions.sorted(), news.isOfAny ? [] : news.types.sorted())
        }
        guard !partitions.isEmpty else { return }
        var payload = sender.uuidString + ":" + partitions.map(String.init).joined(separator: ",")
        let named = types.joined(separator: ",")
        if !named.isEmpty, payload.utf8.count + named.utf8.count < Self.payloadLimit { payload += ":" + named }
        do {
            _ = try await pool.run([
                Call(Statement("SELECT pg_notify($1, $2)"), [.text(Self.channel), .text(payload)])
            ])
        } catch {
            logger.debug("a hint was lost", metadata: ["error": "\(error)"])
        }
    }

    /// A hint's payload.
    public struct Hint: Sendable, Equatable {
        public var partitions: [Int]
        /// Nil where they are not named: any.
        public var types: Set<String>?
        /// Whether this process sent it.
        public var isOwn: Bool
    }

    /// Reads a payload; nil for anything that is no hint.
    public func read(_ payload: String) -> Hint? {
        let parts = payload.split(separator: ":")
        guard parts.count == 2 || parts.count == 3 else { return nil }
        return Hint(
            partitions: parts[1].split(separator: ",").compactMap { Int($0) },
            types: parts.count == 3 ? Set(parts[2].split(separator: ",").map(String.init)) : nil,
            isOwn: parts[0] == sender.uuidString)
    }
}
