public import Logging
import Telemetry

/// An event of a ``Listener``.
public enum ListenerEvent: Sendable, Equatable {
    /// LISTEN is active. Earlier notifications may be lost, so readers must catch up. Sent after each connect, and
    /// after unread events were dropped.
    case listening
    case notification(channel: String, payload: String)
    /// The connection was lost or could not be opened; the listener retries. The reason is safe for logs.
    case lost(reason: String)
}

/// Listens for notifications on its own connection, and reconnects. It detects a dead peer by an empty query each
/// heartbeat. Notifications may be lost, so no reader may depend on them.
public actor Listener {
    /// The limit of unread events. Beyond it the oldest are dropped, and ``ListenerEvent/listening`` is sent again.
    private static let unreadLimit = 4096

    /// The events, for one reader. The stream ends with ``run()``.
    public nonisolated let events: AsyncStream<ListenerEvent>

    private let options: ConnectionOptions
    private let channels: [String]
    private let heartbeat: Duration
    private let logger: Logger
    private let continuation: AsyncStream<ListenerEvent>.Continuation
    private var backoff = Backoff(first: .milliseconds(100), limit: .seconds(5))

    /// Whether LISTEN is active.
    public private(set) var isListening = false

    /// - Parameter heartbeat: the interval of checks of an idle connection, and the timeout of each.
    public init(
        _ options: ConnectionOptions, channels: [String], heartbeat: Duration = .seconds(5), logger: Logger
    ) {
        self.options = options
        self.channels = channels
        self.heartbeat = heartbeat
        self.logger = logger
        (events, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(Self.unreadLimit))
    }

    /// Runs until the task is cancelled. Call it once.
    /// - Throws: ``PostgresError/invalidOptions(part:reason:)`` for an invalid channel name.
    public func run() async throws {
        defer { continuation.finish() }
        for channel in channels {
            guard !channel.isEmpty, channel.utf8.count < 64, !channel.utf8.contains(0) else {
                throw PostgresError.invalidOptions(part: "channels", reason: "a channel name has 1 to 63 bytes")
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

    /// - Returns: the error that ended it.
    private func listen(on connection: Connection) async -> PostgresError {
        do throws(PostgresError) {
            // One script is one transaction: all channels or none.
            try await connection.script(channels.map { "LISTEN \(Self.quoted($0))" }.joined(separator: ";"))
            isListening = true
            backoff.reset()
            send(.listening)
            logger.info(
                "listening for notifications", metadata: [LogKey.channels: "\(channels.joined(separator: ","))"])
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
        logger.warning(
            "failed to listen for notifications, will retry",
            metadata: [LogKey.reason: "\(error)", LogKey.nextAttemptIn: "\(pause)"])
        send(.lost(reason: error.description))
        // Cancellation ends the pause; the caller's loop checks for it.
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
    /// Sends an empty query to check that the server answers.
    func beat(within patience: Duration) async throws(PostgresError) {
        await takeTurn()
        defer { passTurn() }
        try await perform("", deadline: .now + patience)
    }
}
