public import Records
public import Timeline

/// A position in the log of the suite.
public struct Position: Sendable, Hashable {
    public var partition: Int
    public var offset: Int
    /// The incarnation of the log with its dot; empty in the first one. The identifiers of orders do not have it, so
    /// comparisons ignore it.
    private let incarnation: String

    /// The text for requests.
    public var text: String { "\(incarnation)\(partition):\(offset)" }

    /// Parses `partition:offset`, after an incarnation and a dot if there is a dot. A further colon and the text after
    /// it are ignored.
    public init?(_ text: some StringProtocol) {
        let start = text.firstIndex(of: ".").map(text.index(after:)) ?? text.startIndex
        let numbers = text[start...].split(separator: ":", maxSplits: 2)
        guard numbers.count >= 2, let partition = Int(numbers[0]), let offset = Int(numbers[1]) else { return nil }
        self.partition = partition
        self.offset = offset
        incarnation = String(text[..<start])
    }

    public static func == (one: Position, other: Position) -> Bool {
        one.partition == other.partition && one.offset == other.offset
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(partition)
        hasher.combine(offset)
    }
}

/// An order of the suite to a device, as the order stream delivers it.
public struct Order: Sendable, Equatable {
    /// The kinds of orders.
    public enum Kind: String, Sendable, CaseIterable {
        case callback, wake, expiration, suspend, terminate, challenge, transferProgress, taskExpiration
    }

    /// The `partition:offset` of its event.
    public var identifier: String
    public var device: String
    public var app: String
    public var kind: Kind
    /// The callback, handler or task. With several callbacks, the last, to which the deadline applies.
    public var name: String
    /// The callbacks to call, in order.
    public var callbacks: [String]
    /// The suite time of its event.
    public var issuedAt: Instant?
    /// Whether the order needs an answer before a deadline.
    public var wantsAnswer: Bool
    public var data: JSON

    /// The position of its event; nil if the identifier has another format.
    public var position: Position? { Position(identifier) }

    /// Parses an order. Returns nil for other documents and for unknown kinds.
    public init?(_ document: JSON) {
        guard let identifier = document["order"]?.string, let device = document["device"]?.string,
            let kind = document["type"]?.string.flatMap({ Kind(rawValue: $0) })
        else { return nil }
        self.identifier = identifier
        self.device = device
        self.kind = kind
        app = document["app"]?.string ?? ""
        name = document["name"]?.string ?? ""
        let names = document["data"]?["callbacks"]?.items?.compactMap(\.string)
        callbacks = names ?? (kind == .callback ? [name] : [])
        issuedAt = document["issuedAt"]?.string.flatMap { Instant($0) }
        wantsAnswer = document["deadline"]?.string != nil
        data = document["data"] ?? .null
    }

    /// Distinguishes the orders of one event.
    var key: String { "\(kind.rawValue) \(app) \(name) \(subject ?? "")" }

    /// The wake, task, challenge or session in the data.
    var subject: String? {
        for member in ["wake", "task", "challenge", "session"] {
            if let text = data[member]?.string { return text }
            if let number = data[member]?.int { return String(number) }
        }
        return nil
    }
}

/// A notification as `push` delivers it to a device.
public struct DeliveredNotification: Sendable, Equatable {
    public var identifier: String
    public var app: String
    /// The category, whose actions the user may choose; nil without one.
    public var category: String?
    /// Whether the device neither lights up its screen nor plays a sound.
    public var isQuiet: Bool
    public var isSilent: Bool
    /// Whether it goes to the code of its app, and never to the user.
    public var isForApp: Bool
    /// Whether the service extension of the app may change the content.
    public var runsExtension: Bool
    /// Whether the app is on screen, so that its `willPresent` decides about an alert.
    public var willPresent: Bool
    /// Whether it also asks for a wake of the app: `content-available` in an alert.
    public var wakes: Bool
    /// The suite time of the delivery.
    public var deliveredAt: Instant?

    /// Parses a notification. Returns nil for other documents.
    public init?(_ document: JSON) {
        guard let identifier = document["id"]?.string, let app = document["app"]?.string else { return nil }
        self.identifier = identifier
        self.app = app
        category = document["payload"]?["aps"]?["category"]?.string
        isQuiet = document["quiet"]?.bool ?? false
        isSilent = document["silent"]?.bool ?? false
        isForApp = ["pushtotalk", "voip"].contains(document["pushType"]?.string)
        wakes = !isSilent && document["payload"]?["aps"]?["content-available"]?.int == 1
        deliveredAt = document["deliveredAt"]?.string.flatMap { Instant($0) }
        runsExtension = document["extensionDeadline"]?.string != nil
        willPresent = document["willPresent"]?.bool ?? false
    }
}
