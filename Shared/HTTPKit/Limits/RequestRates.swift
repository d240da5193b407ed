import Identity

/// Limits the rate of requests of each caller with a token bucket, in real time.
///
/// A bucket holds the tokens of ``burst`` seconds, so a client may be idle and then busy. All credentials of a device
/// share one bucket.
public final class RequestRates: Sendable {
    /// The size of a bucket, in seconds of its rate.
    public static let burst = 4
    /// The number of entries at which full buckets are removed first.
    static let remembered = 10_000

    /// Requests a second; 0 means no limit.
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

    /// Creates full buckets with these limits.
    public init(_ limits: Limits = Limits()) { self.limits = limits }

    /// Takes one token out of the caller's bucket.
    ///
    /// - Throws: `rate_limited`, with the seconds until the next token.
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

    /// The number of callers with an entry.
    var count: Int { buckets.count }
}
