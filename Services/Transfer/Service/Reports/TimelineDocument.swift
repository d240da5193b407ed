import Records
import Timeline

/// A page of the events of a task, newest first.
struct TimelineDocument: Record {
    struct Entry: Record {
        var data: JSON = [:]
        var time = Instant.epoch
        var type = ""
    }

    var items: [Entry] = []
    /// The `?cursor=` of the next page, which has earlier events.
    var next: Nullable<String> = nil
}
