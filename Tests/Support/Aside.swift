import Dispatch
public import Testing

/// For tests that compute for long without a pause: they run on threads of their own. Swift's shared pool has no more
/// threads than the machine has cores, so that two of them in it would stop every other test for seconds, and with
/// those the databases' patience.
public struct Aside: SuiteTrait, TestTrait, TestScoping {
    static let executor = AsideExecutor()

    public var isRecursive: Bool { true }

    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(Self.executor) { try await function() }
    }
}

extension Trait where Self == Aside {
    /// See ``Aside``.
    public static var aside: Self { Self() }
}

final class AsideExecutor: TaskExecutor {
    let queue = DispatchQueue(label: "tests.aside", attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
