import Contracts
import OrderedCollections
import PushMachine
import Records
import Timeline

/// A notification in the stream, in a poll and in the answer to a keep-alive.
struct NotificationDocument: Record {
    var id = ""
    var apnsID = ""
    var app = ""
    var pushType = PushType.alert
    var priority = 10
    /// The channel of a broadcast.
    var channel: String?
    var collapseID: String?
    var payload = JSON.null
    var fromStorage = false
    var silent = false
    var deliveredAt = Instant.epoch

    init() {}

    init(_ id: String, _ message: PushMessage) {
        self.id = id
        apnsID = message.apnsID
        app = message.app
        pushType = message.pushType
        priority = message.priority
        channel = message.channel
        collapseID = message.collapseID
        payload = message.payload
        fromStorage = message.fromStorage
        silent = message.silent
        deliveredAt = message.deliveredAt ?? .epoch
    }

    init(_ event: PushEvent.NotificationDelivered, at time: Instant) {
        id = event.notification
        apnsID = event.apnsID
        app = event.app ?? ""
        pushType = event.pushType
        priority = event.priority
        channel = event.channel
        collapseID = event.collapseID
        payload = event.payload
        fromStorage = event.fromStorage
        silent = event.silent
        deliveredAt = time
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("apnsID", &apnsID)
        fields.field("app", &app)
        fields.omittable("channel", &channel)
        fields.field("collapseID", &collapseID)
        fields.field("deliveredAt", &deliveredAt)
        fields.field("fromStorage", &fromStorage)
        fields.field("id", &id)
        fields.field("payload", &payload)
        fields.field("priority", &priority)
        fields.field("pushType", &pushType)
        fields.field("silent", &silent)
    }
}

struct NotificationList: Record {
    var items: [NotificationDocument] = []

    init() {}

    /// The notifications that the device received and has not acknowledged.
    init(inFlight state: PushMachine) {
        items = state.messages.filter { $0.value.place == .inFlight }.map { NotificationDocument($0.key, $0.value) }
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) { fields.field("items", &items) }
}

/// The timeline of a notification.
struct TimelineDocument: Record {
    struct Entry: Record {
        var status = ConsoleStatus.received
        var at = Instant.epoch
        var cause: String?
        var until: Instant?

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("at", &at)
            fields.omittable("cause", &cause)
            fields.field("status", &status)
            fields.omittable("until", &until)
        }
    }

    var id = ""
    var apnsID = ""
    var app = ""
    var channel: String?
    var statuses: [Entry] = []

    init() {}

    init(_ id: String, _ history: [(event: PushEvent, time: Instant)]) {
        self.id = id
        for (event, time) in history {
            if case .notificationReceived(let received) = event {
                apnsID = received.apnsID
                app = received.app ?? ""
                channel = received.channel
            }
            guard let status = event.status else { continue }
            var entry = Entry()
            entry.status = status.status
            entry.at = time
            entry.cause = status.cause
            entry.until = status.until
            statuses.append(entry)
        }
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("apnsID", &apnsID)
        fields.field("app", &app)
        fields.omittable("channel", &channel)
        fields.field("id", &id)
        fields.field("statuses", &statuses)
    }
}
