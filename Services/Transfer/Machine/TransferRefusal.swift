public import Contracts
public import Machines

/// The reason for a refused command.
public struct TransferRefusal: MachineRefusal {
    public let reason: RefusalReason
    public init(_ reason: RefusalReason) { self.reason = reason }

    /// The call represents code of the app, and the app cannot run code.
    public static func appNotRunning(_ state: AppPresence) -> Self {
        Self(
            .conflict, "app_not_running", "App is not running",
            "The app can't run code in state \"\(state.rawValue)\": launch or activate it first.")
    }
    public static func unknownSession(_ session: String) -> Self {
        Self(.notFound, "unknown_session", "Session does not exist", "The app has no session \(session).")
    }
    public static func unknownTask(_ task: Int) -> Self {
        Self(.notFound, "unknown_task", "Task does not exist", "The session has no task \(task).")
    }
    /// `NSURLErrorBackgroundSessionRequiresSharedContainer`.
    public static func sharedContainerRequired(_ session: String) -> Self {
        Self(
            .unprocessable, "background_session_requires_shared_container", "Session needs a shared container",
            "Session \(session) of an app extension needs sharedContainerIdentifier (NSURLErrorDomain, code -995).")
    }
    /// `NSURLErrorBackgroundSessionInUseByAnotherProcess`.
    public static func sessionInUse(_ session: String, by process: SessionProcess) -> Self {
        let owner = process == .app ? "the app" : "an app extension"
        return Self(
            .conflict, "background_session_in_use_by_another_process", "Session is in use by another process",
            "Session \(session) is connected to \(owner), whose process must end first (NSURLErrorDomain, code -996).")
    }
    public static func sessionInvalidated(_ session: String) -> Self {
        Self(
            .conflict, "session_invalidated", "Session is invalidated",
            "Session \(session) is invalidated and accepts no more tasks.")
    }
    public static let unsupportedURL = Self(
        .unprocessable, "unsupported_url", "URL is not supported",
        "The URL must be a valid http or https URL without credentials.")
    public static func unusableResumeData(_ kind: TransferKind) -> Self {
        Self(
            .unprocessable, "unusable_resume_data", "Resume data can't be used",
            "The app has no \(kind.rawValue) with this resume data: it was used already, or newer resume data replaced it."
        )
    }
    public static func unknownFile(_ name: String) -> Self {
        Self(.notFound, "unknown_file", "File does not exist", "The app has no file \(name).")
    }
    public static func unknownChallenge(_ id: String) -> Self {
        Self(
            .notFound, "unknown_challenge", "Challenge is not pending",
            "No task of the app waits for an answer to challenge \(id).")
    }
    public static func noDelayedRequest(_ task: Int) -> Self {
        Self(
            .conflict, "no_delayed_request", "Task has no delayed request to answer",
            "Task \(task) has no open willBeginDelayedRequest: its delegate was not asked yet, or has answered.")
    }
    public static func noRedirect(_ task: Int) -> Self {
        Self(
            .conflict, "no_redirect", "Task has no redirect to decide about",
            "Task \(task) has no open willPerformHTTPRedirection: background sessions follow redirects unless the "
                + "deployment reads the rule redirects as the document.")
    }
    public static func nothingToClaim(_ task: Int) -> Self {
        Self(
            .conflict, "nothing_to_claim", "Task has no file to claim",
            "Task \(task) has no file to claim: it is an upload, it failed, or didFinishDownloadingTo has returned.")
    }
    public static func tooManyFiles(limit: Int) -> Self {
        Self(
            .conflict, "too_many_files", "App has too many files",
            "An app can have \(limit) files, including files that downloads will become.")
    }
    /// The files of the device would exceed ``TransferPolicy/fileBytes``.
    public static let fileQuotaExceeded = Self(
        .noSpace, "file_quota_exceeded", "File quota is used up",
        "The files of the device would exceed DEVICE_FILE_QUOTA: remove files or cancel tasks.")
    public static func sessionNotAttached(_ session: String) -> Self {
        Self(
            .conflict, "session_not_attached", "Session is not attached",
            "The current process of the app has not created session \(session): create it again with PUT first.")
    }
    /// The state of the device exceeds ``TransferPolicy/stateBytes``.
    public static let deviceFull = Self(
        .conflict, "device_full", "Device is full",
        "The device has too many tasks and files: wait until some finish, or remove some.")
    public static func tooManySessions(limit: Int) -> Self {
        Self(
            .conflict, "too_many_sessions", "Device has too many sessions",
            "A device can have \(limit) sessions: invalidate one first.")
    }
    public static func tooManyTasks(limit: Int) -> Self {
        Self(
            .conflict, "too_many_tasks", "Session has too many tasks",
            "A session can have \(limit) tasks that are unfinished or not yet reported to the app.")
    }
    public static let staleAttempt = Self(
        .conflict, "stale_attempt", "Attempt is stale", "The attempt has ended, or another worker carries it out.")
}
