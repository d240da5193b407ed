import Contracts
import Scenarios
import Timeline

/// Scheduled work of a device.
enum Work {
    /// Begins the scenario: registers the device and installs its apps.
    case begin
    case beginFault(Int)
    case endFault(Int)
    case connect
    case acknowledge(String)
    /// Returns from the service extension.
    case modify(String)
    /// Returns from `willPresent`.
    case present(String)
    case openNotification(String)
    /// Leaves the app that a notification opened, unless the person did something else since.
    case leave(use: Int)
    case lock
    /// The push service gets a push that was delayed.
    case receive(SentPush)
    /// The code of an app after its launch.
    case startUp
    /// The code of an app asks for authorization to send notifications.
    case askForNotifications
    case completeWake(String, WakeReason, HandlerResult, bytes: Int)
    case completeCallback(Callback)
    case crash
    case returnFromDownload(session: String, task: Int)
    case startTransfer(plan: Int)
    case startActivity
    case stopActivity
    case submitContinuedTask
    /// A part of the work of a continued processing task is done.
    case continueTask(wake: String, part: Int, of: Int)
}

/// An app, as the device knows it.
struct SimulatedApp {
    /// Its state, and the time since when.
    var state = AppState.notRunning
    var stateSince = Instant.epoch
    /// The number of its process: it increases when a process ends.
    var run = 0
    /// Whether it launches and has not been active yet.
    var isLaunching = false
    /// The device token at the provider.
    var token: String?
    /// The token of the framework Push to Talk at the provider.
    var pushToTalkToken: String?
    /// The PushKit token at the provider.
    var voipToken: String?
    /// The number of started transfers, by plan.
    var started: [Int]
}

/// A push on its way from the provider to the push service.
struct SentPush {
    /// The identifier of the notification.
    var id: String
    var token: String
    var sentAt: Instant
    /// The index in ``Provider/sends``.
    var item: Int
}

/// A sent push that has not arrived.
struct AwaitedPush {
    var sentAt: Instant
    var app: Int
    var content: Send.Content
    /// Whether the push service has it.
    var isReceived = false
    var isDelivered = false
}
