import Contracts

/// What the kinds of wakes differ in: the table of consequences.
struct WakeRule {
    /// What the completion must say.
    enum Answer {
        /// A `UIBackgroundFetchResult`.
        case result
        /// `setTaskCompleted(success:)`.
        case success
        case nothing
    }

    /// What is called, after the launch where there was no process.
    var handler: [Callback]
    /// The modes of which the app must declare one; none needed where empty.
    var modes: [BackgroundMode] = []
    /// Whether the user's force quit stops it.
    var heedsForceQuit = true
    /// Whether the user's switches of Background App Refresh do, and the restriction of the device.
    var heedsBackgroundRefresh = true
    /// Whether it can as well happen later: then Low Power Mode and critical memory pressure put it off.
    var isOpportunistic = false
    var needsLocation = false
    var answer = Answer.nothing

    /// - Parameter profile: of the device.
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
        // A session whose transfers are done was put off long enough.
        case .transfer:
            handler = [.handleEventsForBackgroundURLSession]
        case .region:
            handler = []
            heedsForceQuit = !profile.regionsOutliveForceQuit
            needsLocation = true
        case .significantChange:
            handler = [.didUpdateLocations]
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
            heedsForceQuit = !profile.processingOutlivesForceQuit
            isOpportunistic = true
            answer = .success
        // A call comes through whatever the user has switched off (secondary sources).
        case .voipPush:
            handler = [.didReceiveIncomingPush]
            modes = [.voip]
            heedsForceQuit = false
            heedsBackgroundRefresh = false
        case .voipSocket:
            handler = []
            modes = [.voip]
        }
    }
}

extension WakeKind {
    /// The kind of an event that tells the reason alone.
    init(_ reason: WakeReason) {
        switch reason {
        case .fetch: self = .fetch
        case .push: self = .push
        case .transfer: self = .transfer
        case .location: self = .region
        case .task: self = .refreshTask
        case .voip: self = .voipPush
        }
    }

    /// What the app dies of when it does not complete; nil where it is suspended instead.
    var timeout: EndReason? {
        switch self {
        case .fetch: .fetchTimeout
        case .push, .newsstand: .pushTimeout
        case .transfer: .transferTimeout
        case .refreshTask, .processingTask: .taskRequestTimeout
        case .voipPush: .voipWithoutCall
        case .region, .significantChange, .voipSocket: nil
        }
    }
}
