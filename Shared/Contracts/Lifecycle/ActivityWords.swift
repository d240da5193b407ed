public import Records

/// What keeps an app that declares the mode for it running in the background, for as long as it does that.
public enum ActivityKind: String, Word {
    case audio
    /// A call, or the keep-alive of its socket.
    case voip
    case location, accessory, bluetooth

    /// The modes that allow it in the background: any of them will do.
    public var modes: [BackgroundMode] {
        switch self {
        case .audio: [.audio]
        case .voip: [.voip]
        case .location: [.location]
        case .accessory: [.externalAccessory]
        case .bluetooth: [.bluetoothCentral, .bluetoothPeripheral]
        }
    }
}

/// Why an activity stopped.
public enum ActivityEnd: String, Word {
    /// The app stopped it.
    case app
    /// The device did not move for so long that the system paused the location updates.
    case paused
    /// The app may not do it in the background.
    case notAllowed
    /// The user took away the authorization that it needs.
    case notAuthorized
}

/// What an app's code does, as far as it may cost the app its life or the user may see it.
public enum ActionKind: String, Word {
    case uiUpdate
    /// Something else than what its modes are for.
    case work
    case fileLock, fileUnlock
    case localNotification
}

public enum ThreadKind: String, Word { case main, background }
