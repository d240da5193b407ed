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

    /// Whether the suite answers the orders to the device's apps, while no client does.
    public var answersItself: Bool { answers.by == .suite }

    /// The time for which the person uses an app after opening one of its notifications. Our choice.
    public static let usage = Interval.minutes(1)
}

/// The answers of the apps on a built-in device.
public struct BuiltInAnswers: Record, Equatable {
    /// The time in seconds from the call of a handler to its return. A handler that takes longer than its limit misses
    /// the limit.
    public var after: Defaulted<Interval> = Interval.seconds(1)
    /// The one who answers.
    public var by: Defaulted<BuiltInAnswerer> = BuiltInAnswerer.suite
    /// The result of wakes. A task succeeds unless it is `failed`.
    public var result: Defaulted<WakeResult> = WakeResult.newData

    enum Constraints {
        static let after: Constraint<Interval> = .answerTime
    }
}

/// The one who answers the orders to the apps of a built-in device.
public enum BuiltInAnswerer: String, WireEnum {
    /// The suite, while no client holds the device's stream of orders.
    case suite
    /// A client, always. Only the transfers of the device are built-in, and its connection to `push` if it is `online`.
    case client
}

/// The reaction of the person to a notification that a built-in device shows.
public enum NotificationOpening: String, WireEnum {
    case never
    /// The person opens each notification as soon as the device shows it.
    case atOnce
}

/// The modelled transfers of a built-in device. Bytes move at the rate of its network, in suite time. No server gets a
/// request, and the files of the downloads have no bytes. Each modelled server can resume downloads and uploads.
public struct BuiltInTransfers: Record, Equatable {
    /// The size in bytes of a download whose task states no `countOfBytesClientExpectsToReceive`.
    public var bytes: Defaulted<Int> = 1_000_000
    /// The status of an informational response before each response, from iOS 17; none if missing.
    public var informationalStatus: Int?
    /// The rates of the networks. Without them, they are those of Apple's Network Link Conditioner.
    public var rates: TransferRates?
    /// Servers that differ from the others; at most 256. The first one whose `url` begins the URL of a task applies.
    public var servers: Defaulted<[ModelledServer]> = []

    enum Constraints {
        static let bytes: Constraint<Int> = .range(0...1_000_000_000_000)
        static let informationalStatus: Constraint<Int> = .range(102...199)
        static let servers: Constraint<[ModelledServer]> = .count(0...256)
    }
}

/// A server of modelled transfers.
public struct ModelledServer: Record, Equatable {
    /// The probability that the server cuts the connection of an attempt after half of the bytes, from 0 to 1.
    public var failures: Defaulted<Double> = 0.0
    /// The beginning of the URLs of the server.
    public var url = ""

    enum Constraints {
        static let failures: Constraint<Double> = .range(0...1)
        static let url: Constraint<String> = .text(1...512)
    }
}

/// The rates of modelled transfers in bytes per second, in both directions. A network without a member has the rate of
/// Apple's Network Link Conditioner.
public struct TransferRates: Record, Equatable {
    public var edge: Int?
    public var fifthGeneration: Int?
    public var lossy: Int?
    /// The rate of LTE, and of a cellular connection without a shape.
    public var lte: Int?
    public var thirdGeneration: Int?
    public var wifi: Int?

    public init() {}
    public static var placeholder: TransferRates { TransferRates() }

    // Written by hand, because `3g` and `5g` are no names of properties.
    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.optional("3g", &thirdGeneration, .rate)
        fields.optional("5g", &fifthGeneration, .rate)
        fields.optional("edge", &edge, .rate)
        fields.optional("lossy", &lossy, .rate)
        fields.optional("lte", &lte, .rate)
        fields.optional("wifi", &wifi, .rate)
    }

    /// Returns the rate of a network in bytes per second; nil if it has none here.
    public subscript(shape: NetworkShape) -> Int? {
        switch shape {
        case .edge: edge
        case .thirdGeneration: thirdGeneration
        case .lte: lte
        case .fifthGeneration: fifthGeneration
        case .wifi: wifi
        case .lossy: lossy
        }
    }
}

extension Constraint where T == Int {
    /// From 1 byte to 1 TB per second.
    fileprivate static var rate: Constraint<Int> { .range(1...1_000_000_000_000) }
}

extension Constraint where T == Interval {
    /// From 0 to an hour: longer than each limit of a handler.
    fileprivate static var answerTime: Constraint<Interval> {
        Constraint(
            "must be from 0 to 3600 seconds", keywords: [("minimum", .double(0)), ("maximum", .double(3600))]
        ) { (.zero)...(.hours(1)) ~= $0 }
    }
}
