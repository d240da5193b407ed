import Contracts
import Records
import ServiceKit
import Timeline

/// What a device is told to do: a view of one event of the log. At least once; repeats carry the same `order`.
struct Order: Record {
    enum Kind: String, Word {
        case callback, wake, expiration, suspend, terminate, challenge, transferProgress, taskExpiration
    }

    /// `partition:offset` of the event.
    var order = ""
    var device = ""
    var type = Kind.callback
    var app = ""
    /// What is to be called: of several callbacks the last, which is the one that the deadline binds. `data.callbacks` has all
    /// of them, in order.
    var name = ""
    var issuedAt = Instant.epoch
    /// When it must be done; nil where nothing limits it.
    var deadline: Instant?
    var data: JSON = [:]

    init() {}

    /// The order that an event of the log gives; nil where it gives none.
    init?(_ event: Event) {
        guard let device = event.key.device, let app = event.app, let told = Self.givers[event.source]?.told(by: event)
        else { return nil }
        order = "\(event.partition):\(event.offset)"
        self.device = device
        type = told.type
        self.app = app
        name = told.name
        issuedAt = event.time
        deadline = told.deadline
        data = .object(told.data)
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("app", &app)
        fields.field("data", &data)
        fields.field("deadline", &deadline)
        fields.field("device", &device)
        fields.field("issuedAt", &issuedAt)
        fields.field("name", &name)
        fields.field("order", &order)
        fields.field("type", &type)
    }

    /// On the stream of its device.
    var serverSentEvent: ServerSentEvent { ServerSentEvent(id: order, data: text) }
    var text: String { String(decoding: jsonBytes, as: UTF8.self) }
}

/// Orders as a document, for clients without server-sent events.
struct OrderList: Record {
    /// At most so many in one answer.
    static let limit = 100

    var items: [Order] = []
    /// What comes next follows after this: `?after=`.
    var next = ""

    init() {}

    init(items: [Order], next: String) {
        self.items = items
        self.next = next
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("items", &items)
        fields.field("next", &next)
    }
}
