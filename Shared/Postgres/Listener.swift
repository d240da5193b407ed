public import Logging

/// What a ``Listener`` tells.
public enum ListenerEvent: Sendable, Equatable {
    /// LISTEN holds, from now on: whatever was notified before may have been missed, so readers catch up. Sent after
    /// each connect, and when so many events lay unread that some were dropped.
    case listening
    case notification(channel: String, payload: String)
    /// The connection is gone, or did not come about; the listener goes on trying. Safe to show.
    case lost(reason: String)
}

/// A connection of its own that listens always: reads without being asked, notices a dead peer by an empty query each
/// heartbeat, and connects again by itself. NOTIFY is a hint: nothing may depend on a notification that never comes.
public actor Listener {
    /// Unread events beyond this many are dropped, oldest first, and ``ListenerEvent/listening`` is sent again.
    private static let unreadLimit = 4096

    /// For one reader. Ends when ``run()`` does.
    public nonisolated let events: AsyncStream<ListenerEvent>

    private let options: ConnectionOptions
    private let channels: [String]
    private let heartbeat: Duration
    private let logger: Logger
    private let continuation: AsyncStream<ListenerEvent>.Continuation
    private var backoff = Backoff(first: .milliseconds(100), limit: .seconds(5))

    /// LISTEN holds at this moment, as far as is known.
    public private(set) var isListening = false

    /// - Parameter heartbeat: how often an idle connection is tried, and how long the answer may take.
    public init(
        _ options: ConnectionOptions, channels: [String], heartbeat: Duration = .seconds(5), logger: Logger
    ) {
        self.options = options
        self.channels = channels
        self.heartbeat = heartbeat
        self.logger = logger
        (events, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(Self.unreadLimit))
    }

    /// Runs until the task is cancelled, then returns; to be called once.
    /// - Throws: ``PostgresError/invalidOptions(part:reason:)`` for a channel that cannot be one.
    public func run() async throws {
        defer { continuation.finish() }
        for channel in channels {
            guard !channel.isEmpty, channel.utf8.count < 64, !channel.utf8.contains(0) else {
                throw PostgresError.invalidOptions(part: "channels", reason: "a channel's name has 1 to 63 bytes")
            }
        }
        while !Task.isCancelled {
            do throws(PostgresError) {
                let connection = try await Connection.open(options, logger: logger)
                let failure = await listen(on: connection)
                await connection.close()
                throw failure
            } catch {
                await note(error)
            }
        }
    }

    /// - Returns: why it ended.
    private func listen(on connection: Connection) async -> PostgresError {
        do throws(PostgresError) {
            // One string is one transaction: all channels or none.
            try await connection.script(channels.map { "LISTEN \(Self.quoted($0))" }.joined(separator: ";"))
            isListening = true
            backoff.reset()
            send(.listening)
            logger.info("listening", metadata: ["channels": "\(channels.joined(separator: ","))"])
            while true {
                let found = try await connection.notifications(until: .now + heartbeat)
                for notification in found {
                    send(.notification(channel: notification.channel, payload: notification.payload))
                }
                if found.isEmpty { try await connection.beat(within: heartbeat) }
            }
        } catch {
            return error
        }
    }

    private func note(_ error: PostgresError) async {
        isListening = false
        guard !Task.isCancelled else { return }
        let pause = backoff.next()
        logger.warning("not listening", metadata: ["reason": "\(error)", "next_attempt_in": "\(pause)"])
        send(.lost(reason: error.description))
        // Cancellation ends the pause; the caller's loop sees it.
        try? await Task.sleep(for: pause)
    }

    private func send(_ event: ListenerEvent) {
        if case .dropped = continuation.yield(event) { continuation.yield(.listening) }
    }

    static func quoted(_ identifier: String) -> String {
        "\"" + identifier.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}

extension Connection {
    /// An empty query: the least that proves the server to be there.
    func beat(within patience: Duration) async throws(PostgresError) {
        await takeTurn()
        defer { passTurn() }
        try await perform("", deadline: .now + patience)
    }
}
