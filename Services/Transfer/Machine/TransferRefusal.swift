public import Contracts
public import Machines

/// The reason why a command was refused; `description` explains each case. A refused command changes nothing.
public enum TransferRefusal: MachineRefusal, Equatable, CustomStringConvertible {
    case deviceNotRegistered
    case appNotInstalled(String)
    /// The call represents code of the app, and the app cannot run code.
    case appNotRunning(AppPresence)
    case unknownSession(String)
    case unknownTask(Int)
    /// `NSURLErrorBackgroundSessionInUseByAnotherProcess`, −996.
    case sessionInUse(String)
    case sessionInvalidated(String)
    case unsupportedURL
    case unusableResumeData
    case unknownFile(String)
    case unknownChallenge(String)
    case nothingToClaim(Int)
    case tooManyFiles(limit: Int)
    case sessionNotAttached(String)
    /// The state of the device exceeds ``TransferPolicy/stateBytes``.
    case deviceFull
    case tooManySessions(limit: Int)
    case tooManyTasks(limit: Int)
    case staleAttempt
    /// An event of another service cannot be decoded.
    case unreadableEvent(ContractError)

    public var unreadable: ContractError? { if case .unreadableEvent(let error) = self { error } else { nil } }

    /// The problem code in error documents. It never changes.
    public var code: String {
        switch self {
        case .deviceNotRegistered: "device_not_registered"
        case .appNotInstalled: "app_not_installed"
        case .appNotRunning: "app_not_running"
        case .unknownSession: "unknown_session"
        case .unknownTask: "unknown_task"
        case .sessionInUse: "session_in_use"
        case .sessionInvalidated: "session_invalidated"
        case .unsupportedURL: "unsupported_url"
        case .unusableResumeData: "unusable_resume_data"
        case .unknownFile: "unknown_file"
        case .unknownChallenge: "unknown_challenge"
        case .nothingToClaim: "nothing_to_claim"
        case .tooManyFiles: "too_many_files"
        case .sessionNotAttached: "session_not_attached"
        case .deviceFull: "device_full"
        case .tooManySessions: "too_many_sessions"
        case .tooManyTasks: "too_many_tasks"
        case .staleAttempt: "stale_attempt"
        case .unreadableEvent: "unreadable_event"
        }
    }

    public var description: String {
        switch self {
        case .deviceNotRegistered: "The device is not registered."
        case .appNotInstalled(let app): "The app \(app) is not installed."
        case .appNotRunning(let state):
            "The app can't run code in state \"\(state.rawValue)\": launch or activate it first."
        case .unknownSession(let session): "The app has no session \(session)."
        case .unknownTask(let task): "The session has no task \(task)."
        case .sessionInUse(let session):
            "Session \(session) belongs to another app (NSURLErrorBackgroundSessionInUseByAnotherProcess, -996)."
        case .sessionInvalidated(let session): "Session \(session) is invalidated and accepts no more tasks."
        case .unsupportedURL: "The URL must be a valid http or https URL without credentials."
        case .unusableResumeData:
            "The app has no download with this resume data: it was used already, or newer resume data replaced it."
        case .unknownFile(let name): "The app has no file \(name)."
        case .unknownChallenge(let id): "No task of the app waits for an answer to challenge \(id)."
        case .nothingToClaim(let task):
            "Task \(task) has no file to claim: it is an upload, it failed, or didFinishDownloadingTo has returned."
        case .tooManyFiles(let limit): "An app can have \(limit) files, including files that downloads will become."
        case .sessionNotAttached(let session):
            "The current process of the app has not created session \(session): create it again with PUT first."
        case .deviceFull: "The device has too many tasks and files: wait until some finish, or remove some."
        case .tooManySessions(let limit): "A device can have \(limit) sessions: invalidate one first."
        case .tooManyTasks(let limit):
            "A session can have \(limit) tasks that are unfinished or not yet reported to the app."
        case .staleAttempt: "The attempt has ended, or another worker carries it out."
        case .unreadableEvent(let error): error.description
        }
    }
}
