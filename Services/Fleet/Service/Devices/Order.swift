public import Records

/// A place in the log of the suite.
public struct Position: Sendable, Hashable {
    public var partition: Int
    public var offset: Int

    /// Reads `partition:offset`; what follows another colon is passed over.
    public init?(_ text: some StringProtocol) {
        let numbers = text.split(separator: ":", maxSplits: 2)
        guard numbers.count >= 2, let partition = Int(numbers[0]), let offset = Int(numbers[1]) else { return nil }
        self.partition = partition
        self.offset = offset
    }
}

/// What the suite orders a device to do, as the order stream tells it.
public struct Order: Sendable, Equatable {
    /// The kinds of orders.
    public enum Kind: String, Sendable, CaseIterable {
        case callback, wake, expiration, suspend, terminate, challenge, transferProgress, taskExpiration
    }

    /// `partition:offset` of the event that gave it.
    public var identifier: String
    public var device: String
    public var app: String
    public var kind: Kind
    /// The callback, the handler, the task: what it is about. Of several callbacks the last, which the deadline binds.
    public var name: String
    /// The callbacks that it delivers, in order.
    public var callbacks: [String]
    /// Whether an answer is asked for by a deadline.
    public var wantsAnswer: Bool
    public var data: JSON

    /// The place of the event that gave it; nil where the identifier is of another shape.
    public var position: Position? { Position(identifier) }

    /// Reads an order. Nil where it is not one, or of a kind that this simulator does not know.
    public init?(_ document: JSON) {
        guard let identifier = document["order"]?.string, let device = document["device"]?.string,
            let kind = document["type"]?.string.flatMap({ Kind(rawValue: $0) })
        else { return nil }
        self.identifier = identifier
        self.device = device
        self.kind = kind
        app = document["app"]?.string ?? ""
        name = document["name"]?.string ?? ""
        let told = document["data"]?["callbacks"]?.items?.compactMap(\.string)
        callbacks = told ?? (kind == .callback ? [name] : [])
        wantsAnswer = document["deadline"]?.string != nil
        data = document["data"] ?? .null
    }

    /// What tells it from other orders of the same event.
    var key: String { "\(kind.rawValue) \(app) \(name) \(subject ?? "")" }

    /// The thing that the order names: a wake, a task, a challenge.
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
    public var isSilent: Bool

    public init?(_ document: JSON) {
        guard let identifier = document["id"]?.string, let app = document["app"]?.string else { return nil }
        self.identifier = identifier
        self.app = app
        isSilent = document["silent"]?.bool ?? false
    }
}
