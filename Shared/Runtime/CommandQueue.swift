import DequeModule
import Machines
import Synchronization

/// The commands that wait for a partition's next batch.
///
/// It has a lock of its own, outside of the worker. Otherwise each command would need the worker's actor twice, to
/// submit and to get its answer. This would be most of the work of a busy worker.
final class CommandQueue<M: Machine>: Sendable {
    /// A reference, because it is passed on several times.
    final class Waiting: Sendable {
        let id: UInt64
        let submission: Submission<M>
        let caller: CheckedContinuation<Answer, any Error>
        let since = ContinuousClock.now

        init(id: UInt64, submission: Submission<M>, caller: CheckedContinuation<Answer, any Error>) {
            self.id = id
            self.submission = submission
            self.caller = caller
        }
    }

    private struct State {
        var waiting: Deque<Waiting> = []
        /// The refusal of new commands, once the queue is closed.
        var refusal: RuntimeError?
    }

    private let limit: Int
    private let state = Mutex(State())
    private let nextID = Atomic<UInt64>(0)

    /// - Parameter limit: the most commands that wait; more are refused.
    init(limit: Int) { self.limit = limit }

    /// Queues a command and waits for its answer. A command that is cancelled before a batch takes it does not run.
    ///
    /// - Parameter isFirst: called if the queue was empty. Otherwise an earlier call has already woken the worker.
    /// - Throws: the error of ``close(_:)``, ``RuntimeError/overloaded``, `CancellationError`, or the error of the batch.
    func submit(_ submission: Submission<M>, isFirst: () -> Void) async throws -> Answer {
        let id = nextID.wrappingAdd(1, ordering: .relaxed).newValue
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { caller in
                switch enqueue(Waiting(id: id, submission: submission, caller: caller)) {
                case .success(let count): if count == 1 { isFirst() }
                case .failure(let error): caller.resume(throwing: error)
                }
            }
        } onCancel: {
            abandon(id)
        }
    }

    /// - Returns: the new number of waiting commands.
    private func enqueue(_ one: Waiting) -> Result<Int, any Error> {
        state.withLock { state in
            if let refusal = state.refusal { return .failure(refusal) }
            guard state.waiting.count < limit else { return .failure(RuntimeError.overloaded) }
            // Under the lock: a task that is cancelled after this line finds itself in the queue.
            guard !Task.isCancelled else { return .failure(CancellationError()) }
            state.waiting.append(one)
            return .success(state.waiting.count)
        }
    }

    private func abandon(_ id: UInt64) {
        let found = state.withLock { state in
            state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0) }
        }
        found?.caller.resume(throwing: CancellationError())
    }

    /// Refuses the commands that have waited since before a time. The oldest one is always first, even after a batch
    /// put it back.
    func refuse(before moment: ContinuousClock.Instant, _ error: RuntimeError) {
        let stale = state.withLock { state in
            let stale = Array(state.waiting.prefix { $0.since < moment })
            state.waiting.removeFirst(stale.count)
            return stale
        }
        for one in stale { one.caller.resume(throwing: error) }
    }

    var count: Int { state.withLock { $0.waiting.count } }
    var isEmpty: Bool { count == 0 }

    /// Whether a condition holds for the oldest command.
    func isFirst(where condition: (Submission<M>) -> Bool) -> Bool {
        state.withLock { $0.waiting.first.map { condition($0.submission) } ?? false }
    }

    /// Takes the oldest commands.
    ///
    /// - Parameter isAlone: whether a command must be alone in its batch. It also ends the batch before it.
    func take(_ count: Int, isAlone: (Submission<M>) -> Bool = { _ in false }) -> [Waiting] {
        state.withLock { state in
            let first = state.waiting.prefix(count)
            let index = first.firstIndex { isAlone($0.submission) } ?? first.endIndex
            let taken = Array(first[..<max(index, min(first.endIndex, first.startIndex + 1))])
            state.waiting.removeFirst(taken.count)
            return taken
        }
    }

    /// Puts taken commands back at the front.
    func putBack(_ taken: [Waiting]) {
        guard !taken.isEmpty else { return }
        state.withLock { $0.waiting.prepend(contentsOf: taken) }
    }

    /// Refuses new commands with an error, that of the first call. Waiting ones can still be taken.
    func close(_ error: RuntimeError) { state.withLock { $0.refusal = $0.refusal ?? error } }
}
