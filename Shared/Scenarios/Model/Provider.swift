public import Contracts
public import Records
import Timeline

/// The provider: a list of sends, or `external` if another system sends to the tokens of the devices.
public enum Provider: Value, Equatable {
    case sends([Send])
    case external

    /// The sends of the file; none if the provider is external.
    public var sends: [Send] {
        switch self {
        case .sends(let sends): sends
        case .external: []
        }
    }

    public static var placeholder: Provider { .sends([]) }
    public static var schema: JSON {
        ["anyOf": [["const": "external"], ["type": "array", "items": Send.schema, "maxItems": 256]]]
    }

    public func write(to binary: inout BinaryWriter) {
        (self == .external).write(to: &binary)
        sends.write(to: &binary)
    }

    public static func read(from binary: inout BinaryReader) -> Provider {
        let isExternal = Bool.read(from: &binary)
        let sends = [Send].read(from: &binary)
        return isExternal ? .external : .sends(sends)
    }

    public func write(to json: inout JSONWriter) {
        switch self {
        case .sends(let sends): sends.write(to: &json)
        case .external: json.write("external")
        }
    }

    public static func read(_ json: JSON, _ reader: inout JSONReader) -> Provider? {
        if json.string == "external" { return .external }
        guard let items = json.items, items.count <= 256 else {
            reader.fault("must be external or an array of at most 256 sends")
            return nil
        }
        return [Send].read(json, &reader).map { .sends($0) }
    }
}

/// Pushes that the provider sends at one time, or again and again.
///
/// A send at `at` reaches every device of `to`. With `every`, it repeats from `at` until `until` of the same day. With
/// `over`, the provider needs this time to send to all devices, in random order.
public struct Send: Record, Equatable {
    /// The content of a push.
    public enum Content: String, WireEnum {
        /// `apns-push-type: alert` with an alert.
        case alert
        /// `apns-push-type: background` with `content-available: 1` alone.
        case silent
        /// An alert with `content-available: 1`.
        case alertWithContent
        /// `apns-push-type: pushtotalk`.
        case pushToTalk
        /// `apns-push-type: voip`.
        case voip
    }

    /// The app; the first app of the scenario if missing.
    public var app: String?
    /// When the provider sends, in its time zone: that of most devices.
    public var at: DailyTime
    /// `apns-collapse-id`, at most 64 bytes.
    public var collapseID: String?
    /// The interval of repetitions, at least 1 second.
    public var every: TimeSpan?
    /// `apns-expiration` as time after the sending; 0s for one attempt. Without it, the service stores for its maximum.
    public var expiration: TimeSpan?
    /// `interruption-level` of an alert.
    public var interruptionLevel: InterruptionLevel?
    /// `mutable-content: 1`: the service extension of the app may change an alert.
    public var mutableContent: Defaulted<Bool> = false
    /// The time from the first device to the last, at most 1 day.
    public var over: TimeSpan?
    /// Members of the payload beside `aps`, at most 3 KiB.
    public var payload: JSON?
    /// `apns-priority`: 5 or 10. Without it, 5 for silent pushes and 10 for others.
    public var priority: Int?
    public var send: Send.Content
    public var to: Defaulted<Audience> = .all
    /// The end of the repetitions of a day. The default is midnight.
    public var until: Defaulted<ClockTime> = ClockTime.endOfDay

    enum Constraints {
        static let collapseID: Constraint<String> = .text(1...64)
        static let every: Constraint<TimeSpan> = .span(.seconds(1)...(.days(1)))
        static let expiration: Constraint<TimeSpan> = .span(.zero...(.days(30)))
        static let over: Constraint<TimeSpan> = .span(.zero...(.days(1)))
        static let payload: Constraint<JSON> = .payload
        static let priority: Constraint<Int> = Constraint("must be 5 or 10", keywords: [("enum", [5, 10])]) {
            $0 == 5 || $0 == 10
        }
    }
}

extension Constraint where T == JSON {
    /// An object of at most 3 KiB without `aps`.
    fileprivate static var payload: Constraint<JSON> {
        Constraint(
            "must be an object of at most 3072 bytes without the member aps",
            keywords: [("type", "object"), ("not", ["required": ["aps"]])]
        ) { $0.members != nil && $0["aps"] == nil && $0.bytes.count <= 3072 }
    }
}
