public import Records

/// The events of `transfer`: background downloads and uploads. Source: `transfer`.
public enum TransferEvent: EventFamily {
    case deviceUpdated(DeviceUpdated)
    case deviceRemoved(DeviceRemoved)
    case appUpdated(AppUpdated)
    case appRemoved(AppRemoved)
    case sessionCreated(SessionCreated)
    case sessionAttached(SessionAttached)
    case sessionDetached(SessionDetached)
    case sessionInvalidated(SessionInvalidated)
    case taskCreated(TaskCreated)
    case taskResumed(TaskResumed)
    case taskBecameDownload(TaskBecameDownload)
    case taskSuspended(TaskSuspended)
    case taskCancelled(TaskCancelled)
    case taskHeld(TaskHeld)
    case taskCompleted(TaskCompleted)
    case attemptScheduled(AttemptScheduled)
    case attemptStarted(AttemptStarted)
    case attemptEnded(AttemptEnded)
    case responseReceived(ResponseReceived)
    case informationalReceived(InformationalReceived)
    case progressMade(ProgressMade)
    case bodySent(BodySent)
    case uploadCreated(UploadCreated)
    case uploadResumed(UploadResumed)
    case progressReported(ProgressReported)
    case redirectFollowed(RedirectFollowed)
    case redirectReceived(RedirectReceived)
    case redirectPresented(RedirectPresented)
    case redirectAnswered(RedirectAnswered)
    case eventsDelivered(EventsDelivered)
    case wakeRequested(WakeRequested)
    case wakeBegun(WakeBegun)
    case wakeEnded(WakeEnded)
    case downloadFinished(DownloadFinished)
    case downloadReturned(DownloadReturned)
    case challengeReceived(ChallengeReceived)
    case challengePresented(ChallengePresented)
    case challengeAnswered(ChallengeAnswered)
    case delayedRequestDue(DelayedRequestDue)
    case delayedRequestPresented(DelayedRequestPresented)
    case delayedRequestAnswered(DelayedRequestAnswered)
    case fileReserved(FileReserved)
    case fileStored(FileStored)
    case fileRemoved(FileRemoved)
    case sessionEnded(SessionEnded)
    case outageRecorded(OutageRecorded)

    public static let source = "transfer"
}

/// The data of an event about one task of a session.
public protocol TransferTaskEventData: EventData {
    var taskKey: TaskKey { get set }
}

extension TransferTaskEventData {
    /// Creates an event about a task. `fill` sets the other properties.
    public init(_ taskKey: TaskKey, _ fill: (inout Self) -> Void = { _ in }) {
        self = .placeholder
        self.taskKey = taskKey
        fill(&self)
    }

    public var app: String? { taskKey.app }
    public var session: String { taskKey.session }
    public var task: Int { taskKey.task }
}

/// The app, session and number that identify a task on its device.
public struct TaskKey: Record, Hashable {
    public var app: String
    /// The identifier of the session, chosen by the app.
    public var session: String
    /// The identifier of the task: a small number from 1, unique in its session.
    public var task: Int

    public static var placeholder: TaskKey { TaskKey(app: "", session: "", task: 0) }

    public init(app: String, session: String, task: Int) {
        self.app = app
        self.session = session
        self.task = task
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        // Events may have no app.
        var app = app.isEmpty ? nil : app
        fields.field("app", &app)
        self.app = app ?? ""
        fields.field("session", &session)
        fields.field("task", &task)
    }
}
