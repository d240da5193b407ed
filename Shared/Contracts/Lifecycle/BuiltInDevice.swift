public import Records
public import Timeline

/// The behaviour of a built-in device. The suite itself acts as the device: no client has to hold streams for it.
///
/// While a client holds the device's stream of orders, the client answers the orders. While a client is connected to
/// `push`, it gets the notifications.
public struct BuiltInDevice: Record, Equatable {
    /// The answers of the device's apps.
    public var answers: Defaulted<BuiltInAnswers> = BuiltInAnswers()
    /// Whether the device connects to `push` whenever it is powered on and has a network.
    public var online: Defaulted<Bool> = true
    /// Whether the person opens the notifications that the device shows.
    public var opens: Defaulted<NotificationOpening> = NotificationOpening.never
    /// The modelled transfers of the device; nil if transfers move real bytes.
    public var transfers: BuiltInTransfers?

    /// The time for which the person uses an app after opening one of its notifications. Our choice.
    public static let usage = Interval.minutes(1)
}

/// The answers of the apps on a built-in device.
public struct BuiltInAnswers: Record, Equatable {
    /// The time in seconds from the call of a handler to its return. A handler that takes longer than its limit misses
    /// the limit.
    public var after: Defaulted<Interval> = Interval.seconds(1)
    /// The result of wakes. A task succeeds unless it is `failed`.
    public var result: Defaulted<WakeResult> = WakeResult.newData

    enum Constraints {
        static let after: Constraint<Interval> = .answerTime
    }
}

/// The reaction of the person to a notification that a built-in device shows.
public enum NotificationOpening: String, WireEnum {
    case never
    /// The person opens each notification as soon as the device shows it.
    case atOnce
}

/// The modelled transfers of a built-in device. Bytes move at the rate of its network, in suite time. No server gets a
/// request, and the files of the downloads have no bytes.
public struct BuiltInTransfers: Record, Equatable {
    /// The size in bytes of a download whose task states no `countOfBytesClientExpectsToReceive`.
    public var bytes: Defaulted<Int> = 1_000_000
    /// The status of an informational response before each response, from iOS 17; none if missing.
    public var informationalStatus: Int?

    enum Constraints {
        static let bytes: Constraint<Int> = .range(0...1_000_000_000_000)
        static let informationalStatus: Constraint<Int> = .range(102...199)
    }
}

extension Constraint where T == Interval {
    /// From 0 to an hour: longer than each limit of a handler.
    fileprivate static var answerTime: Constraint<Interval> {
        Constraint(
            "must be from 0 to 3600 seconds", keywords: [("minimum", .double(0)), ("maximum", .double(3600))]
        ) { (.zero)...(.hours(1)) ~= $0 }
    }
}
