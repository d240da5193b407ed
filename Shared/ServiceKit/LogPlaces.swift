public import EventLog
import HTTPTypes

extension Problem {
    /// A client's place that the log does not reach. No service ever gave out a place beyond the end, so the log was
    /// restored.
    public static let placeBeyondLog = Problem(.gone, "place_beyond_log", "The log ends before the given place")

    /// Returns the problem of a place beyond the end of the log.
    public static func beyondLog(_ place: LogPlace, head: Int) -> Problem {
        .placeBeyondLog.because(
            "\(place) is beyond the end of its partition, \(place.partition):\(head): the log was restored to an earlier point; read"
                + " the state and begin anew, without a place")
    }
}

extension LogTail {
    /// Checks that the log still has the places from which a client resumes, so that a stream skips nothing silently.
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
