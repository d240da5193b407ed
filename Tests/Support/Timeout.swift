/// An operation took longer than its test allows.
public struct TimedOut: Error, CustomStringConvertible {
    /// What was waited for.
    public let what: String
    /// How long, in seconds.
    public let seconds: Double

    public var description: String { "timed out after \(seconds) s: \(what)" }
}

/// Runs `operation`, but not longer than `seconds`: then it is cancelled and the guard fails.
///
/// The guard does not wait for an operation that ignores its cancellation: a test that would hang fails instead.
/// - Parameters:
///   - seconds: real seconds.
///   - what: what is waited for; it is all that the reader of a failed run will see.
/// - Throws: ``TimedOut``, or what the operation throws.
public func withTimeout<Value: Sendable>(
    seconds: Double, _ what: String = "the guarded operation", operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let outcome = Signal<Result<Value, any Error>>()
    // Unstructured on purpose, since a task group would wait for an operation that hangs. Both tasks end at the
    // latest when this function does, except such an operation, and its test has failed by then.
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

/// Asks `condition` again and again until it is true.
///
/// The last resort: for what gives no signal (a row in a database, a file of another process). Prefer ``Signal``,
/// ``Gate``, or the lines of a ``ChildProcess``.
/// - Parameters:
///   - seconds: real seconds until it gives up.
///   - what: what should come true.
/// - Throws: ``TimedOut``, or what the condition throws.
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
