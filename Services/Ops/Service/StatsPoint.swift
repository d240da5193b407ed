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
    var replaced = 0
    var stored = 0
    var time = Instant.epoch
    var transfer = 0
    var woken = 0

    mutating func count(_ series: String, _ count: Int, _ amount: Int) {
        events += count
        bytes += amount
        for counter in Self.counters[series] ?? [] { self[keyPath: counter] += count }
    }

    private static let counters: [String: [any WritableKeyPath<StatsPoint, Int> & Sendable]] = [
        "fetch": [\.fetch], "lifecycle": [\.lifecycle], "push": [\.push], "transfer": [\.transfer],
        "killed": [\.lifecycle, \.killed], "refused": [\.lifecycle, \.refused], "woken": [\.lifecycle, \.woken],
        "delivered": [\.push, \.delivered], "discarded": [\.push, \.discarded], "held": [\.push, \.held],
        "replaced": [\.push, \.replaced], "stored": [\.push, \.stored],
    ]
}
