import Contracts
import Machines
import OrderedCollections
import Timeline

// Tasks: created, suspended, resumed, cancelled, timed out.
extension Decision<TransferMachine> {
    mutating func download(_ app: String, _ id: String, _ request: DownloadRequest) throws(TransferRefusal) {
        try requireRunning(app)
        let session = try session(app, id)
        guard !session.isInvalidated else { throw .sessionInvalidated(id) }
        guard WebOrigin(url: request.url) != nil else { throw .unsupportedURL }
        guard session.tasks.count(where: { $0.state != .completed }) < policy.tasksPerSession else {
            throw .tooManyTasks(limit: policy.tasksPerSession)
        }
        // Apple, "isDiscretionary": for tasks started while the app is in the background it is as if it were true.
        let isDiscretionary = session.configuration.isDiscretionary || state.apps[app]?.state != .foreground
        let deadline = now + session.configuration.timeoutIntervalForResource
        let file = identifier()
        let place = TaskPlace(app: app, session: id, task: session.lastTask + 1)
        emit(
            .taskCreated(
                .init(place) { event in
                    event.request = request
                    event.discretionary = isDiscretionary
                    event.deadline = deadline
                    event.file = file
                }))
    }

    /// Nothing happens to a task that is not suspended, as on the platform.
    mutating func resume(_ place: TaskPlace) throws(TransferRefusal) {
        try requireRunning(place.app)
        guard try task(place).state == .suspended else { return }
        emit(.taskResumed(.init(place)))
    }

    mutating func suspend(_ place: TaskPlace) throws(TransferRefusal) {
        try requireRunning(place.app)
        guard try task(place).state == .running else { return }
        endAttempt(place, .suspended)
        emit(.taskSuspended(.init(place)))
    }

    mutating func cancel(_ place: TaskPlace) throws(TransferRefusal) {
        try requireRunning(place.app)
        guard try task(place).state != .completed else { return }
        cancel(place, .cancelled)
    }

    mutating func cancel(_ place: TaskPlace, _ error: TransferFailure) {
        emit(.taskCancelled(.init(place)))
        endAttempt(place, .cancelled)
        complete(place, error)
    }

    /// `timeoutIntervalForResource`: the one limit that a background task has, whatever becomes of its app.
    mutating func expire() {
        for (id, session) in state.sessions {
            for task in session.tasks where task.state != .completed && task.deadline <= now {
                let place = TaskPlace(app: session.app, session: id, task: task.task)
                endAttempt(place, .expired)
                complete(place, .timedOut)
            }
        }
    }

    mutating func complete(_ place: TaskPlace, _ error: TransferFailure?, sha256: String? = nil) {
        guard let task = state.task(place) else { return }
        emit(
            .taskCompleted(
                .init(place) { event in
                    event.bytesReceived = task.bytesReceived
                    event.error = error
                    event.sha256 = sha256
                    event.status = task.response?.status
                }))
    }

    func task(_ place: TaskPlace) throws(TransferRefusal) -> TransferTask {
        guard let task = try session(place.app, place.session)[place.task] else { throw .unknownTask(place.task) }
        return task
    }
}
