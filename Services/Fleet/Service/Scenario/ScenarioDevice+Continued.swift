import Contracts
import Records
import Scenarios
import Timeline

// Continued processing tasks: the user starts the work on screen, and it goes on in the background.
extension ScenarioDevice {
    /// The longest time between two reports of progress (our choice).
    static let progressPause = Interval.seconds(20)

    /// Schedules the task of an app that the person opened, if the person starts one.
    func scheduleContinuedTask(of app: Int, at time: Instant) {
        guard let plan = scenario.apps[app].continuedProcessing, profile.has(.continuedProcessingTasks) else { return }
        var random = draw(.continuedProcessing)
        if random.holds(plan.share) {
            schedule(.submitContinuedTask, of: app, after: Self.timeToActivity, from: time)
        }
    }

    /// Submits the task of an app. The person may have left the app already.
    func submitContinuedTask(_ app: ScenarioApp) async throws(CancellationError) {
        guard let plan = app.continuedProcessing, try await state().state(of: app.id)?.isForeground == true else {
            return
        }
        continuedTasks += 1
        var request = BackgroundTaskRequest(
            app.continuedProcessingPrefix + String(continuedTasks), .continuedProcessing)
        request.title = "Export"
        request.subtitle = "Number \(continuedTasks)"
        request.strategy = plan.strategy
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
        let takes = max(.seconds(1), plan.takes.drawn(&random))
        let parts = Int((takes.milliseconds - 1) / Self.progressPause.milliseconds) + 1
        for part in 1...parts {
            let pause = Interval(milliseconds: takes.milliseconds * Int64(part) / Int64(parts))
            schedule(.continueTask(wake: wake, part: part, of: parts), of: app, after: pause, from: time)
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
