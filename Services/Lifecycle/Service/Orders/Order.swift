import Contracts
import Records
import ServiceKit
import Timeline

/// What a device is told to do: a view of one event of the log. At least once; repeats carry the same `order`.
struct Order: Record {
    enum Kind: String, Word { case callback, wake, expiration, suspend, terminate }

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
        guard event.source == LifecycleEvent.source, let device = event.key.device, let app = event.app,
            let own = try? LifecycleEvent(type: event.type, version: event.version, data: event.data),
            let told = own.told
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

private struct Told {
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
    init?(_ callbacks: [Callback], deadline: Instant? = nil, _ data: [JSON.Member] = []) {
        guard let last = callbacks.last else { return nil }
        self.init(.callback, last.rawValue, deadline: deadline, [.init(callbacks)] + data)
    }
}

extension JSON.Member {
    fileprivate init(_ callbacks: [Callback]) {
        self.init("callbacks", .array(callbacks.map { .string($0.rawValue) }))
    }
}

extension LifecycleEvent {
    fileprivate var told: Told? {
        switch self {
        case .appLaunched(let event): Told(event.callbacks, deadline: event.deadline)
        case .appActivated(let event): Told(event.callbacks)
        case .appResigned(let event): Told(event.callbacks, [.init("cause", .string(event.cause.rawValue))])
        case .appBackgrounded(let event):
            Told(
                event.callbacks, deadline: event.deadline,
                [
                    .init("cause", .string(event.cause.rawValue)),
                    .init("taskSeconds", .double(event.taskTime.seconds)),
                ])
        case .appTerminating(let event):
            Told(event.callbacks, deadline: event.deadline, [.init("reason", .string(event.reason.rawValue))])
        case .appWoken(let event): event.told
        case .taskExpiring(let event):
            Told(.expiration, "expirationHandler", deadline: event.deadline, [.init("task", .string(event.task))])
        case .appSuspended: Told(.suspend, "suspend", [])
        case .appTerminated(let event): event.told
        case .deviceRegistered, .deviceUpdated, .deviceDeregistered, .deviceRevoked, .devicePowered,
            .conditionsChanged, .settingsChanged, .appInstalled, .appUninstalled, .appPrewarmed, .callbackCompleted,
            .taskBegun, .taskEnded, .wakeCompleted, .wakeRefused:
            nil
        }
    }
}

extension LifecycleEvent.AppWoken {
    fileprivate var told: Told {
        Told(
            .wake, callbacks.last?.rawValue ?? reason.rawValue, deadline: deadline,
            [
                .init(callbacks), .init("limitSeconds", .double(limit.seconds)), .init("payload", payload ?? .null),
                .init("reason", .string(reason.rawValue)), .init("request", request.map { .string($0) } ?? .null),
                .init("wake", .string(wake)),
            ])
    }
}

extension LifecycleEvent.AppTerminated {
    /// Nil where there was no process to end: the switcher's entry alone went.
    fileprivate var told: Told? {
        guard from != .notRunning else { return nil }
        return Told(
            .terminate, "terminate",
            [
                .init(callbacks), .init("code", code.map { .string($0.rawValue) } ?? .null),
                .init("from", .string(from.rawValue)), .init("reason", .string(reason.rawValue)),
            ])
    }
}
