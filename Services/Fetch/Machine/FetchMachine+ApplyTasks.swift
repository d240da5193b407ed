import Contracts
import OrderedCollections
import Timeline

// Applies events about task requests.
extension FetchMachine {
    mutating func apply(_ event: FetchEvent.TaskSubmitted, at time: Instant) {
        // A replaced request moves to the end, because it was submitted last.
        change(event.app) { app in
            guard event.request.kind != .continuedProcessing else {
                app.continuedTasks.removeValue(forKey: event.request.identifier)
                app.continuedTasks[event.request.identifier] = ContinuedTask(
                    request: event.request, submittedAt: time)
                return
            }
            app.tasks.removeValue(forKey: event.request.identifier)
            app.tasks[event.request.identifier] = PendingTask(request: event.request, submittedAt: time)
        }
    }

    mutating func apply(_ event: FetchEvent.TaskScheduled) {
        let wait = TaskWait(
            aim: event.aim, ceiling: event.ceiling, earliest: event.earliest ?? event.at ?? .epoch, at: event.at,
            blockers: event.blockers)
        change(event.app) { $0.tasks[event.identifier]?.wait = wait }
    }

    mutating func apply(_ event: FetchEvent.TaskCancelled) {
        change(event.app) { app in
            app.tasks.removeValue(forKey: event.identifier)
            if app.isQueued(event.identifier) { app.continuedTasks.removeValue(forKey: event.identifier) }
        }
    }

    mutating func apply(_ event: FetchEvent.TaskDue, at time: Instant) {
        guard event.kind != .continuedProcessing else {
            let run = ContinuedTask.Run(answerBy: event.answerBy, dueAt: time, request: event.request)
            return change(event.app) { $0.continuedTasks[event.identifier]?.run = run }
        }
        if !event.simulated { wake(at: time) }
        change(event.app) { app in
            app.runningTask = RunningTask(
                submission: app.tasks[event.identifier]?.request ?? BackgroundTaskRequest(), request: event.request,
                dueAt: time, answerBy: event.answerBy ?? time, simulated: event.simulated)
            app.tasks[event.identifier]?.run = event.request
            for identifier in app.tasks.keys { app.tasks[identifier]?.wait = nil }
        }
    }

    /// Starts a run and removes its request, unless the app has submitted a new one meanwhile.
    mutating func apply(_ event: FetchEvent.TaskStarted, at time: Instant) {
        change(event.app) { app in
            guard app.continuedTasks[event.identifier]?.run?.request != event.request else {
                app.continuedTasks[event.identifier]?.run?.startedAt = time
                app.continuedTasks[event.identifier]?.run?.wake = event.wake
                app.continuedTasks[event.identifier]?.run?.answerBy = nil
                return
            }
            // An app that is woken runs in the background.
            app.state = .background
            app.runningTask?.startedAt = time
            app.runningTask?.wake = event.wake
            app.runningTask?.answerBy = event.answerBy ?? time
            if app.tasks[event.identifier]?.run == event.request { app.tasks.removeValue(forKey: event.identifier) }
        }
    }

    mutating func apply(_ event: FetchEvent.TaskStopped) {
        change(event.app) { app in
            if app.continuedTasks[event.identifier]?.run?.request == event.request {
                app.continuedTasks[event.identifier]?.run?.stopped = event.cause
            } else {
                app.runningTask?.stopped = event.cause
            }
        }
    }

    mutating func apply(_ event: FetchEvent.TaskRecorded, at time: Instant) {
        guard event.kind != .continuedProcessing else {
            return change(event.app) { $0.continuedTasks.removeValue(forKey: event.identifier) }
        }
        charge(event.app, event.millijoules, event.day.map { ($0, event.bytesReceived ?? 0) })
        change(event.app) { app in
            app.runningTask = nil
            if event.kind == .refresh, event.result == .succeeded { app.newDataAt = time }
            guard app.tasks[event.identifier]?.run == event.request else { return }
            app.tasks[event.identifier]?.run = nil
            app.tasks[event.identifier]?.refusedAt = time
        }
    }
}
