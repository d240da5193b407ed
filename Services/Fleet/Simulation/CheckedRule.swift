public import Records
public import Timeline

/// A rule that a simulation with checks holds to every event. The value is the rule as a sentence.
public enum CheckedRule: String, WireEnum {
    case burstBudget = "No app exceeds its budget of silent pushes."
    case dailyBudget = "No device exceeds its daily budget of silent pushes."
    case deliveredWhileConnected = "A push is delivered only over a connection."
    case deliveredWhileOn = "Nothing is delivered while the device is off."
    case endsOnce = "A notification ends only once."
    case equalsFold = "A state equals the fold of its events."
    case followsFromState = "Each change of an app follows from its state."
    case oneAnswerToWake = "Each request for a wake has one answer."
    case oneAppOnScreen = "At most one app is on screen."
    case oneOutcome = "A push has one outcome."
    case oneRefresh = "An app has at most one refresh at a time."
    case oneStoredPush = "At most one push is stored for an app."
    case openedWhileOn = "Nothing is opened while the device is off."
    case refreshFloor = "Refreshes of an app keep the least interval."
    case runsWhileOn = "No app runs while the device is off."
    case timeGoesForward = "Time never goes back."
    case transferEnds = "A transfer ends by its deadline."
    case transferEndsOnce = "A transfer ends only once."
    case wakeAfterForceQuit = "A force quit ends the wakes of an app, except those that iOS allows."
    case wakeEnds = "A wake in the background ends by its deadline."
}

/// A rule that the machines violated.
public struct Violation: Sendable, Equatable, CustomStringConvertible {
    public let device: String
    public let at: Instant
    public let rule: CheckedRule

    public var description: String { "\(at) \(device): violated: \(rule.rawValue)" }
}
