import Contracts
import Machines
import OrderedCollections
import Records
import Timeline

// Transitions by the user, by Apple's table of states. All others are illegal.
extension Decision<LifecycleMachine> {
    mutating func transition(_ app: String, _ event: AppTransition) throws(LifecycleRefusal) {
        let record = try installed(app)
        guard state.isPoweredOn else { throw .deviceOff }
        guard isLegal(event, for: app, record) else {
            let refusal = LifecycleRefusal.illegalTransition(record.state, event)
            // Without the reading, the switcher would still have an entry to open.
            let isByReading =
                event == .open && follows(.appSwitcher) && record.state == .notRunning
                && record.lastEnd.map { $0.reason != .forceQuit } ?? false
            throw isByReading ? refusal.decided(by: .appSwitcher, .document) : refusal
        }
        switch event {
        case .launch: launch(app, record)
        // The switcher keeps entries without a process. A tap on an entry or on a notification launches the app.
        case .open: record.state == .notRunning ? launch(app, record) : open(app, record)
        case .interrupt, .switcher:
            emit(.appResigned(.init(app: app, callbacks: [resignActive(record)], cause: event)))
        case .dismiss: emit(.appActivated(.init(app: app, callbacks: [becomeActive(record)])))
        case .accept: enterBackground(app, .callAccepted)
        case .home: enterBackground(app, .home)
        case .swipe: swipe(app)
        case .crash: terminate(app, .crash)
        case .exit: terminate(app, .exit)
        case .prewarm:
            guard profile.has(.prewarming) else { throw .unsupported(.prewarming, on: profile) }
            if record.prewarmedAt == nil { emit(.appPrewarmed(.init(app: app))) }
        }
    }

    private func isLegal(_ event: AppTransition, for app: String, _ record: InstalledApp) -> Bool {
        switch event {
        case .launch, .prewarm: record.state == .notRunning
        case .open:
            switch record.state {
            case .notRunning: state.switcher.contains(app) || record.localNotifications > 0
            case .background, .suspended: record.ending == nil
            // The switcher is open over this app.
            case .inactive: !record.isLaunching
            case .active: false
            }
        case .interrupt, .switcher: record.state == .active
        // A launching app is inactive, but was not interrupted.
        case .dismiss, .accept: record.state == .inactive && !record.isLaunching
        case .home: record.state.isForeground
        case .swipe: record.ending == nil && (record.state != .notRunning || state.switcher.contains(app))
        case .crash, .exit: record.state.isRunning
        }
    }

    /// Opens the app of a notification, as its icon does. The app may be on screen or uninstalled by now.
    mutating func openByNotification(_ app: String, _ opened: PushEvent.NotificationOpened) {
        guard state.isPoweredOn, let record = state.apps[app] else { return }
        if record.state == .notRunning {
            launch(app, record)
        } else if isLegal(.open, for: app, record) {
            open(app, record)
        }
        guard let now = state.apps[app]?.state, now == .active || now == .inactive else { return }
        let action = opened.actionIdentifier
        // Before `UNUserNotificationCenter`, the default action had no callback of its own.
        let isPlain = action == nil && !profile.has(.userNotificationCenter)
        emit(
            .notificationResponded(
                .init(
                    actionIdentifier: action, app: app,
                    callbacks: [isPlain ? .didReceiveRemoteNotification : WakeRule.responseCallback(profile)],
                    notification: opened.notification, userText: opened.userText)))
    }

    /// Gives an app the user's response to a notification, without bringing it to the foreground (Apple, "Handling
    /// notifications and notification-related actions"). An app on screen needs no wake.
    mutating func respond(_ response: PushEvent.NotificationResponded) {
        guard let app = response.app else { return }
        guard state.isPoweredOn, state.apps[app]?.state.isForeground == true else {
            var payload: [JSON.Member] = [.init("actionIdentifier", .string(response.actionIdentifier))]
            if let text = response.userText { payload.append(.init("userText", .string(text))) }
            return wake(app, for: .notificationResponse, request: response.notification, payload: .object(payload))
        }
        emit(
            .notificationResponded(
                .init(
                    actionIdentifier: response.actionIdentifier, app: app,
                    callbacks: [WakeRule.responseCallback(profile)], notification: response.notification,
                    userText: response.userText)))
    }

    private mutating func launch(_ app: String, _ record: InstalledApp) {
        clearForeground(.otherApp)
        switch record.manifest.handlersReturn {
        case .immediately:
            emit(
                .appLaunched(
                    .init(
                        app: app, callbacks: [.willFinishLaunching, .didFinishLaunching] + launchCallbacks(record))))
        case .reported:
            emit(
                .appLaunched(
                    .init(
                        app: app, callbacks: [.willFinishLaunching, .didFinishLaunching],
                        deadline: now + profile[.launch], state: .inactive)))
        }
    }

    private mutating func open(_ app: String, _ record: InstalledApp) {
        let isCovered = record.state == .inactive
        if !isCovered { clearForeground(.otherApp) }
        emit(
            .appActivated(
                .init(app: app, callbacks: isCovered ? [becomeActive(record)] : enterForegroundCallbacks(record))))
    }

    /// Moves the app on screen, if there is one, to the background.
    mutating func clearForeground(_ cause: BackgroundCause) {
        if let other = state.foreground { enterBackground(other, cause) }
    }

    /// Ends an app in the switcher. An app on screen first enters the background if it can; a suspended app gets no
    /// callback.
    private mutating func swipe(_ app: String) {
        guard let record = state.apps[app] else { return }
        var resigning: [Callback] = []
        if record.state.isForeground {
            if !endsOnLeaving(record) {
                // The limit of the termination covers its handler.
                leaveForeground(app, .swiped, handlersReturn: .immediately)
            } else if record.state == .active {
                resigning = [resignActive(record)]
            }
        }
        end(app, .forceQuit, resigning: resigning)
    }
}
