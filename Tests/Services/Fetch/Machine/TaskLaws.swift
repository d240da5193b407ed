import Contracts
import FetchCore
import RandomScenarios
import Machines
import OrderedCollections
import MachineTesting
import Testing
import Timeline

/// The invariants of task requests in every scenario.
enum TaskLaws {
    /// The number of occasions, which shows invariants that were never tested.
    struct Tally: CustomStringConvertible {
        var results: [TaskResult: Int] = [:]
        var scheduled: [TaskRequestKind: Int] = [:]
        var stops: [TaskStopCause: Int] = [:]

        mutating func add(_ other: Tally) {
            results.merge(other.results, uniquingKeysWith: +)
            scheduled.merge(other.scheduled, uniquingKeysWith: +)
            stops.merge(other.stops, uniquingKeysWith: +)
        }

        var isEnough: Bool {
            TaskResult.allCases.allSatisfy { results[$0, default: 0] >= 1 }
                && TaskRequestKind.allCases.allSatisfy { scheduled[$0, default: 0] >= 5 }
                && TaskStopCause.allCases.allSatisfy { stops[$0, default: 0] >= 1 }
        }

        var description: String { "\(results) \(scheduled) \(stops)" }
    }

    static func check(_ app: ScheduledApp) throws {
        let refreshes = app.tasks.values.count { $0.request.kind == .refresh }
        try #require(refreshes <= 1 && app.tasks.count - refreshes <= 10, "the limit of pending requests holds")
        for (identifier, task) in app.tasks {
            try #require(task.request.identifier == identifier)
            try #require((app.runningTask == nil) == (task.wait != nil), "a request waits unless a task runs")
            guard let wait = task.wait else { continue }
            try #require((wait.at == nil) != wait.blockers.isEmpty, "there is a time or a reason")
        }
        let queued = app.continuedTasks.values.count { $0.run == nil }
        try #require(queued <= 10 && (queued == 0 || app.state != .notRunning), "the queue ends with the process")
        if let running = app.runningTask {
            try #require(running.startedAt != nil || running.wake == nil)
        }
    }

    /// Checks that an app has one run at a time, that no run is blocked or early, and that each run ends.
    static func check(_ log: [Event], until end: Instant, policy: FetchPolicy) throws -> Tally {
        var tally = Tally()
        var device = FetchMachine()
        var running: [String: FetchEvent.TaskDue] = [:]
        var stopped: Set<String> = []
        for event in log {
            let own = try FetchEvent(type: event.type, version: event.version, data: event.data)
            switch own {
            case .taskDue(let due) where due.kind == .continuedProcessing:
                try checkContinued(due, device, at: event.time)
                tally.scheduled[due.kind, default: 0] += 1
            case .taskStarted(let started) where device.isContinued(started.request): break
            case .taskStopped(let stop) where device.isContinued(stop.request):
                try #require(stop.cause == .simulated || stop.cause == .userCancelled)
                try #require(stopped.insert(stop.request).inserted, "a run is stopped once")
                tally.stops[stop.cause, default: 0] += 1
            case .taskRecorded(let record) where record.kind == .continuedProcessing:
                try #require(device.isContinued(record.request), "only a run in progress ends")
                try #require(record.result != .stopped || stopped.contains(record.request))
                tally.results[record.result, default: 0] += 1
            case .taskDue(let due):
                let name = try #require(due.app)
                let other = running.updateValue(due, forKey: name)
                try #require(other == nil, "one task of an app at a time")
                try checkDue(due, try #require(device.apps[name]), device, at: event.time, policy)
                if !due.simulated { tally.scheduled[due.kind, default: 0] += 1 }
            case .taskStarted(let started):
                try #require(running[started.app ?? ""]?.request == started.request, "only a due run starts")
            case .taskStopped(let stop):
                let due = try #require(running[stop.app ?? ""], "only a run in progress is stopped")
                let isFirst = stopped.insert(stop.request).inserted
                try #require(due.request == stop.request && isFirst, "a run is stopped once")
                try #require(due.kind.isProcessing || stop.cause == .simulated, "only a tester stops a refresh")
                tally.stops[stop.cause, default: 0] += 1
            case .taskRecorded(let record):
                let ended = running.removeValue(forKey: record.app ?? "")
                let due = try #require(ended, "only a run in progress ends")
                try #require(due.request == record.request && due.identifier == record.identifier)
                try #require((record.refusal != nil) == (record.result == .refused))
                try #require(record.result != .stopped || stopped.contains(record.request))
                tally.results[record.result, default: 0] += 1
            default: break
            }
            device.apply(own, at: event.time)
        }
        for due in running.values {
            let since = try #require(device.apps[due.app ?? ""]?.runningTask).dueAt
            try #require(since > end - .hours(1), "each run has an end")
        }
        return tally
    }

    private static func checkContinued(
        _ due: FetchEvent.TaskDue, _ device: FetchMachine, at moment: Instant
    ) throws {
        let all = device.apps.values.flatMap(\.continuedTasks.values)
        try #require(all.count { $0.run != nil } < FetchPolicy.continuedTasksPerDevice, "the device has room")
        let task = try #require(device.apps[due.app ?? ""]?.continuedTasks[due.identifier])
        try #require(task.run == nil, "only a task in the queue comes due")
        try #require(
            all.allSatisfy { $0.run != nil || $0.submittedAt >= task.submittedAt }, "the oldest task comes first")
        try #require(
            task.request.strategy != .fail || task.submittedAt == moment, "a task that may not wait starts at once")
    }

    private static func checkDue(
        _ due: FetchEvent.TaskDue, _ app: ScheduledApp, _ device: FetchMachine, at moment: Instant,
        _ policy: FetchPolicy
    ) throws {
        let task = try #require(app.tasks[due.identifier], "only a pending request comes due")
        let blockers = Evaluation(device: device, app: app, policy: policy).blockers(of: task.request)
        guard !due.simulated else {
            let rules: Set<TaskFactor> = [
                .profile, .manifest, .launchHandler, .lowPowerMode, .appSwitcher, .backgroundRefresh,
            ]
            try #require(rules.isDisjoint(with: blockers), "a simulation obeys the platform")
            return
        }
        try #require(blockers.isEmpty, "no factor blocks it")
        try #require(task.request.earliestBeginDate.map { $0 <= moment } ?? true, "not before its date")
        try #require(task.refusedAt.map { $0 + policy.floor <= moment } ?? true, "not at once after a refusal")
        guard due.kind.isProcessing else { return }
        guard !task.request.requiresUnlockedDevice else {
            try #require(device.lockedAt == nil, "its data is readable")
            return
        }
        let lockedAt = try #require(device.lockedAt, "the device is locked")
        try #require(lockedAt + policy.idleTime <= moment, "the device is unused for some time")
    }

    /// Checks in a copy that the next task runs at its forecast time, or that no task runs without a forecast.
    static func holdToItsWord(_ name: String, _ life: FetchLife) throws -> Bool {
        guard let app = life.device.apps[name], app.runningTask == nil else { return false }
        var future = life.runtime
        guard let next = app.tasks.values.compactMap({ $0.wait?.at }).min() else {
            let events = try future.advance(to: life.now + .hours(12))
            try #require(!isDue(name, events), "no run without a forecast")
            return false
        }
        // A distant time takes too long to simulate.
        guard next < life.now + .days(2) else { return false }
        try #require(!isDue(name, try future.advance(to: next - .milliseconds(1))), "not before the forecast")
        try #require(isDue(name, try future.advance(to: next)), "at the forecast")
        return true
    }

    private static func isDue(_ app: String, _ events: [Event]) -> Bool {
        events.contains { $0.type == FetchEvent.TaskDue.type && $0.app == app }
    }
}

extension FetchMachine {
    /// Whether a run belongs to a continued processing task.
    fileprivate func isContinued(_ run: String) -> Bool {
        apps.values.contains { $0.continuedTasks.values.contains { $0.run?.request == run } }
    }
}
