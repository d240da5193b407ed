import Foundation
import Synchronization
import Timeline

/// The system's time zone database. Zones are kept once they were asked for: machines ask for every slot that they weigh.
final class TimeZones: Sendable {
    private let known = Mutex<[String: TimeZone]>([:])
    /// The names are the callers' to choose; no more than there are zones is worth keeping.
    private static let limit = 1024

    /// Seconds east of UTC; 0 for names that the database does not have.
    func offset(_ name: String, at moment: Instant) -> Int {
        zone(name).secondsFromGMT(for: Date(timeIntervalSince1970: Double(moment.milliseconds) / 1000))
    }

    private func zone(_ name: String) -> TimeZone {
        known.withLock { known in
            if let zone = known[name] { return zone }
            let zone = TimeZone(identifier: name) ?? .gmt
            if known.count < Self.limit { known[name] = zone }
            return zone
        }
    }
}
