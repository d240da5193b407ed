public import Records

/// The states of an app, after Apple's "Managing your app's life cycle".
public enum AppState: String, WireEnum {
    case notRunning, inactive, active, background, suspended

    /// Whether the app is on screen. At most one app of a device is.
    public var isForeground: Bool { self == .inactive || self == .active }
    /// Whether the app's code can run.
    public var isRunning: Bool { isForeground || self == .background }
}

/// The delegate methods and handlers that the system calls, by their short names.
public enum Callback: String, WireEnum {
    case willFinishLaunching, didFinishLaunching, didBecomeActive, willResignActive, didEnterBackground
    case willEnterForeground, willTerminate
    /// `scene(_:willConnectTo:options:)`.
    case sceneWillConnect
    case sceneWillEnterForeground, sceneDidBecomeActive, sceneWillResignActive, sceneDidEnterBackground
    /// `application(_:performFetchWithCompletionHandler:)`.
    case performFetch
    /// `application(_:didReceiveRemoteNotification:fetchCompletionHandler:)`.
    case didReceiveRemoteNotification
    /// `application(_:handleEventsForBackgroundURLSession:completionHandler:)`.
    case handleEventsForBackgroundURLSession
    /// `locationManager(_:didEnterRegion:)` and `locationManager(_:didExitRegion:)`.
    case didEnterRegion, didExitRegion
    /// `locationManager(_:didDetermineState:for:)`, when the display goes on inside a beacon region.
    case didDetermineState
    /// An element of `CLMonitor.events`.
    case monitorEvent
    /// `locationManager(_:didUpdateLocations:)`, for a significant change.
    case didUpdateLocations
    /// `locationManager(_:didVisit:)`.
    case didVisit
    /// `locationManagerDidPauseLocationUpdates(_:)`.
    case didPauseLocationUpdates
    /// The launch handler that was registered with `BGTaskScheduler`.
    case launchHandler
    /// `userNotificationCenter(_:didReceive:withCompletionHandler:)`.
    case didReceiveNotificationResponse
    /// `application(_:handleActionWithIdentifier:forRemoteNotification:completionHandler:)`, before iOS 10.
    case handleActionWithIdentifier
    /// `centralManager(_:willRestoreState:)` and `peripheralManager(_:willRestoreState:)`.
    case willRestoreState
    /// `centralManager(_:didDiscover:advertisementData:rssi:)`, `…didConnect:` and `…didDisconnectPeripheral:error:`.
    case didDiscoverPeripheral, didConnectPeripheral, didDisconnectPeripheral
    /// `peripheral(_:didUpdateValueFor:error:)`.
    case didUpdateValue
    /// `peripheralManager(_:didReceiveRead:)`, `…didReceiveWrite:` and `…central:didSubscribeTo:`.
    case didReceiveReadRequest, didReceiveWriteRequests, didSubscribeToCharacteristic
    /// The update handler of an `HKObserverQuery`.
    case updateHandler
    /// `pushRegistry(_:didReceiveIncomingPushWith:for:completion:)`.
    case didReceiveIncomingPush
    /// `incomingPushResult(channelManager:channelUUID:pushPayload:)`, of the framework Push to Talk.
    case incomingPushResult
}

/// A transition of an app that the user or the app itself causes.
public enum AppTransition: String, WireEnum {
    case launch, open, interrupt, dismiss, accept, home
    /// The user opens the app switcher.
    case switcher
    /// The user removes the app from the app switcher.
    case swipe
    case crash, exit
    /// The system creates the process before the user launches the app (from iOS 15). It does not notify the app.
    case prewarm
}

/// The cause by which the foreground app went to the background.
public enum BackgroundCause: String, WireEnum { case home, otherApp, callAccepted, locked, swiped }

/// The kind of an interruption. A call and a text take the screen.
public enum InterruptionKind: String, WireEnum {
    case call, text, email, other

    /// Whether the interruption makes the app on screen inactive.
    public var takesTheScreen: Bool { self == .call || self == .text }
}

/// The cause for which a device is awake.
public enum AwakeCause: String, WireEnum {
    case unlocked, wake, interruption
    /// A running app keeps the device awake.
    case app
}

/// A power event of a device.
public enum PowerEvent: String, WireEnum { case boot, reboot, off }

/// `UIBackgroundModes`.
public enum BackgroundMode: String, WireEnum {
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

/// An entitlement of an app that affects its execution.
public enum Entitlement: String, WireEnum {
    /// A `BGContinuedProcessingTask` of the app may use the GPU in the background.
    case backgroundGPU = "com.apple.developer.background-tasks.continued-processing.gpu"
    /// The app may use `BGHealthResearchTask`.
    case backgroundHealthResearch = "com.apple.developer.backgroundtasks.healthresearch"
    /// The app may request authorization for critical alerts.
    case criticalAlerts = "com.apple.developer.usernotifications.critical-alerts"
    /// The app may send time-sensitive notifications.
    case timeSensitiveNotifications = "com.apple.developer.usernotifications.time-sensitive"
}

/// The way in which the handlers of an app return.
public enum HandlersReturn: String, WireEnum {
    /// Handlers return at once. The device posts no completion.
    case immediately
    /// Handlers return when the device posts their completion.
    case reported
}

/// A switch in the settings.
public enum Switch: String, WireEnum { case on, off }

/// `CLAuthorizationStatus`.
public enum LocationAuthorization: String, WireEnum {
    case notDetermined, denied, whenInUse, always
    /// "Allow Once": as `whenInUse`, until the app is no longer in use.
    case once
}

/// `CLAccuracyAuthorization`, and the temporary full accuracy.
public enum LocationAccuracy: String, WireEnum {
    case full, reduced
    /// The user allowed full accuracy once: as `full`, until the app is no longer in use. Then it is `reduced`.
    case temporaryFull

    /// Whether the app gets exact locations.
    public var isFull: Bool { self != .reduced }
}

/// `UIBackgroundRefreshStatus`.
public enum BackgroundRefreshStatus: String, WireEnum { case available, denied, restricted }
