import Dispatch

/// A serial dispatch queue as an actor's executor: libpq may block in name resolution, and must not do so on the
/// cooperative pool. (Linux has no `DispatchSerialQueue`, which would be one by itself.)
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
