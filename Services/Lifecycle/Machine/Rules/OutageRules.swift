import Contracts
import Machines
import OrderedCollections
import Timeline

// Outages of the service. A device can use the time before one and the time after it, so each limit that it must keep by a
// call stands still while nobody takes the call:
//
// - handlers that have not returned (`didFinishLaunching`, `didEnterBackground`, `willTerminate`): their completion is a call;
// - wakes: so is theirs;
// - the time of background tasks: ending a task is a call, and the order that tells of the expiration comes from here. It
//   moves without an open task too, since the app may begin one. What was used up before stays so: the time that comes with
//   the outage is over with it.
//
// What the device itself would have told moves too: whether it stayed beyond a region's boundary, and whether it moved while
// location updates went on.
//
// The moment of awakeness of a locked device moves with them, so that the clock of the tasks has as much of it as it had.
//
// Nothing else is limited by the system alone: an app is suspended by what it does, and not by a timer. The notice of the
// expiration is reckoned from the end of the tasks' time, and moves with it.
extension Decision<LifecycleMachine> {
    /// Says nothing where no limit runs: the device missed nothing then.
    mutating func extendLimits(by outage: Outage) {
        guard state.nextDeadline != nil else { return }
        emit(.outageNoted(.init(from: outage.from, until: outage.until)))
    }
}

extension LifecycleMachine {
    mutating func apply(_ event: LifecycleEvent.OutageNoted) {
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
            for (kind, activity) in app.activities { app.activities[kind]?.movedAt = activity.movedAt + length }
            if app.taskClock != nil { app.taskTime = app.taskTime.map { $0 + length } }
            apps[id] = app
        }
    }
}
