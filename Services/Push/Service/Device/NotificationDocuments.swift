import Contracts
import OrderedCollections
import PushCore
import Records
import Timeline

/// A notification in the stream, in a poll and in the answer to a keep-alive.
struct NotificationDocument: Record {
    var apnsID = ""
    var app = ""
    /// The channel of a broadcast.
    var channel: String?
    var collapseID: Nullable<String> = nil
    var deliveredAt = Instant.epoch
    /// The device, in the stream of a fleet.
    var device: String?
    /// The time until which the service extension of the app may change the content; nil if it does not run.
    var extensionDeadline: Instant?
    var fromStorage = false
    var id = ""
    var payload = JSON.null
    var priority = 10
    var pushType = PushType.alert
    /// Whether the device adds the alert to the Notification Center without lighting up the screen or a sound.
    var quiet = false
    var silent = false
    /// Whether the app is on screen, so that its `willPresent` decides whether the device shows the notification.
    var willPresent = false

    init(_ id: String, _ message: PushMessage) {
        self.id = id
        apnsID = message.apnsID
        app = message.app
        pushType = message.pushType
        priority = message.priority
        channel = message.channel
        collapseID = message.collapseID
        extensionDeadline = message.extensionDeadline
        payload = message.payload
        fromStorage = message.fromStorage
        quiet = message.quiet
        silent = message.silent
        deliveredAt = message.deliveredAt ?? .epoch
        willPresent = message.willPresent
    }

    init(_ event: PushEvent.NotificationDelivered, at time: Instant) {
        id = event.notification
        apnsID = event.apnsID
        app = event.app ?? ""
        pushType = event.pushType
        priority = event.priority
        channel = event.channel
        collapseID = event.collapseID
        extensionDeadline = event.extensionDeadline
        payload = event.payload
        fromStorage = event.fromStorage
        quiet = event.quiet
        silent = event.silent
        deliveredAt = time
        willPresent = event.willPresent
    }
}

struct NotificationList: Record {
    var items: [NotificationDocument] = []

    /// The notifications that the device received and has not acknowledged.
    init(inFlight state: PushMachine) {
        items = state.messages.filter { $0.value.stage == .inFlight }.map { NotificationDocument($0.key, $0.value) }
    }

    /// The notifications that a command delivered.
    init(delivered events: [PushEvent], at time: Instant) {
        for case .notificationDelivered(let event) in events { items.append(NotificationDocument(event, at: time)) }
    }
}

/// The result of a service extension.
struct ModificationDocument: Record {
    /// Whether the device shows the changed content.
    var isModified = false
    /// Whether the app is on screen, so that its `willPresent` decides next.
    var willPresent = false

    /// Reads the result from the events of a command.
    init(_ events: [PushEvent]) {
        for event in events {
            switch event {
            case .notificationModified(let event): (isModified, willPresent) = (true, event.willPresent)
            case .notificationUnmodified(let event): willPresent = event.willPresent
            default: break
            }
        }
    }
}

/// The timeline of a notification.
struct TimelineDocument: Record {
    struct Entry: Record {
        var at = Instant.epoch
        var cause: String?
        /// The changes of the service extension.
        var content: NotificationContent?
        var status = ConsoleStatus.received
        var until: Instant?
    }

    var apnsID = ""
    var app = ""
    var channel: String?
    var id = ""
    var statuses: [Entry] = []

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
            if case .notificationModified(let modified) = event { entry.content = modified.content }
            entry.until = status.until
            statuses.append(entry)
        }
    }
}
