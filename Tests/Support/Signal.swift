import Synchronization

/// A value that arrives once. Firing wakes all waiting tasks, and later tasks get the value immediately.
///
/// Tests wait for signals, never for time. Only the first ``fire(_:)`` counts.
public final class Signal<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiters: [Int: CheckedContinuation<Value, any Error>] = [:]
        var nextWaiter = 0
    }

    private let state = Mutex(State())

    /// A signal that has not fired.
    public init() {}

    /// Whether it has fired.
    public var hasFired: Bool { state.withLock { $0.value != nil } }

    /// Gives the value to all waiting tasks in the order of their arrival.
    /// - Returns: false if it had fired before; the value is then dropped.
    @discardableResult
    public func fire(_ value: Value) -> Bool {
        let waiters = state.withLock { state -> [CheckedContinuation<Value, any Error>]? in
            guard state.value == nil else { return nil }
            state.value = value
            defer { state.waiters = [:] }
            return state.waiters.sorted { $0.key < $1.key }.map(\.value)
        }
        waiters?.forEach { $0.resume(returning: value) }
        return waiters != nil
    }

    /// The value, after it has arrived.
    /// - Throws: `CancellationError` if the waiting task is cancelled first.
    public func value() async throws -> Value {
        let waiter = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let answer = state.withLock { state -> Result<Value, any Error>? in
                    if let value = state.value { return .success(value) }
                    // Read under the lock: the handler below either finds the waiter or has set this before.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.waiters[waiter] = continuation
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: waiter) }?.resume(throwing: CancellationError())
        }
    }
}

extension Signal where Value == Void {
    /// Fires a signal without a value.
    @discardableResult
    public func fire() -> Bool { fire(()) }
}
