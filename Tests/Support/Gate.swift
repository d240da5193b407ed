import Synchronization

/// A gate that lets through while it is open and holds everybody while it is closed.
///
/// Put one into a double to hold a step exactly where the test wants it, look, then open it.
public final class Gate: Sendable {
    private struct State {
        /// Fired when the gate is open; a closed gate has a fresh one.
        var opened = Signal<Void>()
        /// One per number of arrivals that somebody waits for.
        var arrivals = 0
        var awaited: [(count: Int, signal: Signal<Void>)] = []
    }

    private let state: Mutex<State>

    /// A gate that starts closed, unless asked otherwise.
    public init(open: Bool = false) {
        let state = State()
        if open { state.opened.fire() }
        self.state = Mutex(state)
    }

    /// Whether it lets through now.
    public var isOpen: Bool { state.withLock { $0.opened.hasFired } }

    /// Lets through all who wait and all who come.
    public func open() {
        let opened = state.withLock(\.opened)
        opened.fire()
    }

    /// Holds all who come from now on.
    public func close() {
        state.withLock { state in
            if state.opened.hasFired { state.opened = Signal() }
        }
    }

    /// Goes through the gate, waiting while it is closed.
    /// - Throws: `CancellationError` when the waiting task is cancelled first.
    public func pass() async throws {
        let (opened, reached) = state.withLock { state in
            state.arrivals += 1
            let reached = state.awaited.filter { $0.count <= state.arrivals }
            state.awaited.removeAll { $0.count <= state.arrivals }
            return (state.opened, reached)
        }
        reached.forEach { $0.signal.fire() }
        try await opened.value()
    }

    /// Waits until ``pass()`` has been called so often since the gate was made, whether it let through or not.
    /// - Throws: `CancellationError` when the waiting task is cancelled first.
    public func arrivals(_ count: Int = 1) async throws {
        let reached = state.withLock { state -> Signal<Void>? in
            guard state.arrivals < count else { return nil }
            let signal = Signal<Void>()
            state.awaited.append((count, signal))
            return signal
        }
        try await reached?.value()
    }
}
