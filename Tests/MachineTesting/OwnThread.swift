import Dispatch
public import Testing

/// Runs the tests with long computations on their own threads. Swift's shared pool has one thread per core. Two such
/// computations in it would stop every other test for seconds, and exceed the timeouts of the databases.
public struct OwnThread: SuiteTrait, TestTrait, TestScoping {
    static let executor = OwnThreadExecutor()

    public var isRecursive: Bool { true }

    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(Self.executor) { try await function() }
    }
}

extension Trait where Self == OwnThread {
    /// See ``OwnThread``.
    public static var ownThread: Self { Self() }
}

final class OwnThreadExecutor: TaskExecutor {
    let queue = DispatchQueue(label: "tests.aside", attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
