import DequeModule
import Synchronization

/// Lets so many at a time go on, in the order of asking.
public final class Turns: Sendable {
    private struct State {
        var free: Int
        var waiting: Deque<CheckedContinuation<Void, Never>> = []
    }

    private let state: Mutex<State>

    public init(_ count: Int) { state = Mutex(State(free: count)) }

    /// Waits for a turn. Whoever takes it passes it on.
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

    public func pass() {
        let next = state.withLock { state in
            let next = state.waiting.popFirst()
            if next == nil { state.free += 1 }
            return next
        }
        next?.resume()
    }
}
