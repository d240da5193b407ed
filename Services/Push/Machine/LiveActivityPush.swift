import Records
import Timeline

/// The `aps` object of a push for a Live Activity.
struct LiveActivityPush {
    enum Event: String { case start, update, end }

    var event: Event
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
        switch event {
        case .start:
            guard contentState != nil, attributesType != nil, aps["attributes"]?.members != nil else { return nil }
        case .update: guard contentState != nil else { return nil }
        case .end: break
        }
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
