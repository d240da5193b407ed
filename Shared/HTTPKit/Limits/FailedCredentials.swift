import HTTPTypes
public import Logging
public import NIOCore
import Synchronization
public import Telemetry

/// Remembers refused credentials, and limits the attempts of each address.
///
/// A signature check takes about 100 µs, so a client must not send bad credentials without limit. Each ``Kind`` has its own
/// limit: a crowd that sends garbage does not keep new tokens of the same address out.
public final class FailedCredentials: Sendable {
    /// The most credentials that it remembers.
    static let remembered = 4096
    /// The time for which it remembers a credential.
    static let lifetime = Duration.seconds(10)
    /// The shortest interval between two log lines.
    static let quiet = Duration.seconds(10)

    /// The form of a credential.
    public enum Kind: Int, Sendable, CaseIterable {
        /// It names no key that this process trusts. It is refused without a signature check.
        case unknown
        /// A token that names a trusted key.
        case signed
    }

    private struct State {
        /// The expiry of each refused credential, by its hash. A client can't make collisions: each process has its own
        /// hash seed.
        var refused: [Int: ContinuousClock.Instant] = [:]
        var lastLine: ContinuousClock.Instant?
        var unsaid = 0
    }

    private let rate: Int
    private let buckets = Kind.allCases.map { _ in RateBuckets<[UInt8]>() }
    private let state = Mutex(State())
    private let metrics: Metrics?
    private let refused: RefusedCredentials?

    /// - Parameters:
    ///   - perSecond: the failures a second of each address and kind; 0 means no limit.
    ///   - refused: counts the refusals for the audit trail.
    public init(perSecond rate: Int = 0, metrics: Metrics? = nil, refused: RefusedCredentials? = nil) {
        self.rate = rate
        self.refused = refused
        self.metrics = metrics
    }

    /// Admits an address's attempt with an unknown credential.
    ///
    /// - Throws: `too_many_failed_credentials` after too many bad ones.
    func requirePatience(
        _ kind: Kind, with channel: (any Channel)?, _ logger: Logger, at now: ContinuousClock.Instant = .now
    ) throws(Problem) {
        guard let wait = wait(kind, of: channel?.clientAddress, logger, at: now) else { return }
        throw .tooManyFailedCredentials.after(wait)
    }

    /// Returns the time for which an address must wait before its next attempt; nil if it may try now. A wait is counted
    /// as a refusal.
    public func wait(
        _ kind: Kind = .unknown, of address: SocketAddress?, _ logger: Logger, at now: ContinuousClock.Instant = .now
    ) -> Duration? {
        guard rate > 0, let address, let network = address.network,
            let wait = buckets[kind.rawValue].wait(network, rate: rate, at: now)
        else { return nil }
        count(.limited, address)
        say(address, logger, at: now)
        return wait
    }

    /// Counts a bad credential of an address.
    public func note(
        _ kind: Kind = .unknown, from address: SocketAddress?, at now: ContinuousClock.Instant = .now
    ) {
        count(.invalid, address)
        guard rate > 0, let network = address?.network else { return }
        _ = buckets[kind.rawValue].take(network, rate: rate, at: now)
    }

    private func count(_ reason: RefusedCredentials.Reason, _ address: SocketAddress?) {
        metrics?.add(to: .authFailures, ["reason": reason.rawValue])
        refused?.count(reason, from: address?.ipAddress)
    }

    /// Returns whether a credential was refused recently.
    func contains(_ credential: String, at now: ContinuousClock.Instant = .now) -> Bool {
        let hash = credential.hashValue
        return state.withLock { state in
            guard let end = state.refused[hash] else { return false }
            if end > now { return true }
            state.refused[hash] = nil
            return false
        }
    }

    /// Remembers a refused credential.
    func remember(_ credential: String, at now: ContinuousClock.Instant = .now) {
        let hash = credential.hashValue
        state.withLock { state in
            if state.refused.count >= Self.remembered { state.refused = state.refused.filter { $0.value > now } }
            if state.refused.count >= Self.remembered { state.refused = [:] }
            state.refused[hash] = now + Self.lifetime
        }
    }

    /// Forgets all refused credentials. New keys may make them valid.
    func forget() { state.withLock { $0.refused = [:] } }

    /// Logs one line for all failures within an interval.
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
            "refused requests, address sent too many invalid credentials",
            metadata: [LogKey.address: "\(address.ipAddress ?? "local")", LogKey.requests: "\(count)"])
    }
}

extension Problem {
    public static let tooManyFailedCredentials = Problem(
        .tooManyRequests, "too_many_failed_credentials", "Address sent too many invalid credentials",
        detail: "Send a valid credential after the time in Retry-After.", retryAfter: 1)
}
