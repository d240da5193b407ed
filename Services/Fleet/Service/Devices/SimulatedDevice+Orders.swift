import Contracts
import Records
import Scenarios
public import Timeline

/// The reactions of the device to the suite.
extension SimulatedDevice {
    /// Handles an order and schedules its work. Repeated and older orders do nothing.
    ///
    /// - Returns: false for repeated and older orders, and for an unknown app.
    @discardableResult
    public mutating func handle(_ order: Order, at now: Instant) -> Bool {
        guard order.device == identifier, let app = index(of: order.app), isNew(order) else { return false }
        let offset = order.position?.offset
        switch order.kind {
        case .callback: called(app, order, at: now)
        case .wake where order.startsExport: beginExport(app, order, at: now)
        case .wake:
            apps[app].learn(.background, asOf: offset)
            woken(app, order, at: now)
        case .expiration:
            guard let task = order.subject, apps[app].model.behaviour != .leaksTasks else { break }
            drop(app) { $0 == .endTask(task) }
            schedule(.endTask(task), of: app, in: .milliseconds(50)...(.seconds(1)), after: now)
        case .suspend: apps[app].learn(.suspended, asOf: offset)
        case .terminate: ended(app, asOf: offset)
        case .challenge:
            guard let challenge = order.subject else { break }
            schedule(.answerChallenge(challenge), of: app, in: .milliseconds(50)...(.seconds(1)), after: now)
        case .transferProgress: break
        case .taskExpiration:
            // The expiration handler of a task request cancels its work and completes it.
            for wake in apps[app].wakes where order.subject == nil || order.subject == wake {
                reschedule(wake, of: app, reason: "task", in: .milliseconds(50)...(.seconds(1)), after: now)
            }
        }
        return true
    }

    /// Whether the order is new. Orders of one device arrive in log order.
    private mutating func isNew(_ order: Order) -> Bool {
        guard let offset = order.position?.offset else { return true }
        guard offset >= latestOrder else { return false }
        if offset > latestOrder { obeyed = [] }
        latestOrder = offset
        guard !obeyed.contains(order.key) else { return false }
        obeyed.append(order.key)
        return true
    }

    /// Ignores orders up to this position, which belong to an earlier run.
    public mutating func begin(after position: Position?) {
        guard let offset = position?.offset, offset < .max else { return }
        latestOrder = max(latestOrder, offset + 1)
    }

    private mutating func called(_ app: Int, _ order: Order, at now: Instant) {
        for callback in order.callbacks { called(app, callback, asOf: order.position?.offset, at: now) }
        guard order.wantsAnswer else { return }
        let slow = apps[app].model.behaviour == .slowHandler
        schedule(
            .completeCallback(order.name, session: order.data["session"]?.string), of: app,
            in: slow ? .seconds(2)...(.seconds(4)) : .milliseconds(30)...(.milliseconds(900)), after: now)
    }

    private mutating func called(_ app: Int, _ callback: String, asOf offset: Int?, at now: Instant) {
        switch callback {
        case "didBecomeActive", "sceneDidBecomeActive":
            apps[app].learn(.active, asOf: offset)
            // The app was not opened by the user's schedule, but for example by a notification.
            if onScreen != app { look(at: app, at: now) }
        case "willResignActive", "willEnterForeground", "sceneWillResignActive", "sceneWillEnterForeground":
            apps[app].learn(.inactive, asOf: offset)
        case "didEnterBackground", "sceneDidEnterBackground":
            apps[app].learn(.background, asOf: offset)
            if onScreen == app { onScreen = nil }
        case "willFinishLaunching", "didFinishLaunching":
            if apps[app].state == .notRunning { apps[app].learn(.inactive, asOf: offset) }
        case "urlSessionDidFinishEvents":
            for wake in apps[app].wakes where isScheduled(wake, of: app, reason: "transfer") {
                reschedule(wake, of: app, reason: "transfer", in: .milliseconds(50)...(.seconds(1)), after: now)
            }
        default: break
        }
    }

    private mutating func woken(_ app: Int, _ order: Order, at now: Instant) {
        guard let wake = order.data["wake"]?.string else { return }
        apps[app].wakes.append(wake)
        let reason = order.isTalk ? Self.talk : order.data["reason"]?.string ?? order.name
        // An invalid limit must not schedule an answer before the order or after more than a day.
        let limit = min(max(.zero, Interval.seconds(order.data["limitSeconds"]?.double ?? 30)), .days(1))
        var answer = min(.milliseconds(300), limit / 4)...min(.seconds(4), limit / 2)
        switch apps[app].model.behaviour {
        case .wellBehaved, .leaksTasks: break
        case .slowHandler: answer = limit / 2...limit * 8 / 10
        case .neverCompletes: return
        case .crashes:
            if random.percent(25) { return schedule(.crash, of: app, in: answer, after: now) }
        case .downloadsMuch:
            if canTransfer, reason != "transfer" { schedule(.download, of: app, at: now) }
        }
        // The app first gets the events of the session; the wake ends after the last one.
        if reason == "transfer" {
            answer = limit / 3...limit / 2
            if canTransfer { schedule(.openSession, of: app, at: now) }
        }
        schedule(.completeWake(wake, reason: reason), of: app, in: answer, after: now)
    }

    private func isScheduled(_ wake: String, of app: Int, reason: String) -> Bool {
        works.contains { $0.app == app && $0.kind == .completeWake(wake, reason: reason) }
    }

    private mutating func reschedule(
        _ wake: String, of app: Int, reason: String, in delay: ClosedRange<Interval>, after now: Instant
    ) {
        drop(app) { $0 == .completeWake(wake, reason: reason) }
        schedule(.completeWake(wake, reason: reason), of: app, in: delay, after: now)
    }

    private mutating func ended(_ app: Int, asOf offset: Int?) {
        guard apps[app].learn(.notRunning, asOf: offset) else { return }
        drop(app) { $0.isCode }
        if onScreen == app { onScreen = nil }
    }

    /// Handles a notification: the system acknowledges it and runs the service extension, and the user may open it. No app of a fleet implements
    /// `willPresent`, so a device does not show an alert of the app on screen.
    public mutating func receive(_ notification: DeliveredNotification, at now: Instant) {
        let acknowledged = now + random.interval(.milliseconds(20)...(.milliseconds(300)))
        schedule(.acknowledge(notification.identifier), at: acknowledged)
        var shown = acknowledged
        // One of twenty extensions does not return, so the device shows the original.
        if notification.runsExtension, !random.percent(5) {
            shown = acknowledged + random.interval(.milliseconds(200)...(.seconds(2)))
            schedule(.modify(notification.identifier), at: shown)
        }
        guard !notification.isSilent, !notification.isForApp, !notification.isQuiet, !notification.willPresent,
            let app = index(of: notification.app),
            random.percent(apps[app].model.opensNotifications)
        else { return }
        let wait = pace.real(random.interval(.seconds(5)...(.minutes(5))), atLeast: .milliseconds(200))
        let hasActions = apps[app].hasCategories && notification.category == AppModel.category
        let replies = hasActions && random.percent(40)
        schedule(replies ? .reply(notification.identifier) : .open(notification.identifier), at: shown + wait)
    }

    /// Handles the result of an action.
    ///
    /// - Returns: the actions that follow at once.
    public mutating func learn(_ outcome: Outcome, of action: Action, at now: Instant) -> [Action] {
        switch (action, outcome) {
        case (.beginTask(let name, _), .done(let document, _)):
            guard let app = index(of: name), let task = document["task"]?.string, apps[app].state != .notRunning else {
                return []
            }
            apps[app].tasks.append(task)
            guard apps[app].model.behaviour != .leaksTasks else { return [] }
            let slow = apps[app].model.behaviour == .slowHandler
            schedule(
                .endTask(task), of: app, in: slow ? .seconds(8)...(.seconds(20)) : .milliseconds(200)...(.seconds(5)),
                after: now)
            return []
        case (.transition(let name, _), .done(let document, let offset)),
            (.swipe(let name), .done(let document, let offset)),
            (.look(let name), .done(let document, let offset)),
            (.completeCallback(let name, _, nil), .done(let document, let offset)),
            (.completeWake(let name, _, _), .done(let document, let offset)):
            guard let app = index(of: name), let state = document["state"]?.string.flatMap(SimulatedApp.State.init)
            else { return [] }
            guard apps[app].isNews(asOf: offset) else { return [] }
            if state == .notRunning { ended(app, asOf: offset) } else { apps[app].learn(state, asOf: offset) }
            return launchWork(of: app, after: action)
        case (.register(let name), .done(let document, _)):
            guard let app = index(of: name) else { return [] }
            apps[app].pushToken = document["token"]?.string
            return apps[app].model.hasActions && has(.textInputActions) ? [.setCategories(app: name)] : []
        case (.joinChannel(let name), .done):
            if let app = index(of: name) { apps[app].isInChannel = true }
            return []
        case (.upload(let name), .done(let document, _)):
            if let app = index(of: name) { considerPause(of: app, document, at: now) }
            return []
        case (.pauseUpload(let name, _), .done(let document, _)):
            if let app = index(of: name) { paused(app, document, at: now) }
            return []
        case (.requestAuthorization(let name, _), .done):
            if let app = index(of: name) { apps[app].hasAsked = true }
            return []
        case (.setCategories(let name), .done):
            if let app = index(of: name) { apps[app].hasCategories = true }
            return []
        case (.startWaiting(let name, .bluetooth), .done):
            if let app = index(of: name) { apps[app].hasAccessory = true }
            return []
        case (.openSession(let name), .done(let document, _)):
            if let app = index(of: name) { count(document["tasks"]?.items ?? [], of: app) }
            return []
        case (.keepAlive, .done(let document, _)):
            for notification in (document["items"]?.items ?? []).compactMap(DeliveredNotification.init) {
                receive(notification, at: now)
            }
            return []
        case (let action, .refused(let code)):
            // The simulated state of the app is outdated: read it.
            guard code == "app_not_running" || code == "illegal_transition" else { return [] }
            return name(of: action).map { [.look(app: $0)] } ?? []
        case (_, .done), (_, .failed): return []
        }
    }

    /// Returns the actions of an app's code after a launch by the user.
    private func launchWork(of app: Int, after action: Action) -> [Action] {
        guard case .transition(let name, "launch") = action else { return [] }
        let events = awaitEvents(of: app)
        guard let interval = apps[app].model.fetchInterval, services.contains(.fetch), has(.backgroundFetch) else {
            return events
        }
        return [.setInterval(app: name, interval)] + events
    }

    /// Counts the bytes of completed tasks. A reopened session lists its tasks.
    private mutating func count(_ tasks: [JSON], of app: Int) {
        for task in tasks where task["state"]?.string == "completed" {
            guard let number = task["task"]?.int, apps[app].received.insert(number).inserted else { continue }
            // A wrong number of a service must not crash the run.
            bytesReceived += min(max(0, task["bytesReceived"]?.int ?? 0), 1 << 40)
        }
    }

    private func name(of action: Action) -> String? {
        switch action {
        case .transition(let app, _), .swipe(let app): app
        default: action.actingApp
        }
    }
}
