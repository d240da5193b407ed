/// Divides the time of a round of the ``LeaseKeeper`` among rows that other sessions have locked.
///
/// A wait for one row must not let the leases of other partitions expire. A batch holds its rows for a moment, so each row
/// gets a short wait. A row whose last wait was in vain comes after the others, and gets a longer wait.
struct LockPatience: Sendable {
    typealias Moment = ContinuousClock.Instant

    static let short = Duration.milliseconds(50)
    static let long = Duration.milliseconds(500)
    /// The time of a round for renewals, and that for other changes. A lease may be renewed first in a round and last in
    /// the next one: between the two are two times for renewals, one for changes, and a pause.
    static let renewals = Duration.milliseconds(700)
    static let changes = Duration.milliseconds(800)

    private var end: Moment
    /// The partitions whose last wait was in vain, each with the number of that wait.
    private var inVain: [Int: Int] = [:]
    /// The number of each partition's last success.
    private var successes: [Int: Int] = [:]
    private var count = 0

    init(now: Moment = .now) { end = now }

    /// Begins a part of a round.
    mutating func begin(_ time: Duration, now: Moment = .now) { end = now + time }

    /// Returns partitions in the order of their waits: first those without a wait in vain, then the earliest.
    func sorted(_ partitions: some Sequence<Int>) -> [Int] {
        partitions.sorted {
            (inVain[$0] ?? 0, successes[$0] ?? 0, $0) < (inVain[$1] ?? 0, successes[$1] ?? 0, $1)
        }
    }

    /// The longest wait for a row, at least a millisecond; nil if no time is left.
    ///
    /// - Parameter isLong: whether the row gets a long wait at once.
    func limit(for partition: Int, isLong: Bool = false, now: Moment = .now) -> Duration? {
        let limit = min(now.duration(to: end), isLong ? Self.long : turn(of: partition))
        return limit < .milliseconds(1) ? nil : limit
    }

    private func turn(of partition: Int) -> Duration { inVain[partition] == nil ? Self.short : Self.long }

    /// Takes note of a success.
    mutating func succeeded(_ partition: Int) {
        count += 1
        (inVain[partition], successes[partition]) = (nil, count)
    }

    /// Takes note of a wait in vain. If the end of the round has cut it short, it is no turn: the row keeps its place. Half
    /// of a long wait counts.
    mutating func waitedInVain(for partition: Int, _ limit: Duration) {
        let turn = inVain[partition] == nil ? Self.short : Self.long / 2
        guard limit >= turn else { return }
        count += 1
        inVain[partition] = count
    }
}

extension Duration {
    /// The value of a time setting of PostgreSQL.
    var setting: String { "\(Int64(self / .milliseconds(1)))ms" }
}
