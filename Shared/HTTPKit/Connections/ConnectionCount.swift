import NIOCore
import Synchronization

/// Counts the connections of a port, including crowds that come and go between two checks.
public final class ConnectionCount: Sendable {
    private let state = Mutex((now: 0, most: 0))

    /// Creates a count of zero.
    public init() {}

    /// Counts a connection until it closes.
    func add(_ channel: any Channel) {
        state.withLock { state in
            state.now += 1
            state.most = max(state.most, state.now)
        }
        channel.closeFuture.whenComplete { _ in self.state.withLock { $0.now -= 1 } }
    }

    /// Returns the peak of connections since the last call, minus the current number.
    public func takeExcess() -> Int {
        state.withLock { state in
            defer { state.most = state.now }
            return state.most - state.now
        }
    }
}
