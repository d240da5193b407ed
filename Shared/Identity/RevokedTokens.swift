import Contracts
public import EventLog
import Synchronization
public import Timeline

/// The devices and fleets with revoked tokens, in memory.
///
/// It compares tokens and revocations by log positions, or by generations for fleets, because clocks of several machines
/// have no common order. A token of a former incarnation of the log counts as issued at the last place that this
/// incarnation has in common with it, or earlier. A token of an incarnation that the log does not know counts as issued
/// before all revocations.
public final class RevokedTokens: Sendable {
    fileprivate struct State {
        var subjects: [TokenSubject: Revoked] = [:]
        var watches: [TokenSubject: [Int: Watch]] = [:]
        var count = 0
    }

    fileprivate struct Revoked {
        /// The offset of the revocation, or the generation after it. Tokens that were issued before it are revoked.
        var place: Int
        /// The generation of a fleet when each former incarnation of the log ended; nil for a device.
        var former: [String: Int]?
        /// The real time of the revocation, or later.
        var at: Instant
    }

    fileprivate struct Watch {
        let claims: TokenClaims
        let end: AsyncStream<Void>.Continuation
    }

    private let state = Mutex(State())
    private let incarnation: LogIncarnation

    /// Creates an empty set.
    ///
    /// - Parameter incarnation: that of the log.
    public init(_ incarnation: LogIncarnation = .first) { self.incarnation = incarnation }

    /// Returns whether a token is revoked.
    public func contains(_ claims: TokenClaims) -> Bool {
        state.withLock { isVoid(claims, in: $0) }
    }

    /// Revokes the tokens of a device that were issued before an offset, and ends their streams.
    ///
    /// - Parameters:
    ///   - place: the offset of the revocation in the device's partition.
    ///   - time: the real time of the revocation, or later.
    public func note(_ device: String, before place: Int, at time: Instant = RealClock().now) {
        note(.device(device), before: place, former: nil, at: time)
    }

    /// Revokes the tokens of a fleet of earlier generations, and ends their streams.
    ///
    /// - Parameter former: the generation when each former incarnation of the log ended.
    func note(fleet: String, before generation: Int, former: [String: Int] = [:]) {
        note(.fleet(fleet), before: generation, former: former, at: RealClock().now)
    }

    private func note(_ subject: TokenSubject, before place: Int, former: [String: Int]?, at time: Instant) {
        let ended = state.withLock { state -> [Watch] in
            guard state.subjects[subject]?.place ?? 0 < place else { return [] }
            state.subjects[subject] = Revoked(place: place, former: former, at: time)
            return state.watches[subject, default: [:]].values.filter { isVoid($0.claims, in: state) }
        }
        Self.end(ended)
    }

    /// Ends the streams of all tokens, because the key of some is void. Clients with a valid token open them again.
    func endStreams() { Self.end(state.withLock { $0.watches.values.flatMap(\.values) }) }

    /// Ends the streams of tokens that have expired at a real time.
    func endExpired(at now: Instant = RealClock().now) {
        Self.end(
            state.withLock { state in
                state.watches.values.flatMap(\.values).filter { Int64($0.claims.exp) * 1000 <= now.milliseconds }
            })
    }

    /// Call it outside of the lock, because the end of a watch calls `leave`, which takes the lock.
    private static func end(_ watches: [Watch]) {
        for watch in watches {
            watch.end.yield()
            watch.end.finish()
        }
    }

    /// Deletes revocations before a real time. All tokens that were issued before them have expired.
    func forget(before moment: Instant) {
        state.withLock { state in state.subjects = state.subjects.filter { $0.value.at >= moment } }
    }

    /// The number of devices and fleets with revoked tokens.
    var count: Int { state.withLock { $0.subjects.count } }

    /// Returns a stream with one element when a token is revoked, at once if it is. Its release ends the watch.
    /// ``endExpired(at:)`` finds a token that expires.
    public func voiding(of claims: TokenClaims) -> AsyncStream<Void> {
        let (ends, end) = AsyncStream<Void>.makeStream()
        let subject = claims.subject
        let watch = Watch(claims: claims, end: end)
        let id = state.withLock { state -> Int? in
            guard !isVoid(claims, in: state) else { return nil }
            state.count += 1
            state.watches[subject, default: [:]][state.count] = watch
            return state.count
        }
        guard let id else {
            end.yield()
            end.finish()
            return ends
        }
        end.onTermination = { [weak self] _ in self?.leave(subject, id) }
        return ends
    }

    private func leave(_ subject: TokenSubject, _ id: Int) {
        state.withLock { state in
            state.watches[subject]?[id] = nil
            if state.watches[subject]?.isEmpty == true { state.watches[subject] = nil }
        }
    }

    /// The number of watched streams.
    var watches: Int { state.withLock { $0.watches.values.reduce(0) { $0 + $1.count } } }

    private func isVoid(_ claims: TokenClaims, in state: State) -> Bool {
        guard let revoked = state.subjects[claims.subject] else { return false }
        let position = claims.position ?? 0
        let name = claims.incarnation ?? ""
        let place = name == incarnation.name ? position : min(position, lastPlace(in: name, of: claims, revoked))
        return place < revoked.place
    }

    /// Returns the last place that a former incarnation has in common with this one; 0 if the log does not know it.
    private func lastPlace(in former: String, of claims: TokenClaims, _ revoked: Revoked) -> Int {
        if let generations = revoked.former { return generations[former, default: 0] }
        guard let heads = incarnation.former[former], case .device(let device) = claims.subject else { return 0 }
        return heads[AggregateKey.device(device).partition(of: heads.count)]
    }
}
