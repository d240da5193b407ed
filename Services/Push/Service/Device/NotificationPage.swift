import Contracts
import Records
import Timeline

/// A notification and its latest status.
struct NotificationItem: Record {
    var apnsID = ""
    /// The time of ``status``.
    var at = Instant.epoch
    /// `apns-unique-id`.
    var id = ""
    var priority = 10
    var pushType = PushType.alert
    var receivedAt = Instant.epoch
    /// The latest status.
    var status = ConsoleStatus.received
    var topic = ""

    init(
        _ event: PushEvent.NotificationReceived, at time: Instant,
        _ last: (status: NotificationStatus, time: Instant)?
    ) {
        id = event.notification
        apnsID = event.apnsID
        pushType = event.pushType
        priority = event.priority
        topic = event.topic
        receivedAt = time
        status = last?.status.status ?? event.status
        at = last?.time ?? time
    }
}
