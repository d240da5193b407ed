public import Contracts
public import Machines

/// Why a command was refused. Nothing is changed then.
public enum TransferRefusal: MachineRefusal, Equatable, CustomStringConvertible {
    case deviceNotRegistered
    case appNotInstalled(String)
    /// The call stands for code of an app that can't run any.
    case appNotRunning(AppPresence)
    case unknownSession(String)
    case unknownTask(Int)
    /// `NSURLErrorBackgroundSessionInUseByAnotherProcess`, −996.
    case sessionInUse(String)
    case sessionInvalidated(String)
    case unsupportedURL
    /// Nothing has this resume data, or it was used.
    case unusableResumeData
    case unknownFile(String)
    /// No challenge has this identifier, or it was answered.
    case unknownChallenge(String)
    /// The task has no file that could be the app's.
    case nothingToClaim(Int)
    case tooManyFiles(limit: Int)
    /// The app's present process has not created the session.
    case sessionNotAttached(String)
    /// The device has so much on it that nothing new is taken.
    case deviceFull
    case tooManySessions(limit: Int)
    case tooManyTasks(limit: Int)
    /// Another attempt has taken its place, or it is over.
    case staleAttempt
    /// Another service's event that can't be read.
    case unreadableEvent(ContractError)

    public var unreadable: ContractError? { if case .unreadableEvent(let error) = self { error } else { nil } }

    /// The stable word for it in error documents.
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
        case .appNotRunning(let state): "The app runs no code: its state is \"\(state.rawValue)\"."
        case .unknownSession(let session): "The app has no session \(session)."
        case .unknownTask(let task): "The session has no task \(task)."
        case .sessionInUse(let session):
            "The session \(session) is another app's (NSURLErrorBackgroundSessionInUseByAnotherProcess, -996)."
        case .sessionInvalidated(let session): "The session \(session) was invalidated and takes no more tasks."
        case .unsupportedURL: "A background session moves only http and https URLs without credentials in them."
        case .unusableResumeData: "Nothing goes on from this resume data: it was used already, or is too old."
        case .unknownFile(let name): "The app has no file \(name)."
        case .unknownChallenge(let id): "No challenge \(id) waits for an answer."
        case .nothingToClaim(let task):
            "Task \(task) has no file to claim: it is no download, it failed, or didFinishDownloadingTo has returned."
        case .tooManyFiles(let limit): "An app has at most \(limit) files, those that it has claimed ahead included."
        case .sessionNotAttached(let session):
            "The app was started anew and has not created the session \(session) again: PUT it first."
        case .deviceFull: "The device has too many tasks and files: let some finish, or remove some."
        case .tooManySessions(let limit): "A device has at most \(limit) sessions."
        case .tooManyTasks(let limit): "A session has at most \(limit) unfinished tasks."
        case .staleAttempt: "The attempt is over."
        case .unreadableEvent(let error): error.description
        }
    }
}
