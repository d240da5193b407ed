public import Contracts
public import Machines
public import OrderedCollections
import Records
public import Timeline

/// One device: its background sessions with their tasks, and the device conditions that affect them.
///
/// The diagram shows the states of a task. A running task has either an attempt, which a transfer worker carries out, or
/// a reason why it waits:
///
/// ```mermaid
/// stateDiagram-v2
///     [*] --> suspended: download, upload
///     suspended --> running: resume
///     running --> suspended: suspend
///     running --> completed: finished, failed, resource time-out
///     running --> canceling: cancel, force quit
///     suspended --> canceling: cancel, force quit
///     canceling --> completed
/// ```
public struct TransferMachine: Machine {
    public typealias Command = TransferCommand
    public typealias OwnEvent = TransferEvent
    public typealias Refusal = TransferRefusal
    public typealias Policy = TransferPolicy

    public var isRegistered = false
    /// The fleet whose tokens may access the device.
    public var fleet: String?
    /// The iOS version that the device simulates.
    public var profile = ProfileName.ios18
    public var isPoweredOn = true
    public var battery = Battery()
    public var isLowPowerMode = false
    public var network = Network()
    /// The behaviour of a built-in device; nil for any other.
    public var simulate: BuiltInDevice?
    /// Whether a client answers for the built-in device.
    public var hasClient = false
    /// The installed apps with their sessions, by bundle identifier.
    public var apps: OrderedDictionary<String, AppView> = [:]

    public static let version = 1

    /// True: apps must return from callbacks and answer challenges in time.
    public static let ownsLimits = true

    public static func note(_ outage: Outage, _ decision: inout Decision<TransferMachine>) {
        let state = decision.state
        let runs = state.sessions.contains { _, session in
            session.finishing?.countdown.until != nil
                || session.tasks.contains {
                    ($0.challenge?.countdown ?? $0.redirect?.countdown ?? $0.delayedRequest.countdown)?.until != nil
                }
        }
        if runs { decision.emit(.outageRecorded(.init(from: outage.from, until: outage.until))) }
    }

    public var nextDeadline: Instant? {
        guard hasSessions else { return nil }
        var earliest: Instant?
        for (_, session) in sessions {
            var moments = [session.finishing?.countdown.until].compactMap { $0 }
            for task in session.tasks where task.state != .completed {
                if let moment = task.timeout?.until { moments.append(moment) }
                if let moment = task.waitsUntil { moments.append(moment) }
                if let moment = endOfBytes(of: task) { moments.append(moment) }
                if let moment = task.challenge?.countdown?.until { moments.append(moment) }
                if let moment = task.redirect?.countdown?.until { moments.append(moment) }
                if let moment = task.delayedRequest.countdown?.until { moments.append(moment) }
            }
            for moment in moments { earliest = min(earliest ?? moment, moment) }
        }
        return earliest
    }

    /// Returns a task, or nil if the app has no such session or the session no such task.
    public func task(_ taskKey: TaskKey) -> TransferTask? {
        self[taskKey.sessionKey]?[taskKey.task]
    }

    public static func decide(
        _ input: Input<TransferCommand>, _ decision: inout Decision<TransferMachine>
    ) throws(TransferRefusal) {
        switch input {
        case .command(let command): try decision.handle(command)
        case .event(let event): try decision.handle(event)
        case .deadline: decision.passTime()
        }
        decision.settle()
    }
}

extension Decision<TransferMachine> {
    fileprivate mutating func handle(_ command: TransferCommand) throws(TransferRefusal) {
        guard state.isRegistered else { throw .deviceNotRegistered }
        switch command {
        case .openSession(let app, let session, let configuration, let process):
            try openSession(SessionKey(app: app, session: session), configuration, by: process)
        case .endExtension(let app, let session): try endExtension(SessionKey(app: app, session: session))
        case .invalidateSession(let app, let session, let cancels):
            try invalidateSession(SessionKey(app: app, session: session), cancels: cancels)
        case .download(let app, let session, let request, let isDataTask, let resumes):
            try create(
                .download, SessionKey(app: app, session: session), request, isDataTask: isDataTask, resumes: resumes)
        case .downloadResuming(let app, let session, let resumeData, let changes, let resumes):
            try resume(.download, SessionKey(app: app, session: session), resumeData, changes, resumes: resumes)
        case .upload(let app, let session, let request, let source, let resumes):
            try create(.upload, SessionKey(app: app, session: session), request, source, resumes: resumes)
        case .uploadResuming(let app, let session, let resumeData, let changes, let resumes):
            try require(.resumableUploads)
            try resume(.upload, SessionKey(app: app, session: session), resumeData, changes, resumes: resumes)
        case .resume(let taskKey): try resume(taskKey)
        case .suspend(let taskKey): try suspend(taskKey)
        case .cancel(let taskKey): try cancel(taskKey, producesResumeData: false)
        case .cancelBySystem(let taskKey, let reason): try cancelBySystem(taskKey, reason)
        case .becomeDownload(let taskKey): try becomeDownload(taskKey)
        case .cancelByProducingResumeData(let taskKey): try cancel(taskKey, producesResumeData: true)
        case .claim(let taskKey, let name): try claim(taskKey, as: name)
        case .returnFromCallback(let app, let session, let task):
            try returnFromCallback(SessionKey(app: app, session: session), task)
        case .storeFile(let app, let name, let file): try store(file, as: name, of: app)
        case .removeFile(let app, let name): try remove(name, of: app)
        case .answerChallenge(let app, let id, let disposition, let credential):
            try answer(app, id, disposition, credential)
        case .answerDelayedRequest(let taskKey, let disposition, let request):
            try answerDelayedRequest(taskKey, disposition, request)
        case .startAttempt(let attempt): try start(attempt)
        case .receiveResponse(let attempt, let head): try receive(attempt, head)
        case .receiveInformational(let attempt, let response): try receive(attempt, informational: response)
        case .answerRedirect(let taskKey, let disposition): try answerRedirect(taskKey, disposition)
        case .followRedirect(let attempt, let redirect): try follow(attempt, redirect)
        case .createUpload(let attempt, let url): try createUpload(attempt, url)
        case .resumeUpload(let attempt, let offset): try resumeUpload(attempt, from: offset)
        case .reportSent(let attempt, let total): try reportSent(attempt, total: total)
        case .challenge(let attempt, let asked): try challenge(attempt, asked)
        case .report(let attempt, let total): try report(attempt, total: total)
        case .finish(let attempt, let total, let sha256): try finish(attempt, total: total, sha256: sha256)
        case .fail(let attempt, let total, let end): try fail(attempt, total: total, end)
        case .takeOver(let attempt): try takeOver(attempt)
        }
    }

    /// Expires the tasks, challenges and callbacks that are due.
    fileprivate mutating func passTime() {
        finishMovedTasks()
        expireTasks()
        expireChallenges()
        expireRedirects()
        expireDelayedRequests()
        expireCallbacks()
    }

    /// Starts and stops attempts, notifies the apps, and ends invalidated sessions.
    fileprivate mutating func settle() {
        guard state.hasSessions else { return }
        let sessions = state.sessions.map(\.key)
        for session in sessions { arrange(session) }
        for session in sessions { tell(session) }
        actAsDevice()
        for session in sessions { end(session) }
    }
}
