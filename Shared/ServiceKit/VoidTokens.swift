import Synchronization
public import Timeline

/// The devices whose tokens were voided, in memory: looking costs no question to the database.
///
/// Tokens and revocations are compared by their places in the log, not by times: the log has one order, clocks have not.
public final class VoidTokens: Sendable {
    fileprivate struct State {
        var devices: [String: Voided] = [:]
        var watches: [String: [Int: Watch]] = [:]
        var count = 0
    }

    fileprivate struct Voided {
        /// Tokens of the device that were issued before this place of its partition are void.
        var place: Int
        /// Real time, not earlier than the revocation.
        var at: Instant
    }

    fileprivate struct Watch {
        let position: Int
        let end: AsyncStream<Void>.Continuation
    }

    private let state = Mutex(State())

    public init() {}

    /// Whether a token was voided. Fleets' tokens are not.
    public func contains(_ claims: TokenClaims) -> Bool {
        guard let device = claims.device else { return false }
        return state.withLock { $0.isVoid(device, claims.position ?? 0) }
    }

    /// Takes in that the tokens of a device that were issued before a place are void, and ends what is open under them.
    ///
    /// - Parameter time: the real time of the revocation, or later.
    public func note(_ device: String, before place: Int, at time: Instant = RealClock().now) {
        let ended = state.withLock { state -> [Watch] in
            guard state.devices[device]?.place ?? 0 < place else { return [] }
            state.devices[device] = Voided(place: place, at: time)
            return state.watches[device, default: [:]].values.filter { $0.position < place }
        }
        // Outside of the lock: ending a watch makes it leave, which takes the lock.
        for watch in ended {
            watch.end.yield()
            watch.end.finish()
        }
    }

    /// Forgets devices whose tokens were voided before a moment of real time: none of those tokens is valid any more.
    func forget(before moment: Instant) {
        state.withLock { state in state.devices = state.devices.filter { $0.value.at >= moment } }
    }

    /// The number of devices with void tokens.
    var count: Int { state.withLock { $0.devices.count } }

    /// Tells once when a token is voided; at once where it is. Letting go of it ends the watch.
    func voiding(of claims: TokenClaims) -> AsyncStream<Void> {
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

    /// How many streams are watched.
    var watches: Int { state.withLock { $0.watches.values.reduce(0) { $0 + $1.count } } }
}

extension VoidTokens.State {
    fileprivate func isVoid(_ device: String, _ position: Int) -> Bool { position < devices[device]?.place ?? 0 }
}
