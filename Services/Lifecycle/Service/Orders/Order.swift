import Contracts
import HTTPKit
import Records
import Timeline

/// An order to a device: a view of one event of the log. Delivery is at least once. A repeated order has the same
/// `order`.
struct Order: Record {
    enum Kind: String, WireEnum {
        case callback, wake, expiration, suspend, terminate, challenge, transferProgress, taskExpiration
    }

    var app = ""
    var data: JSON = [:]
    /// The time by which the device must complete it; nil without a limit.
    var deadline: Nullable<Instant> = nil
    var device = ""
    var issuedAt = Instant.epoch
    /// The callback to call. If there are several, it is the last one, which has the deadline. `data.callbacks` has all
    /// of them in order.
    var name = ""
    /// `partition:offset` of the event.
    var order = ""
    var type = Kind.callback

    /// Creates the order that an event gives; nil if it gives none.
    init?(_ event: Event) {
        guard let device = event.key.device, let app = event.app,
            let content = Self.givers[event.source]?.orderContent(by: event)
        else { return nil }
        order = "\(event.partition):\(event.offset)"
        self.device = device
        type = content.type
        self.app = app
        name = content.name
        issuedAt = event.time
        deadline = content.deadline
        data = .object(content.data)
    }

    /// The event of the device's stream.
    ///
    /// - Parameter event: the event that gives the order.
    func serverSentEvent(of event: Event) -> ServerSentEvent {
        ServerSentEvent(id: order, data: text, delivers: DeliveredEvent(event))
    }
    var text: String { String(decoding: jsonBytes, as: UTF8.self) }
}

/// A page of orders, for clients that poll.
struct OrderList: Record {
    /// The most orders in one answer.
    static let limit = 100

    var items: [Order]
    /// The value of `?after=` for the next page.
    var next: String
}
