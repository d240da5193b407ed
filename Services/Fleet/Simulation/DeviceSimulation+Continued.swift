import Contracts
import FetchCore
import LifecycleCore
import OrderedCollections
import Scenarios
import Timeline

// Continued processing tasks: the user starts the work on screen, and it goes on in the background.
extension DeviceSimulation {
    /// The longest time between two reports of progress (our choice).
    static let progressPause = Interval.seconds(20.0)

    /// Schedules the task of an app that the person opened, if the person starts one.
    mutating func scheduleContinuedTask(of app: Int, _ context: PartitionContext) {
        guard let plan = context.plan.scenario.apps[app].continuedProcessing, profile.has(.continuedProcessingTasks)
        else { return }
        var random = draw(.continuedProcessing, context)
        if random.holds(plan.share) { schedule(.submitContinuedTask, of: app, after: Self.timeToActivity) }
    }

    /// Submits the task of an app. The person may have left the app already.
    mutating func submitContinuedTask(_ app: ScenarioApp, _ context: inout PartitionContext) throws {
        guard let plan = app.continuedProcessing, lifecycle.state.apps[app.id]?.state.isForeground == true else {
            return
        }
        continuedTasks += 1
        var request = BackgroundTaskRequest(
            app.continuedProcessingPrefix + String(continuedTasks), .continuedProcessing)
        request.title = "Export"
        request.subtitle = "Number \(continuedTasks)"
        request.strategy = plan.strategy
        try submit(.submitTask(app: app.id, request), &context)
    }

    /// The launch handler of a task: it works in equal parts, and reports progress after each.
    mutating func beginContinuedTask(_ wake: String, of app: Int, _ context: PartitionContext) {
        guard let plan = context.plan.scenario.apps[app].continuedProcessing else { return }
        let name = context.plan.scenario.apps[app].id
        guard !activeFaults.contains(where: { faults[$0].kind == .neverReturns(app: name) }) else {
            hangingTasks.insert(wake)
            return
        }
        var random = draw(.continuedProcessing, context)
        let takes = max(.seconds(1.0), plan.takes.drawn(&random))
        let parts = Int((takes.milliseconds - 1) / Self.progressPause.milliseconds) + 1
        for part in 1...parts {
            let time = Interval(milliseconds: takes.milliseconds * Int64(part) / Int64(parts))
            schedule(.continueTask(wake: wake, part: part, of: parts), of: app, after: time)
        }
    }

    /// Reports the progress of a task, and its end after the last part.
    mutating func continueTask(
        _ wake: String, _ part: Int, of parts: Int, _ app: ScenarioApp,
        _ context: inout PartitionContext
    ) throws {
        guard lifecycle.state.apps[app.id]?.wakes[wake] != nil else { return }
        guard part < parts else {
            try submit(.completeWake(app: app.id, wake: wake, WakeCompletion(success: true)), &context)
            return
        }
        let progress = TaskProgress(completedUnitCount: part, totalUnitCount: parts)
        try submit(.reportProgress(app: app.id, wake: wake, progress), &context)
    }
}
