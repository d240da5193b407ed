import Contracts
import FetchMachine
import Lives
import Machines
import OrderedCollections
import TestSupport
import Testing
import Timeline

/// What holds of task requests in any life.
enum TaskLaws {
    /// What happened in lives, so that laws that never had an occasion are noticed.
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
        for kind in TaskRequestKind.allCases {
            let pending = app.tasks.values.count { $0.request.kind == kind }
            try #require(pending <= (kind == .refresh ? 1 : 10), "no more are pending than the limit")
        }
        for (identifier, task) in app.tasks {
            try #require(task.request.identifier == identifier)
            try #require((app.runningTask == nil) == (task.wait != nil), "what is pending waits unless a task runs")
            guard let wait = task.wait else { continue }
            try #require((wait.at == nil) != wait.blockers.isEmpty, "there is a moment, or a reason")
        }
        if let running = app.runningTask {
            try #require(running.startedAt != nil || running.wake == nil)
        }
    }

    /// One run an app, none under a factor that blocks, not before its date, and an end to each.
    static func check(_ log: [Event], until end: Instant, policy: FetchPolicy) throws -> Tally {
        var tally = Tally()
        var device = FetchMachine()
        var running: [String: FetchEvent.TaskDue] = [:]
        var stopped: Set<String> = []
        for event in log {
            let own = try FetchEvent(type: event.type, version: event.version, data: event.data)
            switch own {
            case .taskDue(let due):
                let name = try #require(due.app)
                let other = running.updateValue(due, forKey: name)
                try #require(other == nil, "one task of an app at a time")
                try checkDue(due, try #require(device.apps[name]), device, at: event.time, policy)
                if !due.simulated { tally.scheduled[due.kind, default: 0] += 1 }
            case .taskStarted(let started):
                try #require(running[started.app ?? ""]?.request == started.request, "only what is due starts")
            case .taskStopped(let stop):
                let due = try #require(running[stop.app ?? ""], "only what runs is stopped")
                let isFirst = stopped.insert(stop.request).inserted
                try #require(due.request == stop.request && isFirst, "once")
                try #require(due.kind == .processing || stop.cause == .simulated, "a refresh has its time")
                tally.stops[stop.cause, default: 0] += 1
            case .taskRecorded(let record):
                let ended = running.removeValue(forKey: record.app ?? "")
                let due = try #require(ended, "only what runs ends")
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

    private static func checkDue(
        _ due: FetchEvent.TaskDue, _ app: ScheduledApp, _ device: FetchMachine, at moment: Instant,
        _ policy: FetchPolicy
    ) throws {
        let task = try #require(app.tasks[due.identifier], "only what is pending comes due")
        let blockers = Judgement(device: device, app: app, policy: policy).blockers(of: task.request)
        guard !due.simulated else {
            let rules: Set<TaskFactor> = [.profile, .manifest, .lowPowerMode, .appSwitcher, .backgroundRefresh]
            try #require(rules.isDisjoint(with: blockers), "a simulation does not pass the rules of the platform")
            return
        }
        try #require(blockers.isEmpty, "nothing stands against it")
        try #require(task.request.earliestBeginDate.map { $0 <= moment } ?? true, "not before its date")
        try #require(task.refusedAt.map { $0 + policy.floor <= moment } ?? true, "not at once after a refusal")
        guard due.kind == .processing else { return }
        let lockedAt = try #require(device.lockedAt, "nobody uses the device")
        try #require(lockedAt + policy.idleTime <= moment, "it was left alone for a while")
    }

    /// Lets time pass in a copy of the life: the next task runs at the moment that is named, or none does.
    static func holdToItsWord(_ name: String, _ life: FetchLife) throws -> Bool {
        guard let app = life.device.apps[name], app.runningTask == nil else { return false }
        var future = life.runtime
        guard let next = app.tasks.values.compactMap({ $0.wait?.at }).min() else {
            let events = try future.advance(to: life.now + .hours(12))
            try #require(!isDue(name, events), "nothing runs that was not foretold")
            return false
        }
        // What is far off takes long to live through.
        guard next < life.now + .days(2) else { return false }
        try #require(!isDue(name, try future.advance(to: next - .milliseconds(1))), "not before the moment")
        try #require(isDue(name, try future.advance(to: next)), "at the moment")
        return true
    }

    private static func isDue(_ app: String, _ events: [Event]) -> Bool {
        events.contains { $0.type == FetchEvent.TaskDue.type && $0.app == app }
    }
}
