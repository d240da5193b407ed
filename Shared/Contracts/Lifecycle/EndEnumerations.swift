public import Records

/// The exit codes of Apple's "Understanding the exception types in a crash report".
public enum TerminationCode: String, WireEnum {
    case watchdog = "0x8badf00d"
    case backgroundTaskTimeout = "0x2182bad2"
    /// `performFetch` or the handler of a notification exceeded its limit.
    case backgroundFetchTimeout = "0x2182bad4"
    case forceQuit = "0xdeadfa11"
    case backgroundURLSessionTimeout = "0x2182bad3"
    /// The device was too hot.
    case thermal = "0xc00010ff"
    /// The app held a file lock when it was suspended.
    case fileLock = "0xdead10cc"
    /// The app did not report a call after a VoIP push.
    case voipWithoutCall = "0xbaadca11"
    case voipResumedTooOften = "0xbad22222"
}

/// The reason why a process ended.
public enum EndReason: String, WireEnum {
    case forceQuit, crash, exit
    /// The manifest of the app or the device forbids running in the background.
    case exitedOnSuspend
    case launchTimeout, didEnterBackgroundTimeout, backgroundTaskTimeout, fetchTimeout
    case powerOff
    /// Another version of the app was installed over it.
    case updated
    case uninstalled
    case pushTimeout, transferTimeout
    /// The system needed the memory of the process.
    case memoryPressure
    /// The handler of a task request exceeded its limit.
    case taskRequestTimeout
    case thermal
    case fileLockHeld
    case voipWithoutCall, voipResumedTooOften
    /// The app changed its user interface on a thread other than the main thread.
    case uiOffMainThread
    /// The app changed its user interface in the background, before iOS 7.
    case uiInBackground
}

extension EndReason {
    /// Whether the system ended the process because of what the app did or used.
    public var isOfSystem: Bool {
        switch self {
        case .forceQuit, .crash, .exit, .exitedOnSuspend, .powerOff, .updated, .uninstalled: false
        case .launchTimeout, .didEnterBackgroundTimeout, .backgroundTaskTimeout, .fetchTimeout, .pushTimeout,
            .transferTimeout, .memoryPressure, .taskRequestTimeout, .thermal, .fileLockHeld, .voipWithoutCall,
            .voipResumedTooOften, .uiOffMainThread, .uiInBackground:
            true
        }
    }
}
