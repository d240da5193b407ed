import Records

/// The events of `transfer`: how bytes move while apps sleep. Source: `transfer`.
public enum TransferEvent: EventFamily {
    case deviceNoted(DeviceNoted)
    case deviceForgotten(DeviceForgotten)
    case appNoted(AppNoted)
    case appForgotten(AppForgotten)
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
    case progressTold(ProgressTold)
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
    case outageNoted(OutageNoted)

    public static let source = "transfer"

    public static let catalogue: [EventKind<TransferEvent>] = [
        EventKind(TransferEvent.deviceNoted),
        EventKind(TransferEvent.deviceForgotten),
        EventKind(TransferEvent.appNoted),
        EventKind(TransferEvent.appForgotten),
        EventKind(TransferEvent.sessionCreated),
        EventKind(TransferEvent.sessionAttached),
        EventKind(TransferEvent.sessionInvalidated),
        EventKind(TransferEvent.taskCreated),
        EventKind(TransferEvent.taskResumed),
        EventKind(TransferEvent.taskSuspended),
        EventKind(TransferEvent.taskCancelled),
        EventKind(TransferEvent.taskHeld),
        EventKind(TransferEvent.taskCompleted),
        EventKind(TransferEvent.attemptScheduled),
        EventKind(TransferEvent.attemptStarted),
        EventKind(TransferEvent.attemptEnded),
        EventKind(TransferEvent.responseReceived),
        EventKind(TransferEvent.progressMade),
        EventKind(TransferEvent.bodySent),
        EventKind(TransferEvent.progressTold),
        EventKind(TransferEvent.redirectFollowed),
        EventKind(TransferEvent.eventsDelivered),
        EventKind(TransferEvent.wakeRequested),
        EventKind(TransferEvent.wakeBegun),
        EventKind(TransferEvent.wakeEnded),
        EventKind(TransferEvent.downloadFinished),
        EventKind(TransferEvent.downloadReturned),
        EventKind(TransferEvent.challengeReceived),
        EventKind(TransferEvent.challengePresented),
        EventKind(TransferEvent.challengeAnswered),
        EventKind(TransferEvent.fileReserved),
        EventKind(TransferEvent.fileStored),
        EventKind(TransferEvent.fileRemoved),
        EventKind(TransferEvent.sessionEnded),
        EventKind(TransferEvent.outageNoted),
    ]

    public var data: any EventData {
        switch self {
        case .deviceNoted(let data): data
        case .deviceForgotten(let data): data
        case .appNoted(let data): data
        case .appForgotten(let data): data
        case .sessionCreated(let data): data
        case .sessionAttached(let data): data
        case .sessionInvalidated(let data): data
        case .taskCreated(let data): data
        case .taskResumed(let data): data
        case .taskSuspended(let data): data
        case .taskCancelled(let data): data
        case .taskHeld(let data): data
        case .taskCompleted(let data): data
        case .attemptScheduled(let data): data
        case .attemptStarted(let data): data
        case .attemptEnded(let data): data
        case .responseReceived(let data): data
        case .progressMade(let data): data
        case .bodySent(let data): data
        case .progressTold(let data): data
        case .redirectFollowed(let data): data
        case .eventsDelivered(let data): data
        case .wakeRequested(let data): data
        case .wakeBegun(let data): data
        case .wakeEnded(let data): data
        case .downloadFinished(let data): data
        case .downloadReturned(let data): data
        case .challengeReceived(let data): data
        case .challengePresented(let data): data
        case .challengeAnswered(let data): data
        case .fileReserved(let data): data
        case .fileStored(let data): data
        case .fileRemoved(let data): data
        case .sessionEnded(let data): data
        case .outageNoted(let data): data
        }
    }
}

/// Data about one task of a session.
public protocol TransferTaskEventData: EventData {
    var app: String? { get set }
    /// The session's identifier, as the app chose it.
    var session: String { get set }
    /// The task's identifier: small, from 1, unique in its session.
    var task: Int { get set }
}

extension TransferTaskEventData {
    /// An event about a task, told by its place; `fill` tells the rest.
    public init(_ place: TaskPlace, _ fill: (inout Self) -> Void = { _ in }) {
        self.init()
        app = place.app
        session = place.session
        task = place.task
        fill(&self)
    }

    public var place: TaskPlace { TaskPlace(app: app ?? "", session: session, task: task) }

    mutating func visitPlace<V: FieldVisitor>(_ fields: inout V) {
        fields.field("app", &app)
        fields.field("session", &session)
        fields.field("task", &task)
    }
}

/// Where a task stands on its device.
public struct TaskPlace: Sendable, Hashable {
    public var app: String
    public var session: String
    public var task: Int

    public init(app: String, session: String, task: Int) {
        self.app = app
        self.session = session
        self.task = task
    }
}
