/// An operation took longer than its test allows.
public struct TimedOut: Error, CustomStringConvertible {
    /// The condition or operation.
    public let what: String
    /// The limit in seconds.
    public let seconds: Double

    public var description: String { "timed out after \(seconds) s: \(what)" }
}

/// Runs `operation` for at most `seconds`, then cancels it and fails.
///
/// It does not wait for an operation that ignores its cancellation, so a hanging operation fails its test.
/// - Parameters:
///   - seconds: real seconds.
///   - what: the operation, for the message of a failed run.
/// - Throws: ``TimedOut``, or an error of the operation.
public func withTimeout<Value: Sendable>(
    seconds: Double, _ what: String = "the guarded operation", operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let outcome = Signal<Result<Value, any Error>>()
    // Unstructured, because a task group would wait for a hanging operation. Both tasks end with this function at the
    // latest, except a hanging operation, whose test has failed by then.
    let work = Task {
        do { outcome.fire(.success(try await operation())) } catch { outcome.fire(.failure(error)) }
    }
    let clock = Task {
        try await Task.sleep(for: .seconds(seconds))
        outcome.fire(.failure(TimedOut(what: what, seconds: seconds)))
    }
    defer {
        work.cancel()
        clock.cancel()
    }
    return try await outcome.value().get()
}

/// Polls `condition` until it is true.
///
/// Use it only for changes without a signal, such as a row in a database or a file of another process. Otherwise use
/// ``Signal``, ``Gate``, or the lines of a ``ChildProcess``.
/// - Parameters:
///   - seconds: the limit in real seconds.
///   - what: the expected condition.
/// - Throws: ``TimedOut``, or an error of the condition.
public func eventually(
    within seconds: Double = 60, describe what: String, _ condition: @escaping @Sendable () async throws -> Bool
) async throws {
    try await withTimeout(seconds: seconds, what) {
        var pause = Duration.milliseconds(1)
        while try await !condition() {
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(50))
        }
    }
}
