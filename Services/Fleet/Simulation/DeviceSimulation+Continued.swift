import Contracts
import FetchCore
import LifecycleCore
import OrderedCollections
import Scenarios
import Timeline

// Continued processing tasks: the user starts the work on screen, and it goes on in the background.
extension DeviceSimulation {
    /// Schedules the task of an app that the person opened, if the person starts one.
    mutating func scheduleContinuedTask(of app: Int, _ context: PartitionContext) {
        guard let plan = context.plan.scenario.apps[app].continuedProcessing, profile.has(.continuedProcessingTasks)
        else { return }
        var random = draw(.continuedProcessing, context)
        if random.holds(plan.share) { schedule(.submitContinuedTask, of: app, after: DeviceTimes.activity) }
    }

    /// Submits the task of an app. The person may have left the app already.
    mutating func submitContinuedTask(_ app: ScenarioApp, _ context: inout PartitionContext) throws {
        guard let plan = app.continuedProcessing, lifecycle.state.apps[app.id]?.state.isForeground == true else {
            return
        }
        continuedTasks += 1
        let request = app.continuedTaskRequest(continuedTasks, plan)
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
        let ends = plan.ends(&random)
        for (part, end) in zip(1..., ends) {
            schedule(.continueTask(wake: wake, part: part, of: ends.count), of: app, after: end)
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
