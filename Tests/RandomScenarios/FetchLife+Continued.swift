import Contracts
import FetchCore
import Machines
import MachineTesting
import OrderedCollections
import Timeline

// Continued processing tasks of a random life.
extension FetchLife {
    /// Answers a run that is due, usually in time, and later ends it.
    ///
    /// - Returns: whether there was an answer.
    mutating func hearOfContinuedTask() throws -> Bool {
        let isDue = device.apps.first { $0.value.dueContinuedRun != nil }
        if let (app, record) = isDue, let run = record.dueContinuedRun, !chance(4) {
            try answer(app, run)
            return true
        }
        let running = device.apps.first { $0.value.continuedTasks.values.contains { $0.run != nil } }
        guard let (app, record) = running, chance(8),
            let run = record.continuedTasks.values.compactMap(\.run).randomElement(using: &random)
        else { return false }
        try answer(app, run)
        return true
    }

    mutating func continuedTaskCommand(_ app: String) -> FetchCommand {
        let waiting = device.apps[app]?.continuedTasks.keys.randomElement(using: &random) ?? "none"
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return .cancelTask(app: app, identifier: waiting)
        case 1, 2: return .cancelContinuedTask(app: app, identifier: waiting)
        case 3: return .simulateTaskExpiration(app: app, identifier: waiting)
        default:
            let number = Int.random(in: 0..<14, using: &random)
            var request = BackgroundTaskRequest("\(app).\(number)", .continuedProcessing)
            request.strategy = chance(3) ? .fail : nil
            request.requiredResources = chance(12) ? [.gpu] : []
            return .submitTask(app: app, request)
        }
    }

    mutating func answer(_ app: String, _ run: ContinuedTask.Run) throws {
        let kind = WakeKind.continuedProcessingTask
        guard run.startedAt != nil else {
            if chance(6) {
                return try tell(
                    LifecycleEvent.WakeRefused(
                        app: app, kind: kind, reason: .task, refusal: .terminating, request: run.request))
            }
            let isOnScreen = device.apps[app]?.inForeground == true
            return try tell(
                LifecycleEvent.AppWoken(
                    app: app, callbacks: [], deadline: now + .minutes(1), from: isOnScreen ? .active : .suspended,
                    kind: kind, limit: .minutes(1), reason: .task, request: run.request,
                    state: isOnScreen ? .active : .background, wake: "w"))
        }
        if chance(6) {
            return try tell(
                LifecycleEvent.AppTerminated(
                    app: app, callbacks: [], from: .background, reason: chance(2) ? .taskRequestTimeout : .forceQuit))
        }
        try tell(
            LifecycleEvent.WakeCompleted(
                app: app, kind: kind, reason: .task, request: run.request, success: run.stopped == nil && !chance(3),
                wake: "w"))
    }
}

extension ScheduledApp {
    /// The run of a continued processing task that is due and has no answer.
    var dueContinuedRun: ContinuedTask.Run? {
        continuedTasks.values.first { $0.run != nil && $0.run?.startedAt == nil }?.run
    }
}
