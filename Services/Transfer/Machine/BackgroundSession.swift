public import Contracts
public import OrderedCollections
public import Records
import Timeline

/// The machine's view of an installed app.
public struct AppView: Record, Equatable {
    public var state = AppPresence.notRunning
    /// Whether the user force-quit the app. Its transfers are cancelled, and nothing wakes it.
    public var forceQuit = false
    /// The files of the app by name: files to upload, and claimed downloads.
    public var files: OrderedDictionary<String, AppFile> = [:]
    /// Cancelled transfers by their resume data: the newest ``TransferMachine/keptResumeData``.
    public var resumable: OrderedDictionary<String, ResumableTransfer> = [:]
    /// The sessions of the app by identifier. Two apps can use the same identifier.
    public var sessions: OrderedDictionary<String, BackgroundSession> = [:]
}

/// The app and the identifier of a background session on a device.
public struct SessionKey: Sendable, Hashable {
    public var app: String
    /// The identifier of the session, chosen by the app.
    public var session: String

    public init(app: String, session: String) {
        self.app = app
        self.session = session
    }

    /// The key of a task of the session.
    func task(_ number: Int) -> TaskKey { TaskKey(app: app, session: session, task: number) }
}

extension TaskKey {
    /// The session of the task.
    public var sessionKey: SessionKey { SessionKey(app: app, session: session) }
}

extension TransferMachine {
    /// The sessions of all apps.
    public var sessions: [(key: SessionKey, session: BackgroundSession)] {
        apps.flatMap { app, view in
            view.sessions.map { (key: SessionKey(app: app, session: $0), session: $1) }
        }
    }

    /// Whether an app has a session. Most devices have none most of the time.
    var hasSessions: Bool {
        let views = apps.values.elements
        return views.indices.contains { !views[$0].sessions.isEmpty }
    }

    /// A session; nil if the app has no session with this identifier.
    public internal(set) subscript(_ key: SessionKey) -> BackgroundSession? {
        get { apps[key.app]?.sessions[key.session] }
        set { apps[key.app]?.sessions[key.session] = newValue }
    }
}

/// A background session of an app.
public struct BackgroundSession: Record, Equatable {
    /// The progress of a wake for this session.
    public enum WakeState: String, WireEnum { case none, requested, begun }

    public var configuration = SessionConfiguration()
    /// Whether a process that exists has created the session. Only then it has a delegate.
    public var isAttached = false
    /// The process that has created the session.
    public var process = SessionProcess.app
    /// Whether the session accepts no more tasks.
    public var isInvalidated = false
    public var wake = WakeState.none
    /// Whether a task has finished since the app was last notified or woken.
    public var hasNews = false
    /// Whether a challenge, a redirect or a delayed request has arrived since the app was last woken.
    public var hasNewQuestion = false
    /// Whether the current wake has received `urlSessionDidFinishEvents`.
    public var hasFinishedEvents = false
    /// The number of wakes for this session since the app was last in the foreground. The resume-rate limiter uses it.
    public var relaunches = 0
    /// The identifier of the newest task.
    public var lastTask = 0
    /// The tasks by identifier. Of the finished and reported tasks only the newest ``TransferMachine/keptTasks`` remain.
    public var tasks: [TransferTask] = []
    /// The finished tasks that are not yet reported to the app, in the order in which they finished.
    public var undelivered: [Int] = []
    /// The `didFinishDownloadingTo` that is running. The next callback waits for it.
    public var finishing: FinishingDownload?
    /// The credentials that the app has given, at most one for each protection space.
    public var credentials: [HeldCredential] = []

    /// Returns a task by its identifier.
    public subscript(_ task: Int) -> TransferTask? { tasks.first { $0.task == task } }

    /// Whether the system still carries out a task. Only code of the app resumes a suspended task, so the app would never
    /// run again if its wake waited for one.
    public var hasTasksUnderWay: Bool { tasks.contains { $0.state == .running || $0.state == .canceling } }

    /// Whether a task is not completed.
    public var hasUnfinishedTasks: Bool { tasks.contains { $0.state != .completed } }
}

extension BackgroundSession {
    mutating func extendLimits(by length: Interval) {
        finishing?.countdown.extend(by: length)
        changeLimitsOfAnswers { $0.extend(by: length) }
    }

    private mutating func changeLimitsOfAnswers(_ change: (inout Countdown) -> Void) {
        for index in tasks.indices {
            if var countdown = tasks[index].challenge?.countdown {
                change(&countdown)
                tasks[index].challenge?.countdown = countdown
            }
            if var countdown = tasks[index].delayedRequest.countdown {
                change(&countdown)
                tasks[index].delayedRequest.countdown = countdown
            }
            if var countdown = tasks[index].redirect?.countdown {
                change(&countdown)
                tasks[index].redirect?.countdown = countdown
            }
        }
    }

    /// Applies a new state of the app to its session.
    mutating func note(_ state: AppPresence, at time: Instant) {
        // The process of an app extension does not depend on that of the app.
        if !isOfExtension { noteProcess(state, at: time) }
        guard state == .foreground else { return }
        // The user has returned, which resets the resume-rate limiter.
        relaunches = 0
        for index in tasks.indices { tasks[index].delayedUntil = nil }
    }

    /// Whether an app extension is connected.
    public var isOfExtension: Bool { isAttached && process == .appExtension }

    /// The end of the process of an app extension.
    mutating func detach(at time: Instant) {
        noteProcess(.notRunning, at: time)
        process = .app
    }

    private mutating func noteProcess(_ state: AppPresence, at time: Instant) {
        switch state {
        case .notRunning:
            isAttached = false
            // The process invalidated its own object. The next process creates a new one and gets the remaining callbacks.
            isInvalidated = false
            // The next process gets the callbacks that did not return. It is woken for them unless the app ended in a wake
            // for this session: an app that always crashes would be woken forever.
            let isInWake = wake == .begun
            for index in tasks.indices {
                if tasks[index].fate == .offered {
                    tasks[index].fate = .kept
                    hasNews = hasNews || !isInWake
                }
                if tasks[index].challenge?.countdown != nil {
                    tasks[index].challenge?.countdown = nil
                    hasNewQuestion = hasNewQuestion || !isInWake
                }
                if tasks[index].delayedRequest.countdown != nil {
                    tasks[index].delayedRequest.countdown = nil
                    hasNewQuestion = hasNewQuestion || !isInWake
                }
                if tasks[index].redirect?.countdown != nil {
                    tasks[index].redirect?.countdown = nil
                    hasNewQuestion = hasNewQuestion || !isInWake
                }
            }
            finishing = nil
        case .suspended:
            finishing?.countdown.stop(at: time)
            changeLimitsOfAnswers { $0.stop(at: time) }
        case .background, .foreground:
            finishing?.countdown.goOn(at: time)
            changeLimitsOfAnswers { $0.goOn(at: time) }
        }
    }
}
