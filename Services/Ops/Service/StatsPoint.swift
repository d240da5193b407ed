import Records
import Timeline

/// One interval. An event with its own series, such as `woken`, also counts for its service.
struct StatsPoint: Record {
    /// Bytes that transfers received and sent.
    var bytes = 0
    var delivered = 0
    var discarded = 0
    var events = 0
    var fetch = 0
    var held = 0
    var killed = 0
    var lifecycle = 0
    var push = 0
    var refused = 0
    var stored = 0
    var time = Instant.epoch
    var transfer = 0
    var woken = 0

    mutating func count(_ series: String, _ count: Int, _ amount: Int) {
        events += count
        bytes += amount
        switch series {
        case "fetch": fetch += count
        case "lifecycle", "killed", "refused", "woken": lifecycle += count
        case "push", "delivered", "stored", "held", "discarded": push += count
        case "transfer": transfer += count
        default: break
        }
        switch series {
        case "delivered": delivered += count
        case "discarded": discarded += count
        case "held": held += count
        case "killed": killed += count
        case "refused": refused += count
        case "stored": stored += count
        case "woken": woken += count
        default: break
        }
    }
}
