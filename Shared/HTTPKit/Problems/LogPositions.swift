public import EventLog
import HTTPTypes

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
}
