import DequeModule
import Synchronization

/// A fair counting semaphore.
public final class AsyncSemaphore: Sendable {
    private struct State {
        var free: Int
        var waiting: Deque<CheckedContinuation<Void, Never>> = []
    }

    private let state: Mutex<State>

    /// Creates a semaphore with a number of turns.
    public init(_ count: Int) { state = Mutex(State(free: count)) }

    /// Waits for a turn. The caller returns it with ``pass()``.
    public func take() async {
        await withCheckedContinuation { asker in
            let isFree = state.withLock { state in
                guard state.free == 0 else {
                    state.free -= 1
                    return true
                }
                state.waiting.append(asker)
                return false
            }
            if isFree { asker.resume() }
        }
    }

    /// Returns a turn. The longest waiting task gets it.
    public func pass() {
        let next = state.withLock { state in
            let next = state.waiting.popFirst()
            if next == nil { state.free += 1 }
            return next
        }
        next?.resume()
    }
}
