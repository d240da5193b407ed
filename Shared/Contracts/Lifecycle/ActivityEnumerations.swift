public import Records

/// An activity that keeps an app running in the background if its manifest declares the mode.
public enum ActivityKind: String, WireEnum {
    case audio
    /// A call, or the keep-alive of its socket.
    case voip
    case location, accessory, bluetooth
    /// A `CLBackgroundActivitySession`, which keeps the app in use.
    case backgroundActivitySession
    /// The download of an issue by a Newsstand app.
    case newsstand

    /// Whether the activity needs an authorization of location.
    public var needsLocation: Bool { self == .location || self == .backgroundActivitySession }

    /// The background modes that allow the activity. One of them is enough.
    public var modes: [BackgroundMode] {
        switch self {
        case .audio: [.audio]
        case .voip: [.voip]
        case .location, .backgroundActivitySession: [.location]
        case .accessory: [.externalAccessory]
        case .newsstand: [.newsstandContent]
        case .bluetooth: [.bluetoothCentral, .bluetoothPeripheral]
        }
    }
}

/// The reason why an activity stopped.
public enum ActivityEnd: String, WireEnum {
    /// The app stopped it.
    case app
    /// The system paused the location updates because the device had not moved for a long time.
    case paused
    /// The app is not allowed to do it in the background.
    case notAllowed
    /// The app did work in the background that its background modes do not cover.
    case workOutsideModes
    /// The user revoked the required authorization.
    case notAuthorized
}

/// An action of an app's code that may end the app or that the user may see.
public enum ActionKind: String, WireEnum {
    case uiUpdate
    /// Work that the background modes of the app do not cover.
    case work
    case fileLock, fileUnlock
    case localNotification
}

/// The thread of an action.
public enum ThreadKind: String, WireEnum { case main, background }
