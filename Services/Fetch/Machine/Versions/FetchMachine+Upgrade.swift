import Contracts
public import Machines
import OrderedCollections
import Records
import Timeline

extension FetchMachine {
    /// Upgrades older stored forms.
    ///
    /// Version 1 has no budgets, reliability scores, content ages and spacing of wakes. These fields start empty if the log
    /// does not contain them. An app starts with the middle score and unspent budgets, so that no device is worse off. The
    /// weights of openings are rounded to the coarser scale. The state no longer contains past waits.
    public static func upgraded(_ binary: [UInt8], from version: Int) -> Upgrade<FetchMachine>? {
        switch version {
        case 1: Version1(binary: binary).map { .partial(FetchMachine($0)) }
        default: nil
        }
    }

    private init(_ old: Version1) {
        profile = old.profile
        fleet = old.fleet
        timeZone = old.timeZone
        isPoweredOn = old.isPoweredOn
        conditions = old.conditions
        lockedAt = old.lockedAt
        backgroundRefresh = old.backgroundRefresh
        isBackgroundRefreshRestricted = old.isBackgroundRefreshRestricted
        apps = old.apps.mapValues(ScheduledApp.init)
    }
}

extension ScheduledApp {
    fileprivate init(_ old: Version1.App) {
        declaresFetch = old.declaresFetch
        declaresProcessing = old.declaresProcessing
        permittedTaskIdentifiers = old.permittedTaskIdentifiers
        backgroundRefresh = old.backgroundRefresh
        forceQuit = old.forceQuit
        inForeground = old.inForeground
        openedAt = old.openedAt
        interval = old.interval
        intervalSetAt = old.intervalSetAt
        endedAt = old.endedAt
        refusedAt = old.refusedAt
        newDataAt = old.newDataAt
        running = old.running
        wait = old.wait.map(Wait.init)
        usage = UsageProfile(hours: old.usage.hours, opening: 1024, week: old.usage.week)
        tasks = old.tasks.mapValues(PendingTask.init)
        runningTask = old.runningTask
    }
}

extension Wait {
    fileprivate init(_ old: Version1.Wait) {
        at = old.at
        earliest = old.earliest
        blockers = old.blockers.compactMap { FetchFactor(rawValue: $0.rawValue) }
    }
}

extension PendingTask {
    fileprivate init(_ old: Version1.PendingTask) {
        request = old.request
        submittedAt = old.submittedAt
        refusedAt = old.refusedAt
        run = old.run
        guard let old = old.wait else { return }
        var wait = TaskWait()
        wait.at = old.at
        wait.earliest = old.at ?? .epoch
        wait.blockers = old.blockers
        self.wait = wait
    }
}
