import Records

/// The events of `transfer`: background downloads and uploads. Source: `transfer`.
public enum TransferEvent: EventFamily {
    case deviceUpdated(DeviceUpdated)
    case deviceRemoved(DeviceRemoved)
    case appUpdated(AppUpdated)
    case appRemoved(AppRemoved)
    case sessionCreated(SessionCreated)
    case sessionAttached(SessionAttached)
    case sessionInvalidated(SessionInvalidated)
    case taskCreated(TaskCreated)
    case taskResumed(TaskResumed)
    case taskSuspended(TaskSuspended)
    case taskCancelled(TaskCancelled)
    case taskHeld(TaskHeld)
    case taskCompleted(TaskCompleted)
    case attemptScheduled(AttemptScheduled)
    case attemptStarted(AttemptStarted)
    case attemptEnded(AttemptEnded)
    case responseReceived(ResponseReceived)
    case progressMade(ProgressMade)
    case bodySent(BodySent)
    case progressReported(ProgressReported)
    case redirectFollowed(RedirectFollowed)
    case eventsDelivered(EventsDelivered)
    case wakeRequested(WakeRequested)
    case wakeBegun(WakeBegun)
    case wakeEnded(WakeEnded)
    case downloadFinished(DownloadFinished)
    case downloadReturned(DownloadReturned)
    case challengeReceived(ChallengeReceived)
    case challengePresented(ChallengePresented)
    case challengeAnswered(ChallengeAnswered)
    case fileReserved(FileReserved)
    case fileStored(FileStored)
    case fileRemoved(FileRemoved)
    case sessionEnded(SessionEnded)
    case outageRecorded(OutageRecorded)

    public static let source = "transfer"
}

/// The data of an event about one task of a session.
public protocol TransferTaskEventData: EventData {
    var app: String? { get set }
    /// The identifier of the session, chosen by the app.
    var session: String { get set }
    /// The identifier of the task: a small number from 1, unique in its session.
    var task: Int { get set }
}

extension TransferTaskEventData {
    /// Creates an event about a task. `fill` sets the other properties.
    public init(_ taskKey: TaskKey, _ fill: (inout Self) -> Void = { _ in }) {
        self = .placeholder
        app = taskKey.app
        session = taskKey.session
        task = taskKey.task
        fill(&self)
    }

    /// The app, session and number of the task.
    public var taskKey: TaskKey { TaskKey(app: app ?? "", session: session, task: task) }
}

/// The app, session and number that identify a task on its device.
public struct TaskKey: Sendable, Hashable {
    public var app: String
    public var session: String
    public var task: Int

    public init(app: String, session: String, task: Int) {
        self.app = app
        self.session = session
        self.task = task
    }
}
