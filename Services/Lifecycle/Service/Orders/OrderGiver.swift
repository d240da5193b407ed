import Contracts
import Records
import Timeline

/// The events of a service, some of which tell a device's code what to do. One file a service says which and what:
/// `Order+<Service>.swift`; ``Order/givers`` lists them.
///
/// A view of one event at a time: whether the app runs, so that there is code to be told, is the device's to know.
protocol OrderGiver: EventFamily {
    /// The types of the events that may give an order. All others are passed over unread.
    static var orderTypes: Set<String> { get }
    /// What this event orders; nil where it orders nothing.
    var told: Told? { get }
}

extension OrderGiver {
    /// What an event of this service orders; nil where it orders nothing, or is of a version that is not known here.
    static func told(by event: Event) -> Told? {
        guard orderTypes.contains(event.type) else { return nil }
        return (try? Self(type: event.type, version: event.version, data: event.data))?.told
    }
}

extension Order {
    /// The services whose events give orders, by the events' source.
    static let givers: [String: any OrderGiver.Type] = [
        LifecycleEvent.source: LifecycleEvent.self,
        PushEvent.source: PushEvent.self,
        TransferEvent.source: TransferEvent.self,
    ]

    /// Whether an event may give an order, by its type alone.
    static func isGiven(by event: Event) -> Bool {
        givers[event.source]?.orderTypes.contains(event.type) ?? false
    }
}

/// What an event orders.
struct Told {
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

    /// Callbacks to deliver, in order.
    init?(_ callbacks: [String], deadline: Instant? = nil, _ data: [JSON.Member] = []) {
        guard let last = callbacks.last else { return nil }
        self.init(
            .callback, last, deadline: deadline, [.init("callbacks", .array(callbacks.map { .string($0) }))] + data)
    }
}
