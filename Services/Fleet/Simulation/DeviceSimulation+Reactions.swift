import OrderedCollections
import Contracts
import LifecycleCore
import PushCore
import Scenarios
import Timeline
import TransferCore

// The reactions of the device and its apps to events.
extension DeviceSimulation {
    /// - Parameter app: The app of the event; nil if it has none.
    mutating func react(to event: MachineEvent, _ app: Int?, _ context: inout PartitionContext) {
        switch event {
        case .lifecycle(let event): if let app { react(to: event.family, of: app, &context) }
        case .push(let event): react(to: event.family, &context)
        case .transfer(let event): react(to: event.family, &context)
        case .fetch: break
        }
        if push.state.connection == nil, !isConnecting, push.state.isKnown, isReachable {
            isConnecting = true
            schedule(.connect, after: DeviceTimes.connection)
        }
    }

    private mutating func react(to event: LifecycleEvent, of app: Int, _ context: inout PartitionContext) {
        switch event {
        case .appLaunched(let launched):
            if launched.deadline != nil {
                schedule(.completeCallback(.didFinishLaunching), of: app, after: DeviceTimes.answer)
            }
            schedule(.startUp, of: app, after: DeviceTimes.start)
            scheduleQuestion(of: app, context)
            startTransfers(.opening, of: app, context)
            scheduleActivity(of: app, context)
            scheduleContinuedTask(of: app, context)
            // A scene enters the foreground at a launch too, in this event or in the next one.
            apps[app].isLaunching = !launched.callbacks.contains(.sceneWillEnterForeground)
        case .appActivated(let activated):
            let enters = activated.callbacks.contains { $0 == .willEnterForeground || $0 == .sceneWillEnterForeground }
            scheduleQuestion(of: app, context)
            if enters, !apps[app].isLaunching {
                startTransfers(.opening, of: app, context)
                scheduleActivity(of: app, context)
                scheduleContinuedTask(of: app, context)
            }
            apps[app].isLaunching = false
        case .appBackgrounded(let left):
            apps[app].isLaunching = false
            if left.deadline != nil, let callback = left.callbacks.last {
                schedule(.completeCallback(callback), of: app, after: DeviceTimes.answer)
            }
        case .appTerminating: schedule(.completeCallback(.willTerminate), of: app, after: DeviceTimes.answer)
        case .appTerminated(let ended): if ended.from != .notRunning { apps[app].run += 1 }
        case .appWoken(let woken): react(to: woken, of: app, &context)
        case .wakeExpiring(let expiring):
            guard hangingTasks.remove(expiring.wake) == nil else { return }
            schedule(.completeWake(expiring.wake, .task, .failed, bytes: 0), of: app, after: DeviceTimes.answer)
        default: break
        }
    }

    private mutating func react(
        to woken: LifecycleEvent.AppWoken, of app: Int, _ context: inout PartitionContext
    ) {
        let name = context.plan.scenario.apps[app].id
        if woken.callbacks.contains(.didFinishLaunching) { schedule(.startUp, of: app, after: DeviceTimes.answer) }
        switch woken.reason {
        case .push: startTransfers(.push, of: app, context)
        case .fetch, .task: startTransfers(.refresh, of: app, context)
        case .transfer, .location, .voip, .bluetooth, .health, .notificationResponse: break
        }
        guard woken.kind != .continuedProcessingTask else { return beginContinuedTask(woken.wake, of: app, context) }
        let handler = context.plan.scenario.apps[app].handler(of: woken.reason)
        var random = draw(.handlers, context)
        var (takes, result) = handler.outcome(&random)
        let hangs = activeFaults.contains { faults[$0].kind == .neverReturns(app: name) }
        if hangs { result = .neverReturns }
        guard result != .neverReturns else {
            if woken.reason == .task { hangingTasks.insert(woken.wake) }
            return
        }
        takes = max(takes, .milliseconds(1))
        schedule(.completeWake(woken.wake, woken.reason, result, bytes: handler.bytes.bytes), of: app, after: takes)
    }

    private mutating func react(to event: PushEvent, _ context: inout PartitionContext) {
        switch event {
        case .tokenRegistered(let registered):
            guard let name = registered.app, let app = context.appIndexes[name] else { return }
            if registered.kind == .apns { apps[app].token = registered.token }
            if registered.kind == .pushtotalk { apps[app].pushToTalkToken = registered.token }
            if registered.kind == .voip { apps[app].voipToken = registered.token }
        case .tokenUnregistered(let ended):
            guard let name = ended.app, let app = context.appIndexes[name] else { return }
            if ended.kind == .apns { apps[app].token = nil }
            if ended.kind == .pushtotalk { apps[app].pushToTalkToken = nil }
            if ended.kind == .voip { apps[app].voipToken = nil }
        case .notificationDelivered(let delivered):
            let id = delivered.notification
            guard delivered.extensionDeadline == nil else {
                return schedule(.modify(id), after: DeviceTimes.serviceExtension)
            }
            let offers = delivered.willPresent && profile.has(.userNotificationCenter)
            schedule(offers ? .present(id) : .acknowledge(id), after: DeviceTimes.answer)
        case .notificationModified(let modified):
            if modified.willPresent { schedule(.present(modified.notification), after: DeviceTimes.answer) }
        case .notificationUnmodified(let unmodified):
            if unmodified.willPresent { schedule(.present(unmodified.notification), after: DeviceTimes.answer) }
        case .notificationAcknowledged(let event): considerOpening(event.notification, context)
        case .notificationPresented(let event): considerOpening(event.notification, context)
        default: break
        }
    }

    /// The person may open a notification that was just shown. The person does not notice a quiet one.
    private mutating func considerOpening(_ id: String, _ context: PartitionContext) {
        guard let shown = push.state.shown.last, shown.id == id, !shown.quiet else { return }
        var random = draw(.answers, context)
        let habits = context.plan.scenario.people[device.group].notifications
        if let wait = habits.opening(&random) { schedule(.openNotification(id), after: wait) }
    }
}
