import Contracts
import Records
import Timeline

extension IncomingPush {
    /// The broadcast channel that it subscribes its device to: the `input-push-channel` of a started Live Activity.
    public var startChannel: String? { pushType == .liveactivity ? LiveActivityPush(payload)?.channel : nil }
}

/// The `aps` object of a push for a Live Activity.
struct LiveActivityPush {
    enum Event: String { case start, update, end }

    var event: Event
    /// Whether the device alerts the user of it.
    var alerts: Bool
    var timestamp: Int
    var contentState: JSON?
    var attributesType: String?
    private var aps: JSON

    /// Reads a payload; nil if it lacks what its event needs.
    init?(_ payload: JSON) {
        guard let aps = payload["aps"], let event = aps["event"]?.string.flatMap(Event.init),
            let timestamp = aps["timestamp"]?.int, timestamp >= 0
        else { return nil }
        self.aps = aps
        self.event = event
        self.timestamp = timestamp
        contentState = aps["content-state"].flatMap { $0.members == nil ? nil : $0 }
        attributesType = aps["attributes-type"]?.string
        alerts = aps["alert"]?.members?.isEmpty == false || aps["alert"]?.string?.isEmpty == false
        switch event {
        case .start:
            guard contentState != nil, attributesType != nil, aps["attributes"]?.members != nil, alerts else {
                return nil
            }
        case .update: guard contentState != nil else { return nil }
        case .end: break
        }
    }

    /// The broadcast channel that a started activity subscribes to; nil for an activity with a token.
    var channel: String? { event == .start ? Self.channel(of: aps) : nil }

    static func channel(of aps: JSON) -> String? {
        aps["input-push-channel"]?.string.flatMap { (1...64).contains($0.utf8.count) ? $0 : nil }
    }

    /// Returns the suite time of a date of the payload. Dates and the timestamp have the provider's clock, so their
    /// difference counts from now.
    func date(_ name: String, at now: Instant) -> Instant? {
        guard let date = aps[name]?.int else { return nil }
        let (delay, isTooFar) = date.subtractingReportingOverflow(timestamp)
        let month = 30 * 86_400
        return now + .seconds(Int64(isTooFar ? (date < 0 ? -month : month) : max(-month, min(month, delay))))
    }
}
