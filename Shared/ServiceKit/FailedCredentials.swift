import HTTPTypes
import Logging
import NIOCore
import Synchronization

/// Remembers credentials that were refused, and bounds how many each address may try.
///
/// Verifying a signature costs about a hundred microseconds, so whoever shows bad credentials must not have that for nothing.
public final class FailedCredentials: Sendable {
    /// The most that are remembered.
    static let remembered = 4096
    /// How long one is remembered.
    static let lifetime = Duration.seconds(10)
    /// Between two lines in the log.
    static let quiet = Duration.seconds(10)

    private struct State {
        /// By the hash of the credential, whose seed is another in each process: when it is forgotten. That two credentials
        /// have one hash is as likely as a broken key.
        var refused: [Int: ContinuousClock.Instant] = [:]
        var lastLine: ContinuousClock.Instant?
        var unsaid = 0
    }

    private let rate: Int
    private let buckets = RateBuckets<[UInt8]>()
    private let state = Mutex(State())
    private let metrics: Metrics?

    /// - Parameter perSecond: how many failures a second an address may have; 0 is no limit.
    public init(perSecond rate: Int = 0, metrics: Metrics? = nil) {
        self.rate = rate
        self.metrics = metrics
    }

    /// Lets an address show a credential that is not known yet.
    ///
    /// - Throws: `too_many_failed_credentials` where it has shown too many bad ones.
    func requirePatience(
        with channel: (any Channel)?, _ logger: Logger, at now: ContinuousClock.Instant = .now
    ) throws(Problem) {
        guard rate > 0, let address = channel?.remoteAddress, let network = address.network,
            let wait = buckets.wait(network, rate: rate, at: now)
        else { return }
        metrics?.add(to: .authFailures, ["reason": "limited"])
        say(address, logger, at: now)
        throw .tooManyFailedCredentials.after(wait)
    }

    /// Counts a failure.
    func note(on channel: (any Channel)?, at now: ContinuousClock.Instant = .now) {
        metrics?.add(to: .authFailures, ["reason": "invalid"])
        guard rate > 0, let network = channel?.remoteAddress?.network else { return }
        _ = buckets.take(network, rate: rate, at: now)
    }

    /// Whether a credential was refused of late.
    func contains(_ credential: String, at now: ContinuousClock.Instant = .now) -> Bool {
        let hash = credential.hashValue
        return state.withLock { state in
            guard let end = state.refused[hash] else { return false }
            if end > now { return true }
            state.refused[hash] = nil
            return false
        }
    }

    /// Remembers a credential that was refused.
    func remember(_ credential: String, at now: ContinuousClock.Instant = .now) {
        let hash = credential.hashValue
        state.withLock { state in
            if state.refused.count >= Self.remembered { state.refused = state.refused.filter { $0.value > now } }
            if state.refused.count >= Self.remembered { state.refused = [:] }
            state.refused[hash] = now + Self.lifetime
        }
    }

    /// There are new keys: what was refused may be good now.
    func forget() { state.withLock { $0.refused = [:] } }

    /// One line for all that happen within a while.
    private func say(_ address: SocketAddress, _ logger: Logger, at now: ContinuousClock.Instant) {
        let count = state.withLock { state -> Int? in
            state.unsaid += 1
            if let last = state.lastLine, now - last < Self.quiet { return nil }
            defer { state.unsaid = 0 }
            state.lastLine = now
            return state.unsaid
        }
        guard let count else { return }
        logger.warning(
            "refuse requests of an address that sent too many invalid credentials",
            metadata: [LogKey.address: "\(address.ipAddress ?? "local")", LogKey.requests: "\(count)"])
    }
}

extension Problem {
    public static let tooManyFailedCredentials = Problem(
        .tooManyRequests, "too_many_failed_credentials", "The address sent too many invalid credentials",
        detail: "Send a valid credential after the time in Retry-After.", retryAfter: 1)
}
