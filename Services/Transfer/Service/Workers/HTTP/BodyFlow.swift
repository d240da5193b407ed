import Synchronization

/// Keeps a body from running ahead of its connection, and tells it when the server has answered.
///
/// The HTTP client takes any number of bytes while the event loop of the connection is busy.
final class BodyFlow: Sendable {
    /// The number of unsent bytes from which on the body waits.
    static let limit = 2 * FilePiece.chunk

    enum State: Equatable {
        case open
        /// The server has answered, so the connection drops what it still gets.
        case answered
        /// The connection is closed. `isComplete` says whether the server has answered.
        case closed(isComplete: Bool)
    }

    private struct Value {
        var state = State.open
        var unsent = 0
        var waiter: CheckedContinuation<State, Never>?
    }

    private let value = Mutex(Value())

    /// Adds bytes that the connection gets.
    func add(_ count: Int) { value.withLock { $0.unsent += count } }

    /// Waits while too many bytes are unsent. Only one task may wait.
    func room() async -> State {
        await withCheckedContinuation { continuation in
            let state: State? = value.withLock { value in
                guard case .open = value.state, value.unsent >= Self.limit else { return value.state }
                value.waiter = continuation
                return nil
            }
            if let state { continuation.resume(returning: state) }
        }
    }

    /// The connection has sent bytes, or has dropped them.
    func remove(_ count: Int) {
        resume { value in
            value.unsent -= count
            return value.unsent < Self.limit
        }
    }

    /// The server has answered.
    func answer() { end(.answered) }

    /// The connection is closed.
    func close(isComplete: Bool) { end(.closed(isComplete: isComplete)) }

    private func end(_ state: State) {
        resume { value in
            value.state = state
            return true
        }
    }

    /// Resumes the waiting body if `change` returns true.
    private func resume(_ change: (inout Value) -> Bool) {
        let (waiter, state) = value.withLock { value in
            guard change(&value), let waiter = value.waiter else {
                return (CheckedContinuation<State, Never>?.none, value.state)
            }
            value.waiter = nil
            return (waiter, value.state)
        }
        waiter?.resume(returning: state)
    }
}
