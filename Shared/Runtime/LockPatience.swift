/// Divides the time of a round of the ``LeaseKeeper`` among rows that other sessions have locked.
///
/// A wait for one row must not let the leases of other partitions expire. A batch holds its row for a moment, so each row
/// gets a short wait. A row whose last wait was in vain comes after the others, and gets a longer wait.
struct LockPatience: Sendable {
    static let short = Duration.milliseconds(50)
    static let long = Duration.milliseconds(500)
    /// All waits of a round. Together with the pause between two rounds, they must be shorter than the term of a lease.
    static let renewals = Duration.milliseconds(700)
    static let changes = Duration.seconds(1)

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

    /// The longest wait for a row; nil if the round has not so much time left.
    func limit(for partition: Int) -> Duration? {
        let limit = wasInVain(partition) ? Self.long : Self.short
        return limit <= left ? limit : nil
    }

    func wasInVain(_ partition: Int) -> Bool { inVain[partition] != nil }

    mutating func waited(for partition: Int, _ time: Duration, inVain isInVain: Bool) {
        left -= time
        waits += 1
        inVain[partition] = isInVain ? waits : nil
    }
}

extension Duration {
    /// The value of a time setting of PostgreSQL.
    var setting: String { "\(Int64(self / .milliseconds(1)))ms" }
}
