import Contracts
import OrderedCollections
import Timeline

// Applies events about task requests.
extension FetchMachine {
    mutating func apply(_ event: FetchEvent.TaskSubmitted, at time: Instant) {
        var pending = PendingTask()
        pending.request = event.request
        pending.submittedAt = time
        // A replaced request moves to the end, because it was submitted last.
        change(event.app) { app in
            app.tasks.removeValue(forKey: event.request.identifier)
            app.tasks[event.request.identifier] = pending
        }
    }

    mutating func apply(_ event: FetchEvent.TaskScheduled) {
        var wait = TaskWait()
        wait.at = event.at
        wait.aim = event.aim
        wait.ceiling = event.ceiling
        wait.earliest = event.earliest ?? event.at ?? .epoch
        wait.blockers = event.blockers
        change(event.app) { $0.tasks[event.identifier]?.wait = wait }
    }

    mutating func apply(_ event: FetchEvent.TaskDue, at time: Instant) {
        if !event.simulated { wake(at: time) }
        change(event.app) { app in
            var running = RunningTask()
            running.submission = app.tasks[event.identifier]?.request ?? BackgroundTaskRequest()
            running.request = event.request
            running.dueAt = time
            running.answerBy = event.answerBy ?? time
            running.simulated = event.simulated
            app.runningTask = running
            app.tasks[event.identifier]?.run = event.request
            for identifier in app.tasks.keys { app.tasks[identifier]?.wait = nil }
        }
    }

    /// Starts a run and removes its request, unless the app has submitted a new one meanwhile.
    mutating func apply(_ event: FetchEvent.TaskStarted, at time: Instant) {
        change(event.app) { app in
            app.runningTask?.startedAt = time
            app.runningTask?.wake = event.wake
            app.runningTask?.answerBy = event.answerBy
            if app.tasks[event.identifier]?.run == event.request { app.tasks.removeValue(forKey: event.identifier) }
        }
    }

    mutating func apply(_ event: FetchEvent.TaskRecorded, at time: Instant) {
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
