public import Records

/// The generation of iOS whose limits a device keeps.
public enum ProfileName: String, Word { case ios6, ios7, ios13, ios15, ios18 }

/// The states of an app, after Apple's "Managing your app's life cycle".
public enum AppState: String, Word {
    case notRunning, inactive, active, background, suspended

    /// On screen: at most one app of a device is.
    public var isForeground: Bool { self == .inactive || self == .active }
    /// Whether the app's code can run.
    public var isRunning: Bool { isForeground || self == .background }
}

/// The methods of the app delegate that the system calls, by their short names.
public enum Callback: String, Word {
    case willFinishLaunching, didFinishLaunching, didBecomeActive, willResignActive, didEnterBackground
    case willEnterForeground, willTerminate
    /// `application(_:performFetchWithCompletionHandler:)`.
    case performFetch
    /// `application(_:didReceiveRemoteNotification:fetchCompletionHandler:)`.
    case didReceiveRemoteNotification
    /// `application(_:handleEventsForBackgroundURLSession:completionHandler:)`.
    case handleEventsForBackgroundURLSession
    /// `locationManager(_:didEnterRegion:)` and `locationManager(_:didExitRegion:)`.
    case didEnterRegion, didExitRegion
    /// `locationManager(_:didUpdateLocations:)`, for a significant change.
    case didUpdateLocations
    /// `locationManagerDidPauseLocationUpdates(_:)`.
    case didPauseLocationUpdates
    /// The launch handler that was registered with `BGTaskScheduler`.
    case launchHandler
    /// `userNotificationCenter(_:didReceive:withCompletionHandler:)`.
    case didReceiveNotificationResponse
    /// `pushRegistry(_:didReceiveIncomingPushWith:for:completion:)`.
    case didReceiveIncomingPush
}

/// What a user, or the app itself, does to an app.
public enum AppTransition: String, Word {
    case launch, open, interrupt, dismiss, accept, home
    /// The app switcher is opened over the app.
    case switcher
    /// The app's entry is swiped out of the switcher.
    case swipe
    case crash, exit
    /// The system makes the process before the user asks for it (from iOS 15); the app is not told.
    case prewarm
}

/// Why the foreground app went to the background.
public enum BackgroundCause: String, Word { case home, otherApp, callAccepted, locked, swiped }

/// What draws the user's attention. A call and a text take the screen.
public enum InterruptionKind: String, Word {
    case call, text, email, other

    /// Whether the app on screen becomes inactive by it.
    public var takesTheScreen: Bool { self == .call || self == .text }
}

/// Why a device is awake.
public enum AwakeCause: String, Word {
    case unlocked, wake, interruption
    /// An app runs that lets it not sleep.
    case app
}

/// What happens to the power of a device.
public enum PowerEvent: String, Word { case boot, reboot, off }

/// `UIBackgroundModes`.
public enum BackgroundMode: String, Word {
    case audio, location, voip
    case newsstandContent = "newsstand-content"
    case externalAccessory = "external-accessory"
    case bluetoothCentral = "bluetooth-central"
    case bluetoothPeripheral = "bluetooth-peripheral"
    case fetch
    case remoteNotification = "remote-notification"
    case processing
    case nearbyInteraction = "nearby-interaction"
    case pushToTalk = "push-to-talk"
    case networkAuthentication = "network-authentication"
}

/// How the app's handlers end.
public enum HandlersReturn: String, Word {
    /// At once: nothing has to be posted for them.
    case immediately
    /// When the device posts their completion.
    case reported
}

/// A switch of the user.
public enum Switch: String, Word { case on, off }

/// `CLAuthorizationStatus`.
public enum LocationAuthorization: String, Word { case notDetermined, denied, whenInUse, always }

/// `UIBackgroundRefreshStatus`.
public enum BackgroundRefreshStatus: String, Word { case available, denied, restricted }
