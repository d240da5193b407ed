import Synchronization

/// A count that tasks can wait for.
public final class Tally: Sendable {
    private struct State {
        var count = 0
        var awaited: [(count: Int, signal: Signal<Void>)] = []
    }

    private let state = Mutex(State())

    /// A tally at 0.
    public init() {}

    /// The current count.
    public var count: Int { state.withLock(\.count) }

    /// Adds one and wakes the tasks that wait for it.
    /// - Returns: the new count.
    @discardableResult
    public func add() -> Int {
        let (count, reached) = state.withLock { state in
            state.count += 1
            let count = state.count
            let reached = state.awaited.filter { $0.count <= count }
            state.awaited.removeAll { $0.count <= count }
            return (count, reached)
        }
        reached.forEach { $0.signal.fire() }
        return count
    }

    /// Waits until the count is reached.
    /// - Throws: `CancellationError` if the waiting task is cancelled first.
    public func reaches(_ count: Int = 1) async throws {
        let signal = state.withLock { state -> Signal<Void>? in
            guard state.count < count else { return nil }
            let signal = Signal<Void>()
            state.awaited.append((count, signal))
            return signal
        }
        try await signal?.value()
    }
}
