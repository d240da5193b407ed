import Contracts
import Machines
import OrderedCollections
import Timeline

// Background tasks: assertions against suspension with one shared time limit.
extension Decision<LifecycleMachine> {
    /// Begins a task. It is refused if the app ends in the background, is terminating, has no time left, or has
    /// ``LifecyclePolicy/openTasks`` open tasks.
    mutating func beginTask(_ app: String, _ request: TaskRequest) throws(LifecycleRefusal) {
        let record = try running(app)
        let remaining = record.backgroundTimeRemaining(at: now)
        guard !endsOnLeaving(record) else {
            throw record.manifest.exitsOnSuspend ? .invalidTask.decided(by: .exitsOnSuspend, .apple) : .invalidTask
        }
        guard record.ending == nil, remaining != .zero,
            record.tasks.count < LifecyclePolicy.openTasks
        else { throw .invalidTask }
        emit(
            .taskBegun(
                .init(
                    app: app, expirationHandler: request.expirationHandler, name: request.name,
                    secondsRemaining: remaining, task: identifier())))
        settle(app)
    }

    /// Ends a task. The end of an unknown task is only logged.
    mutating func endTask(_ app: String, _ task: String) throws(LifecycleRefusal) {
        let record = try running(app)
        emit(.taskEnded(.init(app: app, known: record.tasks[task] != nil, task: task)))
        settle(app)
    }

    /// When the notice is due, gives each open task with a handler its expiration order, once per run.
    mutating func orderExpirations(_ app: String, _ record: InstalledApp) {
        guard let due = record.expirationOrderDue, due <= now, let deadline = record.taskDeadline else { return }
        for (id, task) in record.tasks where task.expirationHandler && !task.isExpiring {
            emit(.taskExpiring(.init(app: app, deadline: deadline, task: id)))
        }
    }
}
