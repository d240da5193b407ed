public import Records

/// An action of a device, its user or the code of one of its apps: one request to one service.
public enum Action: Sendable, Equatable {
    // Actions of the user and the device.
    /// Sets the authorization of location of an app.
    case changeLocation(app: String, String)
    case report(Surroundings)
    case transition(app: String, String)
    case swipe(app: String)
    /// Reads the state of an app after a refusal showed that the simulated state is wrong.
    case look(app: String)
    case acknowledge(notification: String)
    /// Returns the content that the service extension of an app made of a notification.
    case modify(notification: String)
    case open(notification: String)
    /// Answers a notification by a text input action.
    case reply(notification: String)
    /// Reports an event of the surroundings.
    case occur(Occurrence)
    /// Cancels a continued processing task in the interface of the system.
    case cancelExport(app: String, identifier: String)
    case keepAlive
    // Actions of the code of an app.
    case monitorSignificantChanges(app: String)
    /// Starts to wait for events.
    case startWaiting(app: String, Interest)
    case completeCallback(app: String, String, session: String?)
    case beginTask(app: String, String)
    case endTask(app: String, task: String)
    case completeWake(app: String, wake: String, JSON)
    /// Submits the export of a video as a continued processing task.
    case export(app: String, identifier: String)
    case reportProgress(app: String, wake: String, part: Int, of: Int)
    case openSession(app: String)
    /// Sets the minimum background fetch interval.
    case setInterval(app: String, AppModel.FetchInterval)
    case download(app: String)
    /// Stores the file of an upload.
    case storeFile(app: String)
    case upload(app: String)
    /// Cancels an upload, which continues later from its resume data.
    case pauseUpload(app: String, task: Int)
    case continueUpload(app: String, resumeData: String)
    case answerChallenge(app: String, challenge: String)
    /// Registers for notifications.
    case register(app: String)
    /// Joins the Push to Talk channel of the app.
    case joinChannel(app: String)
    /// Asks the user for authorization to send notifications, with the answer of the user.
    case requestAuthorization(app: String, isAllowed: Bool)
    /// Sets the notification categories.
    case setCategories(app: String)

    /// The app whose code acts; nil for the user and the device.
    public var actingApp: String? {
        switch self {
        case .monitorSignificantChanges(let app), .startWaiting(let app, _): app
        case .changeLocation: nil
        case .register(let app), .joinChannel(let app), .requestAuthorization(let app, _), .setCategories(let app): app
        case .report, .transition, .swipe, .look, .acknowledge, .modify, .open, .reply, .cancelExport, .keepAlive,
            .occur:
            nil
        case .completeCallback(let app, _, _), .beginTask(let app, _), .endTask(let app, _),
            .completeWake(let app, _, _), .export(let app, _), .reportProgress(let app, _, _, _), .openSession(let app),
            .download(let app), .storeFile(let app), .upload(let app), .pauseUpload(let app, _),
            .continueUpload(let app, _), .answerChallenge(let app, _), .setInterval(let app, _):
            app
        }
    }
}

/// The result of an action.
public enum Outcome: Sendable, Equatable {
    /// The request succeeded. `asOf` is the offset in the device's partition that the response reflects, if known.
    case done(JSON, asOf: Int?)
    /// The suite refused the request with this problem code.
    case refused(String)
    /// The request was abandoned.
    case failed
}

/// The services that a device may call.
public enum ServiceName: String, Sendable, CaseIterable { case lifecycle, fetch, push, transfer }
