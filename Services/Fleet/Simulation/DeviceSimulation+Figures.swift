import OrderedCollections
import Contracts
import FetchCore
import LifecycleCore
import PushCore
import Reports
import Scenarios
import Timeline
import TransferCore

// Statistics of a device while it runs.
extension DeviceSimulation {
    /// - Parameter app: The app of the event; nil if it has none.
    mutating func observe(_ event: MachineEvent, _ app: Int?, at time: Instant, _ context: inout PartitionContext) {
        switch event {
        case .lifecycle(let event): if let app { observe(event.family, app, at: time, &context) }
        case .fetch(let event): if let app { observe(event.family, app, at: time, &context) }
        case .push(let event): observe(event.family, at: time, &context)
        case .transfer(let event): observe(event.family, at: time, &context)
        }
    }

    private mutating func observe(
        _ event: LifecycleEvent, _ app: Int, at time: Instant, _ context: inout PartitionContext
    ) {
        enter(lifecycle.state.appState(context.plan.scenario.apps[app].id), app, at: time, &context)
        switch event {
        case .appWoken(let woken):
            context.figures[app].wakes[(woken.kind?.rawValue ?? woken.reason.rawValue), default: 0] += 1
        case .wakeRefused(let refused): context.figures[app].wakesRefused[refused.refusal.rawValue, default: 0] += 1
        case .appTerminated(let ended):
            if ended.reason == .crash { context.figures[app].crashes += 1 }
            guard ended.reason.isOfSystem else { return }
            context.figures[app].kills[ended.code?.rawValue ?? ended.reason.rawValue, default: 0] += 1
        default: return
        }
    }

    /// Counts the time in the last state of an app, and begins the next one.
    private mutating func enter(_ state: AppState, _ app: Int, at time: Instant, _ context: inout PartitionContext) {
        guard state != apps[app].state else { return }
        countState(of: app, until: time, &context)
        apps[app].state = state
    }

    private mutating func countState(of app: Int, until time: Instant, _ context: inout PartitionContext) {
        context.figures.states.add(apps[app].state, from: apps[app].stateSince, until: time)
        apps[app].stateSince = time
    }

    private mutating func observe(
        _ event: FetchEvent, _ app: Int, at time: Instant, _ context: inout PartitionContext
    ) {
        switch event {
        case .appOpened(let opened):
            if let age = opened.contentAgeSeconds { context.figures[app].contentAges.append(age) }
            context.figures.openings[opened.hourOfWeek % 24] += 1
        case .refreshRecorded(let record):
            context.figures.energy += record.millijoules
            guard record.result == .newData || record.result == .noData else { return }
            context.figures[app].refreshes.append(time - record.dueAt)
            context.figures.refreshesByHour[hour(at: time, context)] += 1
        case .taskRecorded(let record):
            context.figures.energy += record.millijoules
            guard record.kind == .refresh, record.result == .succeeded else { return }
            context.figures[app].refreshes.append(time - record.dueAt)
            context.figures.refreshesByHour[hour(at: time, context)] += 1
        default: return
        }
    }

    private func hour(at time: Instant, _ context: PartitionContext) -> Int {
        let offset = context.plan.offset(of: device.timeZone.name, at: time)
        let local = (time + offset).milliseconds / Interval.hours(1).milliseconds
        return Int(local % 24)
    }

    private mutating func observe(_ event: TransferEvent, at time: Instant, _ context: inout PartitionContext) {
        switch event {
        case .deviceUpdated(let updated): movingNetwork = updated.network ?? movingNetwork
        case .progressMade(let made): context.figures.addBytes(made.bytesWritten, in: movingNetwork)
        case .bodySent(let sent): context.figures.addBytes(sent.bytesSent, in: movingNetwork)
        case .taskCreated(let created):
            guard let app = context.appIndexes[created.taskKey.app] else { return }
            context.figures[app].transfersStarted += 1
            transferStarts[created.taskKey] = time
        case .taskCompleted(let completed):
            guard let app = context.appIndexes[completed.taskKey.app],
                let start = transferStarts.removeValue(forKey: completed.taskKey), completed.error == nil
            else { return }
            context.figures[app].transfers.append(time - start)
        default: return
        }
    }

    // MARK: Pushes

    private mutating func observe(_ event: PushEvent, at time: Instant, _ context: inout PartitionContext) {
        guard let status = event.status else { return }
        if case .notificationDelivered(let delivered) = event, let push = awaited[delivered.notification],
            !push.isDelivered
        {
            awaited[delivered.notification]?.isDelivered = true
            context.figures[push.app][push.content].delivered += 1
        }
        if status.arrives { arrive(status.notification, at: time, &context) }
        switch event {
        case .notificationDiscarded(let discarded):
            lose(discarded.notification, discarded.status.rawValue, &context)
        case .notificationReplaced(let replaced): lose(replaced.notification, replaced.status.rawValue, &context)
        default: return
        }
    }

    private mutating func arrive(_ id: String, at time: Instant, _ context: inout PartitionContext) {
        guard let push = awaited.removeValue(forKey: id) else { return }
        let why = trails.lastWait(of: id) ?? "Under way"
        let trail = trails.end(id)
        context.figures[push.app][push.content].delays.append(time - push.sentAt)
        guard time - push.sentAt > context.plan.scenario.lateAfter.interval else { return }
        context.figures[push.app][push.content].late[why, default: 0] += 1
        var history = history(of: id, push, context)
        history.verdict = "late"
        history.why = why
        history.arrivedAt = time
        context.figures[push.app][push.content].worst.add(history) { trail.steps }
    }

    private mutating func lose(_ id: String, _ why: String, _ context: inout PartitionContext) {
        guard let push = awaited.removeValue(forKey: id) else { return }
        context.figures[push.app][push.content].never[why, default: 0] += 1
        let trail = trails.end(id)
        var history = history(of: id, push, context)
        history.verdict = "never"
        history.why = why
        context.figures[push.app][push.content].worst.add(history) { trail.steps }
    }

    private func history(of id: String, _ push: AwaitedPush, _ context: PartitionContext) -> PushHistory {
        var history = PushHistory()
        history.app = context.plan.scenario.apps[push.app].id
        history.content = push.content.rawValue
        history.device = device.name
        history.notification = id
        history.sentAt = push.sentAt
        return history
    }

    /// Counts the states of the apps, and the pushes that have not arrived, when the simulation ends.
    mutating func finish(at end: Instant, _ context: inout PartitionContext) {
        for app in apps.indices { countState(of: app, until: end, &context) }
        for id in awaited.keys.sorted() {
            let why =
                switch push.state.messages[id]?.stage {
                case .stored: "Still stored"
                case .held: "Still held"
                case .received, .inFlight, .acknowledged: "Still under way"
                case nil: awaited[id]?.isReceived == true ? "Not Shown" : "Still under way"
                }
            lose(id, why, &context)
        }
        examineEnd(at: end, &context)
    }
}
