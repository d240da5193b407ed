/// Divides the time of a round of the ``LeaseKeeper`` among rows that other sessions have locked.
///
/// A wait for one row must not let the leases of other partitions expire. A batch holds its rows for a moment, so each row
/// gets a short wait. A row whose last wait was in vain comes after the others, and gets a longer wait.
struct LockPatience: Sendable {
    static let short = Duration.milliseconds(50)
    static let long = Duration.milliseconds(500)
    /// All waits of a round. With the shortest pause between two rounds, they are shorter than the term of a lease.
    static let renewals = Duration.milliseconds(1500)
    static let changes = Duration.milliseconds(500)

    private var left = Duration.zero
    /// The partitions whose last wait was in vain, each with the number of that wait.
    private var inVain: [Int: Int] = [:]
    private var waits = 0

    /// Begins a round, or a part of one.
    mutating func begin(_ limit: Duration) { left = limit }

    /// Returns partitions in the order of their waits.
    func sorted(_ partitions: some Sequence<Int>) -> [Int] {
        partitions.sorted { (inVain[$0] ?? 0, $0) < (inVain[$1] ?? 0, $1) }
    }

    /// The longest wait for a row, at least a millisecond; nil if the round has no time left.
    func limit(for partition: Int) -> Duration? {
        let limit = min(left, turn(of: partition))
        return limit < .milliseconds(1) ? nil : limit
    }

    func wasInVain(_ partition: Int) -> Bool { inVain[partition] != nil }

    private func turn(of partition: Int) -> Duration { wasInVain(partition) ? Self.long : Self.short }

    /// Takes note of a wait. One that the end of the round has cut short is no turn.
    mutating func waited(for partition: Int, _ time: Duration, inVain isInVain: Bool) {
        let isCutShort = left < turn(of: partition)
        left -= time
        waits += 1
        if !isInVain { inVain[partition] = nil } else if !isCutShort { inVain[partition] = waits }
    }
}

extension Duration {
    /// The value of a time setting of PostgreSQL.
    var setting: String { "\(Int64(self / .milliseconds(1)))ms" }
}
