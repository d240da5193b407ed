import Contracts
import Machines
import OrderedCollections
import Timeline

// Continued processing tasks (`BGContinuedProcessingTask`): they start on screen and go on in the background as long as they
// make progress.
extension Decision<LifecycleMachine> {
    /// Reports the progress of a task. In the background it extends the time of the task. A report that is not higher than
    /// the last one changes nothing, nor does one after the call of the expiration handler.
    mutating func reportProgress(
        _ app: String, _ wake: String, _ progress: TaskProgress
    ) throws(LifecycleRefusal) {
        guard !(try installed(app).completedWakes.contains(wake)) else { throw .alreadyCompleted }
        guard let open = try running(app).wakes[wake] else { throw .unknownWake(wake) }
        guard open.kind == .continuedProcessingTask else { throw .withoutProgress(open.kind) }
        guard !open.isExpiring, progress.fractionCompleted > open.progress?.fractionCompleted ?? 0 else { return }
        emit(
            .wakeProgressed(
                .init(
                    app: app, completedUnitCount: progress.completedUnitCount,
                    deadline: open.deadline == nil ? nil : now + open.limit, request: open.request,
                    totalUnitCount: progress.totalUnitCount, wake: wake)))
    }

    /// Expires tasks in the background that have reported no progress, when memory becomes short or the device hot (Apple,
    /// `BGContinuedProcessingTask`). That these are the constraints, and the others go on, is our choice.
    mutating func expireStalledTasks() {
        for (app, record) in state.apps where record.state == .background {
            for wake in record.wakes.values where wake.kind == .continuedProcessingTask && wake.progress == nil {
                if let request = wake.request { stopTask(app, request) }
            }
        }
    }
}

extension LifecycleMachine {
    mutating func apply(_ event: LifecycleEvent.WakeProgressed) {
        guard let app = event.app else { return }
        var progress = TaskProgress()
        progress.completedUnitCount = event.completedUnitCount
        progress.totalUnitCount = event.totalUnitCount
        apps[app]?.wakes[event.wake]?.progress = progress
        apps[app]?.wakes[event.wake]?.deadline = event.deadline
    }
}

extension TaskProgress {
    /// `Progress.fractionCompleted`, from 0 to 1.
    var fractionCompleted: Double { min(1, Double(completedUnitCount) / Double(max(1, totalUnitCount))) }
}

extension WakeKind {
    /// The kind of the wake for a task request.
    init(_ kind: TaskRequestKind) {
        switch kind {
        case .refresh: self = .refreshTask
        case .processing, .healthResearch: self = .processingTask
        case .continuedProcessing: self = .continuedProcessingTask
        }
    }
}
