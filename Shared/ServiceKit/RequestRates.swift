/// How many requests a credential may make: a bucket of tokens for each, in real time whatever the suite's clock says.
///
/// A bucket holds what four seconds fill, so a client may be quiet and then busy. Devices are told apart by their names, not
/// by their tokens: another token is no other bucket.
public final class RequestRates: Sendable {
    /// What a bucket holds, in seconds of its rate.
    public static let burst = 4
    /// So many credentials are remembered before those with a full bucket are forgotten.
    static let remembered = 10_000

    /// Requests a second; 0 is no limit.
    public struct Limits: Sendable {
        public var device = 0
        public var fleet = 0
        public var `operator` = 0

        public init(device: Int = 0, fleet: Int = 0, operator: Int = 0) {
            self.device = device
            self.fleet = fleet
            self.operator = `operator`
        }
    }

    private let limits: Limits
    private let buckets = RateBuckets<Caller>()

    public init(_ limits: Limits = Limits()) { self.limits = limits }

    /// Takes one request out of the caller's bucket.
    ///
    /// - Throws: `rate_limited`, with the seconds after which there is one again.
    func admit(_ caller: Caller, at now: ContinuousClock.Instant = .now) throws(Problem) {
        let rate = limit(of: caller)
        guard rate > 0 else { return }
        if let wait = buckets.take(caller, rate: rate, at: now) { throw .rateLimited.after(wait) }
    }

    private func limit(of caller: Caller) -> Int {
        switch caller {
        case .device: limits.device
        case .fleet: limits.fleet
        case .operator: limits.operator
        }
    }

    /// How many credentials are remembered.
    var count: Int { buckets.count }
}
