import Records
import Timeline

/// An event of a task.
struct TimelineEntry: Record {
    var data: JSON = [:]
    var time = Instant.epoch
    var type = ""
}
