import Foundation
import Synchronization
public import Timeline

/// The time zone database of the system. Zones are cached, because machines look them up for every slot.
public final class TimeZones: Sendable {
    private let known = Mutex<[String: TimeZone]>([:])
    // Callers choose the names, so the cache is limited to more than the number of zones.
    private static let limit = 1024

    public init() {}

    /// Returns the seconds east of UTC; 0 for unknown names.
    public func offset(_ name: String, at moment: Instant) -> Int {
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
