import Contracts
import Records
import Timeline

/// The events of a service, some of which give orders to a device. `Order+<Service>.swift` defines them for each
/// service, and ``Order/givers`` lists the services.
///
/// An order depends on one event alone. The device decides whether the app can run code.
protocol OrderGiver: EventFamily {
    /// The types of events that may give an order. All others are skipped without decoding.
    static var orderTypes: Set<String> { get }
    /// The order that this event gives, if any.
    var orderContent: OrderContent? { get }
}

extension OrderGiver {
    /// Returns the order of an event; nil if it gives none, or if its version is unknown.
    static func orderContent(by event: Event) -> OrderContent? {
        guard orderTypes.contains(event.type) else { return nil }
        return (try? Self(type: event.type, version: event.version, data: event.data))?.orderContent
    }
}

extension Order {
    /// The services whose events give orders, by event source.
    static let givers: [String: any OrderGiver.Type] = [
        LifecycleEvent.source: LifecycleEvent.self,
        PushEvent.source: PushEvent.self,
        TransferEvent.source: TransferEvent.self,
    ]

    /// Returns whether an event of this type may give an order.
    static func isGiven(by event: Event) -> Bool {
        givers[event.source]?.orderTypes.contains(event.type) ?? false
    }
}

/// The content of an order.
struct OrderContent {
    var type: Order.Kind
    var name: String
    var deadline: Instant?
    var data: [JSON.Member]

    init(_ type: Order.Kind, _ name: String, deadline: Instant? = nil, _ data: [JSON.Member]) {
        self.type = type
        self.name = name
        self.deadline = deadline
        self.data = data
    }

    /// Creates an order with callbacks, in order; nil if there are none.
    init?(_ callbacks: [String], deadline: Instant? = nil, _ data: [JSON.Member] = []) {
        guard let last = callbacks.last else { return nil }
        self.init(
            .callback, last, deadline: deadline, [.init("callbacks", .array(callbacks.map { .string($0) }))] + data)
    }
}
