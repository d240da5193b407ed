import Contracts
import EventLog
import HTTPKit
import Records
import Timeline

/// One event in the timeline of a device.
struct TimelineEntry: Record {
    var app: String?
    var cause: String?
    var data: JSON = .null
    var event = ""
    /// `partition:offset`, with the incarnation of a restored log before it.
    var position = ""
    var service = ""
    var summary: String?
    var time = Instant.epoch
    var type = ""

    init(_ event: Event, _ incarnation: LogIncarnation) {
        app = event.app
        cause = event.causation?.lowercased
        // The log contains only JSON.
        data = (try? JSON(parsing: event.data)) ?? .null
        self.event = event.id.lowercased
        position = incarnation.marked("\(event.partition):\(event.offset)")
        service = event.source
        summary = KnownNames.summaries[event.type]
        time = event.time
        type = event.type
    }
}
