import Contracts
import Scenarios
import Timeline

/// Work that is due on a device of a scenario.
enum ScenarioWork: Sendable {
    case beginFault(Int)
    case endFault(Int)
    /// Connects to `push`.
    case connect
    case acknowledge(String)
    /// Returns from the service extension.
    case modify(String)
    /// Returns from `willPresent`.
    case present(String)
    case openNotification(String, app: String)
    /// Leaves the app that a notification opened, unless the person did something else since.
    case leave(use: Int)
    case lock
    /// The provider sends a push, which a fault may have delayed.
    case send(PlannedPush)
    /// A fault sends a push again.
    case sendCopy(PlannedPush)
    /// The code of an app after its launch.
    case startUp
    case completeWake(String, WakeReason, HandlerResult, bytes: Int)
    case completeCallback(String)
    case returnFromDownload(session: String)
    case answerChallenge(String)
    case startTransfer(plan: Int)
    case startActivity
    case stopActivity
    case askForNotifications
    case submitContinuedTask
    /// A part of the work of a continued processing task is done.
    case continueTask(wake: String, part: Int, of: Int)
}

/// An app of a scenario, as its device knows it.
struct ScenarioAppState: Sendable {
    /// The number of its process: it increases when a process ends.
    var run = 0
    /// Whether it launches and has not been active yet.
    var isLaunching = false
    /// Whether its code has asked for authorization to send notifications.
    var hasAsked = false
    /// The device tokens at the provider, by kind.
    var tokens: [TokenKind: String] = [:]
    /// The minimum background fetch interval that it has set.
    var interval: FetchInterval?
    var monitorsVisits = false
    var hasBluetoothManager = false
    var hasHealthDelivery = false
    var activity: ActivityKind?
    /// The number of started transfers, by plan.
    var started: [Int]

    /// Returns the token for pushes with a content; nil if the provider has none.
    func token(for content: Send.Content) -> String? {
        switch content {
        case .alert, .alertWithContent, .silent: tokens[.apns]
        case .pushToTalk: tokens[.pushtotalk]
        case .voip: tokens[.voip] ?? tokens[.apns]
        }
    }
}
