import Contracts
import Machines
import OrderedCollections
import Timeline

// Outages of the service. A device cannot call the service during an outage, so each limit that needs a call becomes
// longer by the outage:
//
// - handlers that have not returned (`didFinishLaunching`, `didEnterBackground`, `willTerminate`);
// - wakes;
// - the time of background tasks, because the end of a task is a call and the service sends the expiration order. It
//   moves without an open task too, because the app may begin one. Time that was used up before the outage stays used.
//
// Periods that depend on reports of the device move too: the stay beyond the boundary of a region, and the time without
// movement during location updates. The awake time of a locked device also moves, so that the clock of tasks keeps its
// time.
//
// No other limit depends on time alone. The expiration notice depends on the end of the tasks' time, and moves with it.
extension Decision<LifecycleMachine> {
    /// Emits an event if a limit runs. Otherwise the outage has no effect.
    mutating func extendLimits(by outage: Outage) {
        guard state.nextDeadline != nil else { return }
        emit(.outageRecorded(.init(from: outage.from, until: outage.until)))
    }
}

extension LifecycleMachine {
    mutating func apply(_ event: LifecycleEvent.OutageRecorded) {
        let length = event.until - event.from
        awakeUntil = awakeUntil.map { $0 + length }
        for (id, app) in apps {
            var app = app
            for index in app.pendingCallbacks.indices {
                app.pendingCallbacks[index].deadline = app.pendingCallbacks[index].deadline + length
            }
            for (wake, record) in app.wakes {
                app.wakes[wake]?.deadline = record.deadline.map { $0 + length }
            }
            for (region, monitored) in app.regions {
                app.regions[region]?.beyondSince = monitored.beyondSince.map { $0 + length }
            }
            for (region, monitored) in app.beaconRegions {
                app.beaconRegions[region]?.beyondSince = monitored.beyondSince.map { $0 + length }
            }
            app.changeConditions { $0.nextSince = $0.nextSince.map { $0 + length } }
            for (kind, activity) in app.activities { app.activities[kind]?.movedAt = activity.movedAt + length }
            if app.taskClock != nil { app.taskTime = app.taskTime.map { $0 + length } }
            apps[id] = app
        }
    }
}
