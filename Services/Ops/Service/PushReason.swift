import Contracts
import EventLog
import Records
import Reports

/// An earlier event that explains what happened to a notification.
struct PushReason: Record {
    /// The event, a CloudEvent.
    var event = JSON.null
    var reason = PushReasonKind.wait

    init(_ reason: PushReasonKind, _ event: Event) {
        // The log contains only JSON.
        self.event = (try? JSON(parsing: event.cloudEvent)) ?? .null
        self.reason = reason
    }
}

/// A notification and the events that explain its outcome.
struct ExplainedPush: Record {
    var push = PushRow()
    /// The latest first, except that a wait comes before its own reasons.
    var reasons: [PushReason] = []

    init(_ push: PushRow, _ reasons: [PushReason]) {
        self.push = push
        self.reasons = reasons
    }
}
