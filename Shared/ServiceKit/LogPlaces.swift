public import EventLog
import HTTPTypes

extension Problem {
    /// A place of a client's that the log does not reach. Nothing beyond its end was ever told, so it was restored since.
    public static let placeBeyondLog = Problem(.gone, "place_beyond_log", "The log ends before the given place")

    /// A place beyond the end of the log.
    public static func beyondLog(_ place: LogPlace, head: Int) -> Problem {
        .placeBeyondLog.because(
            "\(place) is beyond the end of its partition, \(place.partition):\(head): the log was restored to an earlier point; read"
                + " the state and begin anew, without a place")
    }
}

extension LogTail {
    /// Holds a stream that a client resumes to what the log has: nothing is skipped without a word.
    ///
    /// - Throws: `beyond_retention`, `place_beyond_log`; the client begins anew, without a place.
    public func requireInLog(_ places: [Int: Int]) async throws {
        switch try await fault(of: places) {
        case nil: return
        case .beyondRetention:
            throw Problem.beyondRetention.because(
                "events after the given place are gone; read the state and begin anew")
        case .beyondLog(let place, let head): throw Problem.beyondLog(place, head: head)
        }
    }
}
