public import Contracts
import OrderedCollections
public import Timeline

extension FetchMachine {
    public mutating func apply(_ event: FetchEvent, at time: Instant) {
        switch event {
        case .deviceUpdated(let event):
            profile = event.profile
            fleet = event.fleet
            timeZone = event.timeZone
        case .deviceRemoved: self = FetchMachine()
        case .conditionsChanged(let event):
            conditions = conditions.merging(event.conditions)
            if let locked = event.conditions.locked { lockedAt = locked ? lockedAt ?? time : nil }
            backgroundRefresh = event.backgroundRefresh ?? backgroundRefresh
            isBackgroundRefreshRestricted = event.backgroundRefreshRestricted ?? isBackgroundRefreshRestricted
            isPoweredOn = event.poweredOn ?? isPoweredOn
        case .appUpdated(let event): apply(event, at: time)
        case .appOpened(let event):
            change(event.app) { app in
                app.state = .foreground
                app.contentAges.learn(event.contentAgeSeconds)
                app.openedAt = time
                app.forceQuit = false
                app.usage.learn(hour: event.hourOfWeek, at: time)
            }
        case .appRemoved(let event): if let app = event.app { apps.removeValue(forKey: app) }
        case .intervalSet(let event):
            change(event.app) { app in
                app.interval = event.interval
                app.intervalSetAt = time
            }
        case .refreshScheduled(let event):
            change(event.app) { $0.wait = event.wait }
        case .refreshDue(let event): apply(event, at: time)
        case .refreshStarted(let event):
            change(event.app) { app in
                // An app that is woken runs in the background.
                app.state = .background
                app.running?.startedAt = time
                app.running?.wake = event.wake
                app.running?.answerBy = event.answerBy
            }
        case .refreshRecorded(let event): apply(event, at: time)
        case .taskSubmitted(let event): apply(event, at: time)
        case .taskCancelled(let event): apply(event)
        case .taskScheduled(let event): apply(event)
        case .taskDue(let event): apply(event, at: time)
        case .taskStarted(let event): apply(event, at: time)
        case .taskStopped(let event): apply(event)
        case .taskRecorded(let event): apply(event, at: time)
        case .outageRecorded(let event): extendLimits(by: event.until - event.from)
        }
    }

    /// Records a wake, unless it belongs to the last one.
    mutating func wake(at time: Instant) {
        if let wokenAt, time <= wokenAt + FetchPolicy.coalescing { return }
        wokenAt = time
    }

    mutating func change(_ app: String?, _ body: (inout ScheduledApp) -> Void) {
        guard let app, let index = apps.index(forKey: app) else { return }
        body(&apps.values[index])
    }

    /// Charges energy and data to the app and the device. Without a day it does nothing.
    mutating func charge(_ app: String?, _ millijoules: Int, _ charge: (day: Instant, bytes: Int)?) {
        guard let charge else { return }
        budgetUsage.charge(millijoules: millijoules, bytes: charge.bytes, day: charge.day)
        change(app) { $0.budgetUsage.charge(millijoules: millijoules, bytes: charge.bytes, day: charge.day) }
    }

    private mutating func apply(_ event: FetchEvent.AppUpdated, at time: Instant) {
        guard let app = event.app else { return }
        var record = apps[app] ?? ScheduledApp()
        record.declaresFetch = event.declaresFetch ?? record.declaresFetch
        record.declaresProcessing = event.declaresProcessing ?? record.declaresProcessing
        record.permittedTaskIdentifiers = event.permittedTaskIdentifiers ?? record.permittedTaskIdentifiers
        record.isEntitledToBackgroundGPU = event.isEntitledToBackgroundGPU ?? record.isEntitledToBackgroundGPU
        record.isEntitledToHealthResearch = event.isEntitledToHealthResearch ?? record.isEntitledToHealthResearch
        record.missingLaunchHandlers = event.missingLaunchHandlers ?? record.missingLaunchHandlers
        record.backgroundRefresh = event.backgroundRefresh ?? record.backgroundRefresh
        record.forceQuit = event.forceQuit ?? record.forceQuit
        record.state = event.state ?? record.state
        if event.hasNewData == true { record.newDataAt = time }
        apps[app] = record
    }

    private mutating func apply(_ event: FetchEvent.RefreshDue, at time: Instant) {
        if !event.simulated { wake(at: time) }
        change(event.app) { app in
            app.running = RunningFetch(
                answerBy: event.answerBy ?? time, dueAt: time, fetch: event.fetch, simulated: event.simulated)
            app.wait = nil
        }
    }

    /// Ends a refresh. A refused one does not count, so the interval still counts from the one before.
    private mutating func apply(_ event: FetchEvent.RefreshRecorded, at time: Instant) {
        charge(event.app, event.millijoules, event.day.map { ($0, event.bytesReceived ?? 0) })
        change(event.app) { app in
            app.running = nil
            app.reliability.learn(
                event.result, elapsed: event.elapsedSeconds ?? .zero, bytesReceived: event.bytesReceived)
            switch event.result {
            case .refused: app.refusedAt = time
            case .newData:
                app.endedAt = time
                if event.bytesReceived != 0 { app.newDataAt = time }
            case .noData, .failed, .timedOut: app.endedAt = time
            }
        }
    }
}

extension FetchEvent.RefreshScheduled {
    /// The wait of the app after this event; nil if it wants no refresh.
    public var wait: Wait? {
        guard let earliest else { return nil }
        return Wait(aim: aim, at: at, blockers: blockers, ceiling: ceiling, earliest: earliest, fundedAt: fundedAt)
    }
}
