import Contracts
import Machines
import OrderedCollections
import Timeline

// What the user does to apps, by Apple's table of states. Everything not told here is an illegal transition.
extension Decision<LifecycleMachine> {
    mutating func transition(_ app: String, _ event: AppTransition) throws(LifecycleRefusal) {
        let record = try installed(app)
        guard state.isPoweredOn else { throw .deviceOff }
        guard isLegal(event, for: app, record) else { throw .illegalTransition(record.state, event) }
        switch event {
        case .launch: launch(app, record)
        // The switcher keeps entries without a process: a tap on one launches the app, and so does one on a notification.
        case .open: record.state == .notRunning ? launch(app, record) : open(app)
        case .interrupt, .switcher:
            emit(.appResigned(.init(app: app, cause: event, callbacks: [.willResignActive])))
        case .dismiss: emit(.appActivated(.init(app: app, callbacks: [.didBecomeActive])))
        case .accept: enterBackground(app, .callAccepted)
        case .home: enterBackground(app, .home)
        case .swipe: swipe(app)
        case .crash: terminate(app, .crash)
        case .exit: terminate(app, .exit)
        case .prewarm:
            guard profile.prewarms else { throw .unsupportedOnProfile(state.registration?.profile ?? .ios18) }
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
            // The app over which the switcher was opened.
            case .inactive: !record.isLaunching
            case .active: false
            }
        case .interrupt, .switcher: record.state == .active
        // An app that is inactive because it launches was not interrupted.
        case .dismiss, .accept: record.state == .inactive && !record.isLaunching
        case .home: record.state.isForeground
        case .swipe: record.ending == nil && (record.state != .notRunning || state.switcher.contains(app))
        case .crash, .exit: record.state.isRunning
        }
    }

    /// The user opened a notification of the app's, which comes on screen as by its icon. It may be there, or gone, by now.
    mutating func openByNotification(_ app: String, _ notification: String) {
        guard state.isPoweredOn, let record = state.apps[app] else { return }
        if record.state == .notRunning {
            launch(app, record)
        } else if isLegal(.open, for: app, record) {
            open(app)
        }
        guard let now = state.apps[app]?.state, now == .active || now == .inactive else { return }
        emit(.notificationResponded(.init(app: app, callbacks: [responseCallback], notification: notification)))
    }

    /// `UNUserNotificationCenter` came with iOS 10; before it the app's delegate was told of the notification itself.
    private var responseCallback: Callback {
        switch state.registration?.profile {
        case .ios6, .ios7: .didReceiveRemoteNotification
        case .ios13, .ios15, .ios18, nil: .didReceiveNotificationResponse
        }
    }

    private mutating func launch(_ app: String, _ record: InstalledApp) {
        clearForeground(.otherApp)
        switch record.manifest.handlersReturn {
        case .immediately:
            emit(
                .appLaunched(
                    .init(app: app, callbacks: [.willFinishLaunching, .didFinishLaunching, .didBecomeActive])))
        case .reported:
            emit(
                .appLaunched(
                    .init(
                        app: app, callbacks: [.willFinishLaunching, .didFinishLaunching], state: .inactive,
                        deadline: now + profile.launch)))
        }
    }

    private mutating func open(_ app: String) {
        let isCovered = state.apps[app]?.state == .inactive
        if !isCovered { clearForeground(.otherApp) }
        emit(
            .appActivated(
                .init(app: app, callbacks: isCovered ? [.didBecomeActive] : [.willEnterForeground, .didBecomeActive])))
    }

    /// Sends the app on screen, if one is, to the background.
    mutating func clearForeground(_ cause: BackgroundCause) {
        if let other = state.foreground { enterBackground(other, cause) }
    }

    /// The app on screen passes through the background first, where it has one; a suspended one is never told.
    private mutating func swipe(_ app: String) {
        guard let record = state.apps[app] else { return }
        var resigning: [Callback] = []
        if record.state.isForeground {
            if !endsOnLeaving(record) {
                // What its handler does is bound by the end that follows.
                leaveForeground(app, .swiped, handlersReturn: .immediately)
            } else if record.state == .active {
                resigning = [.willResignActive]
            }
        }
        end(app, .forceQuit, resigning: resigning)
    }
}
