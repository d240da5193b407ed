import Dispatch

/// A serial dispatch queue as the executor of an actor: libpq's name resolution may block, which the cooperative pool
/// does not allow. (Linux has no `DispatchSerialQueue`, which would be an executor.)
final class QueueExecutor: SerialExecutor {
    let queue: DispatchQueue

    init(label: String) { queue = DispatchQueue(label: label) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedSerialExecutor()
        queue.async { job.runSynchronously(on: executor) }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
