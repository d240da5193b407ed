public import Contracts
public import Machines

/// The reason for a refused command.
public struct FetchRefusal: MachineRefusal {
    public let reason: RefusalReason
    public init(_ reason: RefusalReason) { self.reason = reason }

    /// The call represents code of the app, and the app cannot run code.
    public static func appNotRunning(_ state: AppPresence) -> Self {
        Self(
            .conflict, "app_not_running", "App is not running",
            "The app can't run code in state \"\(state.rawValue)\": launch or activate it first.")
    }
    public static let deviceOff = Self(
        .conflict, "device_off", "Device is switched off", "The device is switched off.")
    /// A refresh of the app is in progress.
    public static func fetchRunning(_ fetch: String) -> Self {
        Self(
            .conflict, "fetch_running", "A refresh is in progress",
            "Refresh \(fetch) of the app is in progress: wait until it ends.")
    }

    // The following have the names of refusals in `lifecycle`.
    public static let modeNotDeclared = Self(
        .conflict, "mode_not_declared", "Manifest does not declare the mode fetch",
        "The manifest of the app does not declare the mode \"fetch\".")
    /// The manifest has permitted task identifiers, which disable background fetch.
    public static let fetchDisabled = Self(
        .conflict, "background_fetch_disabled", "Background fetch is disabled",
        "The manifest has permittedTaskIdentifiers, which disables background fetch: submit a task request instead.")
    public static let inForeground = Self(
        .conflict, "in_foreground", "App is in the foreground", "The app is in the foreground.")
    public static let forceQuit = Self(
        .conflict, "force_quit", "App was force-quit", "The user force-quit the app and has not opened it since.")
    public static let backgroundRefreshDenied = Self(
        .conflict, "background_refresh_denied", "Background App Refresh is off",
        "Background App Refresh is off for the app or for the device.")
    public static let backgroundRefreshRestricted = Self(
        .conflict, "background_refresh_restricted", "Background App Refresh is restricted",
        "Background App Refresh is restricted on the device.")
    public static let lowPowerMode = Self(
        .conflict, "low_power_mode", "Low Power Mode is on", "Low Power Mode is on.")
    public static let lowDataMode = Self(
        .conflict, "low_data_mode", "Low Data Mode is on", "Low Data Mode is on for the network of the device.")

    // `BGTaskScheduler.Error`, with Apple's name and number of its `Code`.
    public static func taskUnavailable(_ reason: String) -> Self {
        scheduler("bg_task_unavailable", "Background tasks are unavailable", "unavailable (1): \(reason)")
    }
    public static func tooManyPendingTaskRequests(_ kind: TaskRequestKind, limit: Int) -> Self {
        scheduler(
            "bg_task_too_many_pending_task_requests", "Too many task requests are pending",
            "tooManyPendingTaskRequests (2): an app can have \(limit) pending requests of kind \(kind.rawValue)")
    }
    public static func immediateRunIneligible(_ reason: String) -> Self {
        scheduler(
            "bg_task_immediate_run_ineligible", "Task can't run immediately",
            "immediateRunIneligible (4): the strategy is \"fail\", and \(reason)")
    }
    public static func taskNotPermitted(_ reason: String) -> Self {
        scheduler("bg_task_not_permitted", "Task request is not permitted", "notPermitted (3): \(reason)")
    }
    private static func scheduler(_ code: String, _ title: String, _ error: String) -> Self {
        Self(.conflict, code, title, "BGTaskScheduler.Error.\(error).")
    }

    /// Only an app on screen submits a continued processing task, after an action of the user.
    public static let notInForeground = Self(
        .conflict, "not_in_foreground", "App is not in the foreground",
        "An app can submit a continued processing task only in the foreground: open it first.")
    /// The app registers no launch handler for the identifier. On a device an exception ends the app.
    public static func noLaunchHandler(_ identifier: String) -> Self {
        Self(
            .conflict, "no_launch_handler", "No launch handler is registered",
            "launchHandlers in the manifest does not list \(identifier): add it, and install the app again.")
    }
    /// Only a submitted request can run.
    public static func taskNotPending(_ identifier: String) -> Self {
        Self(
            .notFound, "task_not_pending", "Task request is not pending",
            "The app has no pending task request \(identifier): submit it first.")
    }
    /// An app runs one task at a time.
    public static func taskRunning(_ identifier: String) -> Self {
        Self(
            .conflict, "task_running", "A task is running",
            "Task \(identifier) of the app is running: wait until it ends.")
    }
    public static func taskNotRunning(_ identifier: String) -> Self {
        Self(
            .conflict, "task_not_running", "Task is not running", "Task \(identifier) of the app is not running.")
    }
}
