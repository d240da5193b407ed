import Synchronization
public import Timeline

/// The operators' keys that are valid now, shared by all requests. A later file replaces them.
public final class OperatorKeyring: Sendable {
    private struct State {
        var keys: OperatorKeys
        var watches: [Int: Watch] = [:]
        var count = 0
    }

    private struct Watch {
        let credential: Credential
        let end: AsyncStream<Void>.Continuation
    }

    private let state: Mutex<State>
    /// Real time.
    private let clock: any SuiteClock

    /// - Parameter clock: the real time, in which keys expire.
    public init(_ keys: OperatorKeys = OperatorKeys(), clock: any SuiteClock = RealClock()) {
        state = Mutex(State(keys: keys))
        self.clock = clock
    }

    /// Returns the operator of a valid key. It compares all keys, so that the time reveals nothing.
    public func caller(presenting credential: Credential) -> Caller? {
        state.withLock { $0.keys }.caller(presenting: credential, at: clock.now)
    }

    /// Replaces all keys, and ends the streams of keys that are no longer valid or have other scopes.
    ///
    /// - Returns: the names whose keys differ.
    @discardableResult
    public func replace(with keys: OperatorKeys) -> OperatorKeys.Changes {
        let now = clock.now
        let (ended, changes) = state.withLock { state -> ([Watch], OperatorKeys.Changes) in
            let changes = state.keys.changes(to: keys)
            let ended = state.watches.filter { _, watch in
                let before = state.keys.caller(presenting: watch.credential, at: now)
                return before == nil || keys.caller(presenting: watch.credential, at: now) != before
            }
            state.keys = keys
            return (Array(ended.values), changes)
        }
        Self.end(ended)
        return changes
    }

    /// Ends the streams of keys that have expired.
    public func endExpired() {
        let now = clock.now
        Self.end(
            state.withLock { state in
                state.watches.values.filter { state.keys.caller(presenting: $0.credential, at: now) == nil }
            })
    }

    /// Call it outside of the lock, because the end of a watch takes it.
    private static func end(_ watches: [Watch]) {
        for watch in watches {
            watch.end.yield()
            watch.end.finish()
        }
    }

    /// Returns a stream with one element when a key is no longer valid, at once if it is not. Its release ends the watch.
    /// ``endExpired()`` finds a key that expires.
    public func voiding(of credential: Credential) -> AsyncStream<Void> {
        let (ends, end) = AsyncStream<Void>.makeStream()
        let now = clock.now
        let id = state.withLock { state -> Int? in
            guard state.keys.caller(presenting: credential, at: now) != nil else { return nil }
            state.count += 1
            state.watches[state.count] = Watch(credential: credential, end: end)
            return state.count
        }
        guard let id else {
            end.yield()
            end.finish()
            return ends
        }
        end.onTermination = { [weak self] _ in self?.state.withLock { $0.watches[id] = nil } }
        return ends
    }

    /// The number of watched streams.
    var watches: Int { state.withLock { $0.watches.count } }
}
