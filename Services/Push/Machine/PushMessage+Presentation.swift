import Contracts
import Records

// The keys of a payload that decide how a device presents an alert (Apple, "Generating a remote notification").
extension PushMessage {
    /// Returns the interruption level of a payload; `active` without a known one. The flag `critical` of a sound means a
    /// critical alert.
    static func interruptionLevel(_ payload: JSON) -> InterruptionLevel {
        let aps = payload["aps"]
        if let level = aps?["interruption-level"]?.string.flatMap({ InterruptionLevel(rawValue: $0) }) { return level }
        return hasCriticalSound(payload) ? .critical : .active
    }

    /// Whether the sound has the flag `critical`. Only before its acknowledgement is the payload known.
    var hasCriticalSound: Bool { Self.hasCriticalSound(payload) }

    private static func hasCriticalSound(_ payload: JSON) -> Bool {
        payload["aps"]?["sound"]?["critical"]?.int == 1
    }

    /// Returns the number for the icon of the app; nil if the payload has none, or one that is out of range.
    static func badge(_ payload: JSON) -> Int? {
        payload["aps"]?["badge"]?.int.flatMap { (0...1_000_000).contains($0) ? $0 : nil }
    }

    /// Returns the relevance score of a payload; nil without one from 0 to 1.
    static func relevanceScore(_ payload: JSON) -> Double? {
        payload["aps"]?["relevance-score"]?.double.flatMap { (0...1).contains($0) ? $0 : nil }
    }

    /// Returns the thread of a payload. A longer identifier than 128 characters is ignored (our choice).
    static func threadID(_ payload: JSON) -> String? {
        payload["aps"]?["thread-id"]?.string.flatMap { (1...128).contains($0.unicodeScalars.count) ? $0 : nil }
    }
}
