public import Contracts
public import EventLog
import HTTPTypes
import ServiceLifecycle

extension Problem {
    /// A client's position is beyond the end of the log. No service returns such a position, so the log was restored.
    public static let positionBeyondLog = Problem(.gone, "position_beyond_log", "Position is beyond the end of the log")

    /// Returns the problem with the position and the end of its partition.
    public static func beyondLog(_ position: LogPosition, head: Int) -> Problem {
        .positionBeyondLog.with(
            detail:
                "\(position) is beyond the end of its partition, \(position.partition):\(head). The log was restored to an "
                + "earlier point. Read the state and start again without a position.")
    }
}

extension LogTail {
    /// Checks that the log still has the positions from which a client resumes, so that a stream skips no event.
    ///
    /// - Throws: `beyond_retention`, `position_beyond_log`; the client must start again without a position.
    public func requireInLog(_ places: [Int: Int]) async throws {
        switch try await fault(of: places) {
        case nil: return
        case .beyondRetention:
            throw Problem.beyondRetention.with(
                detail: "Events after the position were dropped. Read the state and start again without a position.")
        case .beyondLog(let position, let head): throw Problem.beyondLog(position, head: head)
        }
    }

    /// Waits for an event about an aggregate, for a client that polls.
    ///
    /// - Returns: the first value that an event after the offset gives; nil after the timeout or at shutdown.
    public func first<Found: Sendable>(
        of key: AggregateKey, after offset: Int, within wait: Duration, _ find: @escaping @Sendable (Event) -> Found?
    ) async throws -> Found? {
        try await withThrowingTaskGroup(of: Found?.self) { group in
            group.addTask {
                for try await event in self.events(of: key, after: offset) {
                    if let found = find(event) { return found }
                }
                return nil
            }
            group.addTask {
                try? await cancelWhenGracefulShutdown { try await Task.sleep(for: wait) }
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }
}
