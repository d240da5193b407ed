import Contracts

/// The properties of a kind of wake.
struct WakeRule {
    /// The required content of the completion.
    enum Answer {
        /// A `UIBackgroundFetchResult`.
        case result
        /// `setTaskCompleted(success:)`.
        case success
        /// A `PTPushResult`.
        case pushResult
        case nothing
    }

    /// The callbacks, after those of a launch.
    var handler: [Callback]
    /// The feature that the generation needs, beyond that of the limit; nil if it needs none.
    var feature: Feature?
    /// The modes of which the app must declare one; empty if it needs none.
    var modes: [BackgroundMode] = []
    /// Whether a force quit by the user blocks it.
    var heedsForceQuit = true
    /// Whether Background App Refresh settings and the restriction of the device block it.
    var heedsBackgroundRefresh = true
    /// Whether it can wait, so that Low Power Mode and critical memory pressure block it.
    var isOpportunistic = false
    /// Whether it also starts while the app is on screen.
    var startsOnScreen = false
    /// Whether it never launches the app.
    var needsProcess = false
    var needsLocation = false
    /// Whether reduced accuracy of location blocks it.
    var needsFullAccuracy = false
    var answer = Answer.nothing

    /// - Parameter profile: the profile of the device.
    init(_ kind: WakeKind, _ profile: Profile) {
        switch kind {
        case .fetch:
            handler = [.performFetch]
            modes = [.fetch]
            isOpportunistic = true
            answer = .result
        case .push:
            handler = [.didReceiveRemoteNotification]
            modes = [.remoteNotification]
            isOpportunistic = true
            answer = .result
        case .newsstand:
            handler = [.didReceiveRemoteNotification]
            modes = [.newsstandContent]
            isOpportunistic = true
            answer = .result
        // The user has joined a channel, so the settings of Background App Refresh do not block it (our choice). A force
        // quit ends the session (secondary sources).
        case .pushToTalk:
            handler = [.incomingPushResult]
            modes = [.pushToTalk]
            heedsBackgroundRefresh = false
            answer = .pushResult
        // Not opportunistic: a session with finished transfers has waited long enough.
        case .transfer:
            handler = [.handleEventsForBackgroundURLSession]
        case .region:
            handler = []
            heedsForceQuit = !profile.has(.regionsAfterForceQuit)
            needsLocation = true
            needsFullAccuracy = true
        case .significantChange:
            handler = [.didUpdateLocations]
            heedsForceQuit = false
            needsLocation = true
        case .monitor:
            handler = []
            heedsForceQuit = !profile.has(.regionsAfterForceQuit)
            needsLocation = true
            needsFullAccuracy = true
            feature = .locationMonitors
        case .visit:
            feature = .visits
            handler = [.didVisit]
            heedsForceQuit = false
            needsLocation = true
        case .refreshTask:
            handler = [.launchHandler]
            modes = [.fetch]
            isOpportunistic = true
            answer = .success
        case .processingTask:
            handler = [.launchHandler]
            modes = [.processing]
            heedsForceQuit = !profile.has(.processingAfterForceQuit)
            isOpportunistic = true
            answer = .success
        // The user asked for it on screen, so later changes of settings do not block it (our choice).
        case .continuedProcessingTask:
            handler = [.launchHandler]
            heedsBackgroundRefresh = false
            startsOnScreen = true
            needsProcess = true
            answer = .success
        // A call arrives despite all settings of the user (secondary sources).
        case .voipPush:
            handler = [.didReceiveIncomingPush]
            modes = [.voip]
            heedsForceQuit = false
            heedsBackgroundRefresh = false
        case .voipSocket:
            handler = []
            modes = [.voip]
        case .health:
            handler = [.updateHandler]
        // The user asks for it, so no setting and no earlier force quit blocks it (our choice).
        case .notificationResponse:
            handler = [Self.responseCallback(profile)]
            heedsForceQuit = false
            heedsBackgroundRefresh = false
        case .bluetoothCentral:
            handler = []
            modes = [.bluetoothCentral]
            heedsBackgroundRefresh = false
        case .bluetoothPeripheral:
            handler = []
            modes = [.bluetoothPeripheral]
            heedsBackgroundRefresh = false
        }
    }

    /// The callback for an action of a notification. Before `UNUserNotificationCenter`, the app's delegate got it.
    static func responseCallback(_ profile: Profile) -> Callback {
        profile.has(.userNotificationCenter) ? .didReceiveNotificationResponse : .handleActionWithIdentifier
    }
}

extension WakeKind {
    /// Returns the kind for an event that has only the reason.
    init(_ reason: WakeReason) {
        switch reason {
        case .fetch: self = .fetch
        case .push: self = .push
        case .transfer: self = .transfer
        case .location: self = .region
        case .task: self = .refreshTask
        case .voip: self = .voipPush
        case .bluetooth: self = .bluetoothCentral
        case .health: self = .health
        case .notificationResponse: self = .notificationResponse
        }
    }

    /// The termination reason without a completion; nil if the app is suspended instead.
    var timeout: EndReason? {
        switch self {
        case .fetch: .fetchTimeout
        case .push, .newsstand, .pushToTalk: .pushTimeout
        case .transfer: .transferTimeout
        case .refreshTask, .processingTask, .continuedProcessingTask: .taskRequestTimeout
        case .voipPush: .voipWithoutCall
        case .region, .significantChange, .visit, .monitor, .voipSocket, .bluetoothCentral, .bluetoothPeripheral,
            .health, .notificationResponse:
            nil
        }
    }
}
