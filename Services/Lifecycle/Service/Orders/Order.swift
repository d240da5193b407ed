import Contracts
import Records
import ServiceKit
import Timeline

/// An order to a device: a view of one event of the log. Delivery is at least once. A repeated order has the same
/// `order`.
struct Order: Record {
    enum Kind: String, Word {
        case callback, wake, expiration, suspend, terminate, challenge, transferProgress, taskExpiration
    }

    /// `partition:offset` of the event.
    var order = ""
    var device = ""
    var type = Kind.callback
    var app = ""
    /// The callback to call. If there are several, it is the last one, which has the deadline. `data.callbacks` has all
    /// of them in order.
    var name = ""
    var issuedAt = Instant.epoch
    /// The time by which the device must complete it; nil without a limit.
    var deadline: Instant?
    var data: JSON = [:]

    init() {}

    /// Creates the order that an event gives; nil if it gives none.
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

    /// The event of the device's stream.
    var serverSentEvent: ServerSentEvent { ServerSentEvent(id: order, data: text) }
    var text: String { String(decoding: jsonBytes, as: UTF8.self) }
}

/// A page of orders, for clients that poll.
struct OrderList: Record {
    /// The most orders in one answer.
    static let limit = 100

    var items: [Order] = []
    /// The value of `?after=` for the next page.
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
