public import Contracts
import OrderedCollections
public import Timeline

extension FetchMachine {
    public mutating func apply(_ event: FetchEvent, at time: Instant) {
        switch event {
        case .deviceDescribed(let event):
            profile = event.profile
            fleet = event.fleet
            timeZone = event.timeZone
        case .deviceForgotten: self = FetchMachine()
        case .conditionsChanged(let event):
            conditions = conditions.merging(event.conditions)
            if let locked = event.conditions.locked { lockedAt = locked ? lockedAt ?? time : nil }
            backgroundRefresh = event.backgroundRefresh ?? backgroundRefresh
            isBackgroundRefreshRestricted = event.backgroundRefreshRestricted ?? isBackgroundRefreshRestricted
            isPoweredOn = event.poweredOn ?? isPoweredOn
        case .appChanged(let event): apply(event)
        case .appOpened(let event):
            change(event.app) { app in
                app.inForeground = true
                app.openedAt = time
                app.forceQuit = false
                app.usage.learn(hour: event.hourOfWeek, at: time)
            }
        case .appForgotten(let event): if let app = event.app { apps.removeValue(forKey: app) }
        case .intervalSet(let event):
            change(event.app) { app in
                app.interval = event.interval
                app.intervalSetAt = time
            }
        case .refreshScheduled(let event):
            change(event.app) { app in
                let wait = event.earliest.map { Wait(at: event.at, earliest: $0, blockers: event.blockers) }
                app.wait(wait, from: time)
            }
        case .refreshDue(let event): apply(event, at: time)
        case .refreshStarted(let event):
            change(event.app) { app in
                app.running?.startedAt = time
                app.running?.wake = event.wake
                app.running?.answerBy = event.answerBy
            }
        case .refreshRecorded(let event): apply(event, at: time)
        case .taskSubmitted(let event): apply(event, at: time)
        case .taskCancelled(let event): change(event.app) { $0.tasks.removeValue(forKey: event.identifier) }
        case .taskScheduled(let event): apply(event)
        case .taskDue(let event): apply(event, at: time)
        case .taskStarted(let event): apply(event, at: time)
        case .taskStopped(let event): change(event.app) { $0.runningTask?.stopped = event.cause }
        case .taskRecorded(let event): apply(event, at: time)
        }
    }

    mutating func change(_ app: String?, _ body: (inout ScheduledApp) -> Void) {
        guard let app, var record = apps[app] else { return }
        body(&record)
        apps[app] = record
    }

    private mutating func apply(_ event: FetchEvent.AppChanged) {
        guard let app = event.app else { return }
        var record = apps[app] ?? ScheduledApp()
        record.declaresFetch = event.declaresFetch ?? record.declaresFetch
        record.declaresProcessing = event.declaresProcessing ?? record.declaresProcessing
        record.permittedTaskIdentifiers = event.permittedTaskIdentifiers ?? record.permittedTaskIdentifiers
        record.backgroundRefresh = event.backgroundRefresh ?? record.backgroundRefresh
        record.forceQuit = event.forceQuit ?? record.forceQuit
        record.inForeground = event.inForeground ?? record.inForeground
        apps[app] = record
    }

    private mutating func apply(_ event: FetchEvent.RefreshDue, at time: Instant) {
        var running = RunningFetch()
        running.fetch = event.fetch
        running.dueAt = time
        running.answerBy = event.answerBy ?? time
        running.simulated = event.simulated
        change(event.app) { app in
            app.running = running
            app.wait(nil, from: time)
        }
    }

    /// A refused refresh did not happen: the interval goes on counting from the one before.
    private mutating func apply(_ event: FetchEvent.RefreshRecorded, at time: Instant) {
        change(event.app) { app in
            app.running = nil
            switch event.result {
            case .refused: app.refusedAt = time
            case .newData:
                app.endedAt = time
                app.newDataAt = time
            case .noData, .failed, .timedOut: app.endedAt = time
            }
        }
    }
}
