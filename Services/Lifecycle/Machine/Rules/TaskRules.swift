import Contracts
import Machines
import OrderedCollections
import Timeline

// Background tasks: assertions that keep an app from suspension, for a time that all of them share.
extension Decision<LifecycleMachine> {
    /// Invalid where leaving the foreground ends the app, where it ends already, where the time of this run is over, and where
    /// very many are open.
    mutating func beginTask(_ app: String, _ request: TaskRequest) throws(LifecycleRefusal) {
        let record = try running(app)
        let remaining = record.backgroundTimeRemaining(at: now)
        guard !endsOnLeaving(record), record.ending == nil, remaining != .zero,
            record.tasks.count < LifecyclePolicy.openTasks
        else { throw .invalidTask }
        emit(
            .taskBegun(
                .init(
                    app: app, expirationHandler: request.expirationHandler, name: request.name,
                    secondsRemaining: remaining, task: identifier())))
        settle(app)
    }

    /// Ending what is not open is logged, and harmless.
    mutating func endTask(_ app: String, _ task: String) throws(LifecycleRefusal) {
        let record = try running(app)
        emit(.taskEnded(.init(app: app, known: record.tasks[task] != nil, task: task)))
        settle(app)
    }

    /// Once the notice is due, every open task that has a handler gets its order, once a run.
    mutating func orderExpirations(_ app: String, _ record: InstalledApp) {
        guard let due = record.expirationOrderDue, due <= now, let deadline = record.taskDeadline else { return }
        for (id, task) in record.tasks where task.expirationHandler && !task.isExpiring {
            emit(.taskExpiring(.init(app: app, deadline: deadline, task: id)))
        }
    }
}
