import Contracts
import Machines
import OrderedCollections
import Timeline

// Awake or asleep. An unlocked device is awake. A locked one sleeps, unless an app keeps it awake or something woke it a moment
// ago. From iOS 7 the clocks of background tasks run only while it is awake ("opportunistic" time in the source documents);
// before, open background tasks themselves keep it awake.
extension Decision<LifecycleMachine> {
    /// Wakes a locked device for a moment. Before what needs it awake, so that the clocks run when that begins.
    mutating func rouse(_ cause: AwakeCause) {
        let until = now + LifecyclePolicy.awakeTime
        guard state.conditions.locked == true, !state.isAwake || state.awakeUntil.map({ $0 < until }) ?? true else {
            return
        }
        emit(.deviceAwoke(.init(cause: cause, until: until)))
    }

    /// A call or a text takes the screen from the app that has it; whatever it is, a locked device wakes.
    mutating func interrupt(_ kind: InterruptionKind) throws(LifecycleRefusal) {
        guard state.isPoweredOn else { throw .deviceOff }
        emit(.deviceInterrupted(.init(kind: kind)))
        rouse(.interruption)
        guard kind.takesTheScreen, let app = state.foreground, state.apps[app]?.state == .active else { return }
        emit(.appResigned(.init(app: app, cause: .interrupt, callbacks: [.willResignActive])))
    }

    /// What follows for the device from all that was decided.
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

extension ProfileName {
    /// Whether background tasks get only what time the device is awake for something else.
    var tasksAreOpportunistic: Bool { self != .ios6 }
}

extension LifecycleMachine {
    /// When a locked device falls asleep by itself. Nil where it is unlocked, or sleeps, or an app keeps it awake: that ends by
    /// an input of its own.
    var sleepDue: Instant? {
        guard isAwake, conditions.locked == true, !isKeptAwakeByApp else { return nil }
        return awakeUntil
    }

    var isKeptAwakeByApp: Bool {
        let tasksDo = registration?.profile.tasksAreOpportunistic == false
        return apps.values.contains { $0.keepsAwake(tasksDo: tasksDo) }
    }

    mutating func apply(_ event: LifecycleEvent.DeviceAwoke, at time: Instant) {
        awakeUntil = max(awakeUntil ?? event.until, event.until)
        guard !isAwake else { return }
        isAwake = true
        for app in apps.keys { apps[app]?.startTaskClock(at: time, isAwake: true) }
    }

    mutating func applySleep(at time: Instant) {
        isAwake = false
        awakeUntil = nil
        for app in apps.keys { apps[app]?.stopTaskClock(at: time) }
    }
}
