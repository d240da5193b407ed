public import Records

/// The exit codes of Apple's "Understanding the exception types in a crash report".
public enum TerminationCode: String, Word {
    case watchdog = "0x8badf00d"
    case backgroundTaskTimeout = "0x2182bad2"
    /// Of `performFetch`, and of the handler of a notification.
    case backgroundFetchTimeout = "0x2182bad4"
    case forceQuit = "0xdeadfa11"
    case backgroundURLSessionTimeout = "0x2182bad3"
    /// The device got too hot.
    case thermal = "0xc00010ff"
    /// Suspended while it held a lock on a file.
    case fileLock = "0xdead10cc"
    /// A VoIP push was not answered with a call.
    case voipWithoutCall = "0xbaadca11"
    case voipResumedTooOften = "0xbad22222"
}

/// Why a process ended.
public enum EndReason: String, Word {
    case forceQuit, crash, exit
    /// It does not run in the background: its manifest or the device says so.
    case exitedOnSuspend
    case launchTimeout, didEnterBackgroundTimeout, backgroundTaskTimeout, fetchTimeout
    case powerOff
    /// Another version of the app was installed over it.
    case updated
    case uninstalled
    case pushTimeout, transferTimeout
    /// The system needed its memory.
    case memoryPressure
    /// The handler of a task request did not complete in time.
    case taskRequestTimeout
    case thermal
    case fileLockHeld
    case voipWithoutCall, voipResumedTooOften
    /// It touched its user interface from another thread than the main one.
    case uiOffMainThread
    /// It touched its user interface in the background, before iOS 7.
    case uiInBackground
    /// It did in the background what its modes are not for.
    case workOutsideModes
}
