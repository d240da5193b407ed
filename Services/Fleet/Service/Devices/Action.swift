public import Records

/// What a device, its person or the code of one of its apps does next: one call to one service.
public enum Action: Sendable, Equatable {
    // The person and the device.
    case report(Surroundings)
    case transition(app: String, String)
    case swipe(app: String)
    /// Asks what became of an app, where the simulator's belief was wrong.
    case look(app: String)
    case acknowledge(notification: String)
    case open(notification: String)
    case keepAlive
    // The code of an app.
    case completeCallback(app: String, String, session: String?)
    case beginTask(app: String, String)
    case endTask(app: String, task: String)
    case completeWake(app: String, wake: String, JSON)
    case openSession(app: String)
    case download(app: String)
    case answerChallenge(app: String, challenge: String)

    /// The app whose code acts; nil where it is the person or the device.
    public var actingApp: String? {
        switch self {
        case .report, .transition, .swipe, .look, .acknowledge, .open, .keepAlive: nil
        case .completeCallback(let app, _, _), .beginTask(let app, _), .endTask(let app, _),
            .completeWake(let app, _, _), .openSession(let app), .download(let app), .answerChallenge(let app, _):
            app
        }
    }
}

/// What the suite said to an action.
public enum Outcome: Sendable, Equatable {
    /// - Parameter asOf: the offset, in the device's partition, up to which the answer knows; nil where it does not say.
    case done(JSON, asOf: Int?)
    /// The stable code of the problem.
    case refused(String)
    /// Given up.
    case failed
}

/// The services that a device may talk to.
public enum ServiceName: String, Sendable, CaseIterable { case lifecycle, fetch, push, transfer }
