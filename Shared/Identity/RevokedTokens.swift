import Synchronization
public import Timeline

/// The devices with revoked tokens, in memory.
///
/// It compares tokens and revocations by log positions, because clocks of several machines have no common order.
public final class RevokedTokens: Sendable {
    fileprivate struct State {
        var devices: [String: Revoked] = [:]
        var watches: [String: [Int: Watch]] = [:]
        var count = 0
    }

    fileprivate struct Revoked {
        /// The offset of the revocation. Tokens that were issued before it are revoked.
        var place: Int
        /// The real time of the revocation, or later.
        var at: Instant
    }

    fileprivate struct Watch {
        let position: Int
        let end: AsyncStream<Void>.Continuation
    }

    private let state = Mutex(State())

    /// Creates an empty set.
    public init() {}

    /// Returns whether a token is revoked. Tokens of fleets can't be revoked.
    public func contains(_ claims: TokenClaims) -> Bool {
        guard let device = claims.device else { return false }
        return state.withLock { $0.isVoid(device, claims.position ?? 0) }
    }

    /// Revokes the tokens of a device that were issued before an offset, and ends their streams.
    ///
    /// - Parameters:
    ///   - place: the offset of the revocation in the device's partition.
    ///   - time: the real time of the revocation, or later.
    public func note(_ device: String, before place: Int, at time: Instant = RealClock().now) {
        let ended = state.withLock { state -> [Watch] in
            guard state.devices[device]?.place ?? 0 < place else { return [] }
            state.devices[device] = Revoked(place: place, at: time)
            return state.watches[device, default: [:]].values.filter { $0.position < place }
        }
        // Outside of the lock, because the end of a watch calls `leave`, which takes the lock.
        for watch in ended {
            watch.end.yield()
            watch.end.finish()
        }
    }

    /// Deletes revocations before a real time. All their tokens have expired.
    func forget(before moment: Instant) {
        state.withLock { state in state.devices = state.devices.filter { $0.value.at >= moment } }
    }

    /// The number of devices with revoked tokens.
    var count: Int { state.withLock { $0.devices.count } }

    /// Returns a stream with one element when a token is revoked, at once if it is. Its release ends the watch.
    public func voiding(of claims: TokenClaims) -> AsyncStream<Void> {
        let (ends, end) = AsyncStream<Void>.makeStream()
        guard let device = claims.device else { return ends }
        let watch = Watch(position: claims.position ?? 0, end: end)
        let id = state.withLock { state -> Int? in
            guard !state.isVoid(device, watch.position) else { return nil }
            state.count += 1
            state.watches[device, default: [:]][state.count] = watch
            return state.count
        }
        guard let id else {
            end.yield()
            end.finish()
            return ends
        }
        end.onTermination = { [weak self] _ in self?.leave(device, id) }
        return ends
    }

    private func leave(_ device: String, _ id: Int) {
        state.withLock { state in
            state.watches[device]?[id] = nil
            if state.watches[device]?.isEmpty == true { state.watches[device] = nil }
        }
    }

    /// The number of watched streams.
    var watches: Int { state.withLock { $0.watches.values.reduce(0) { $0 + $1.count } } }
}

extension RevokedTokens.State {
    fileprivate func isVoid(_ device: String, _ position: Int) -> Bool { position < devices[device]?.place ?? 0 }
}
