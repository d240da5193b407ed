import Contracts
import Records
import Scenarios
import Timeline

// Continued processing tasks: the user starts the work on screen, and it goes on in the background.
extension ScenarioDevice {
    /// Schedules the task of an app that the person opened, if the person starts one.
    func scheduleContinuedTask(of app: Int, at time: Instant) {
        guard let plan = scenario.apps[app].continuedProcessing, profile.has(.continuedProcessingTasks) else { return }
        var random = draw(.continuedProcessing)
        if random.holds(plan.share) {
            schedule(.submitContinuedTask, of: app, after: DeviceTimes.activity, from: time)
        }
    }

    /// Submits the task of an app. The person may have left the app already.
    func submitContinuedTask(_ app: ScenarioApp) async throws(CancellationError) {
        guard let plan = app.continuedProcessing, try await state().state(of: app.id)?.isForeground == true else {
            return
        }
        continuedTasks += 1
        let request = app.continuedTaskRequest(continuedTasks, plan)
        try await call(.fetch, "POST", "/apps/{app}/task-requests", [app.id], request.document)
    }

    /// The launch handler of a task: it works in equal parts, and reports progress after each.
    func beginContinuedTask(_ wake: String, of app: Int, at time: Instant) {
        guard let plan = scenario.apps[app].continuedProcessing else { return }
        let name = scenario.apps[app].id
        guard !activeFaults.contains(where: { faults[$0].kind == .neverReturns(app: name) }) else {
            hangingTasks.insert(wake)
            return
        }
        var random = draw(.continuedProcessing)
        let ends = plan.ends(&random)
        for (part, end) in zip(1..., ends) {
            schedule(.continueTask(wake: wake, part: part, of: ends.count), of: app, after: end, from: time)
        }
    }

    /// Reports the progress of a task, and its end after the last part.
    func continueTask(_ wake: String, _ part: Int, of parts: Int, _ app: ScenarioApp) async throws(CancellationError) {
        guard let record = try await call(.lifecycle, "GET", "/apps/{app}", [app.id]), record["wakes"]?[wake] != nil
        else { return }
        guard part < parts else {
            try await call(
                .lifecycle, "POST", "/apps/{app}/wakes/{wake}/completion", [app.id, wake],
                WakeCompletion(success: true).document)
            return
        }
        let progress = TaskProgress(completedUnitCount: part, totalUnitCount: parts)
        try await call(.lifecycle, "PUT", "/apps/{app}/wakes/{wake}/progress", [app.id, wake], progress.document)
    }
}
