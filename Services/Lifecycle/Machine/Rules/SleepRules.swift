import Contracts
import Machines
import OrderedCollections
import Timeline

// Sleep. An unlocked device is awake. A locked device sleeps unless an app keeps it awake or it was woken recently.
// From iOS 7, clocks of background tasks run only while it is awake ("opportunistic" time in the source documents).
// Before, open background tasks keep it awake.
extension Decision<LifecycleMachine> {
    /// Wakes a locked device for ``LifecyclePolicy/awakeTime``. Call it before the event that needs an awake device, so
    /// that the clocks run.
    mutating func rouse(_ cause: AwakeCause) {
        let until = now + LifecyclePolicy.awakeTime
        guard state.conditions.locked == true, !state.isAwake || state.awakeUntil.map({ $0 < until }) ?? true else {
            return
        }
        emit(.deviceAwoke(.init(cause: cause, until: until)))
    }

    /// Wakes a locked device. An interruption that takes the screen makes the active app inactive.
    mutating func interrupt(_ kind: InterruptionKind) throws(LifecycleRefusal) {
        guard state.isPoweredOn else { throw .deviceOff }
        emit(.deviceInterrupted(.init(kind: kind)))
        rouse(.interruption)
        guard kind.takesTheScreen, let app = state.foreground, let record = state.apps[app], record.state == .active
        else { return }
        emit(.appResigned(.init(app: app, callbacks: [resignActive(record)], cause: .interrupt)))
    }

    /// Lets the device sleep or wake after a decision.
    mutating func watchSleep() {
        guard state.registration != nil else { return }
        let isKept =
            state.conditions.locked != true || state.isKeptAwakeByApp || state.awakeUntil.map { $0 > now } ?? false
        if state.isAwake, !isKept {
            emit(.deviceSlept(.init()))
        } else if !state.isAwake, isKept {
            rouse(.app)
        }
    }
}

extension LifecycleMachine {
    /// The time at which a locked device falls asleep; nil if it is unlocked, sleeps, or an app keeps it awake.
    var sleepDue: Instant? {
        guard isAwake, conditions.locked == true, !isKeptAwakeByApp else { return nil }
        return awakeUntil
    }

    var isKeptAwakeByApp: Bool {
        let apps = known
        if apps.indices.contains(where: { apps[$0].keepsAwake(tasksDo: false) }) { return true }
        guard let registration, apps.indices.contains(where: { !apps[$0].tasks.isEmpty }) else { return false }
        // A deadline depends on the state alone, so a deployment can't override this feature.
        return !Generations.standard[registration.profile].has(.tasksNeedAwakeDevice)
    }

    mutating func apply(_ event: LifecycleEvent.DeviceAwoke, at time: Instant) {
        awakeUntil = max(awakeUntil ?? event.until, event.until)
        guard !isAwake else { return }
        isAwake = true
        for index in apps.values.indices { apps.values[index].startTaskClock(at: time, isAwake: true) }
    }

    mutating func applySleep(at time: Instant) {
        isAwake = false
        awakeUntil = nil
        for index in apps.values.indices { apps.values[index].stopTaskClock(at: time) }
    }
}
