/// Whether an expired lease means that its worker is dead.
///
/// No worker can renew its lease while the database is away. So after an outage, each worker gets the time of one lease to
/// renew its own before another may take over its attempts.
struct LeaseTrust {
    private let lease: Duration
    private var lastFailure: ContinuousClock.Instant?

    init(lease: Duration = .seconds(TransferStore.workerLease)) { self.lease = lease }

    mutating func databaseFailed(at instant: ContinuousClock.Instant) { lastFailure = instant }

    func canTakeOver(at instant: ContinuousClock.Instant) -> Bool {
        lastFailure.map { instant - $0 >= lease } ?? true
    }
}
