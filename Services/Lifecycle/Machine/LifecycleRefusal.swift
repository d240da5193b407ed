public import Contracts
public import Machines

/// The reason for a refused command.
public struct LifecycleRefusal: MachineRefusal {
    public let reason: RefusalReason
    public init(_ reason: RefusalReason) { self.reason = reason }

    public static func illegalTransition(_ state: AppState, _ event: AppTransition) -> Self {
        Self(
            .conflict, "illegal_transition", "Transition is not possible in this state",
            "The transition \"\(event.rawValue)\" is not possible in the state \"\(state.rawValue)\".")
    }
    public static func appNotRunning(_ state: AppState) -> Self {
        Self(
            .conflict, "app_not_running", "App is not running",
            "The code of the app cannot run in the state \"\(state.rawValue)\".")
    }
    /// `UIBackgroundTaskIdentifier.invalid`.
    public static let invalidTask = Self(
        .conflict, "invalid_task", "Background tasks are not available",
        "The app cannot run in the background now, or it has too many open tasks.")
    public static let restricted = Self(
        .conflict, "restricted", "Device restricts this setting", "A restriction of the device forbids this change.")
    public static func unknownWake(_ wake: String) -> Self {
        Self(.notFound, "unknown_wake", "Wake is unknown", "The app has no wake \(wake).")
    }
    public static let alreadyCompleted = Self(
        .conflict, "already_completed", "Nothing left to complete",
        "The callback or wake is already completed, or the callback does not wait for a completion.")
    public static func resultMissing(_ reason: WakeReason) -> Self {
        Self(
            .unprocessable, "result_missing", "Wake result is missing",
            "The completion of a \(reason.rawValue) wake needs a result: newData, noData or failed.")
    }
    /// The completion needs the parameter of `setTaskCompleted(success:)`.
    public static let successMissing = Self(
        .unprocessable, "success_missing", "Task success is missing",
        "The completion of a task request needs success: true or false.")
    /// Only `BGContinuedProcessingTask` conforms to `ProgressReporting`.
    public static func withoutProgress(_ kind: WakeKind) -> Self {
        Self(
            .conflict, "wake_without_progress", "Wake has no progress",
            "A wake of the kind \"\(kind.rawValue)\" has no progress. Only a continued processing task has.")
    }
    /// The completion needs a `PTPushResult`.
    public static let pushResultMissing = Self(
        .unprocessable, "push_result_missing", "Push result is missing",
        "The completion of a Push to Talk push needs pushResult: activeRemoteParticipant or leaveChannel.")
    public static func activityNotAllowed(_ kind: ActivityKind) -> Self {
        Self(
            .conflict, "activity_not_allowed", "Activity is not allowed in the background",
            "The app may not start \"\(kind.rawValue)\" in the background. It must declare the mode, Background App "
                + "Refresh must allow it, and location updates need allowsBackgroundLocationUpdates from iOS 9.")
    }
    /// `CLError.denied`.
    public static let locationDenied = Self(
        .conflict, "location_denied", "Location is not authorized",
        "The user has not authorized location for the app.")
    /// `CLAuthorizationStatus.authorizedWhenInUse`.
    public static let locationNotInUse = Self(
        .conflict, "location_not_in_use", "App is not in use",
        "The user has authorized location only while the app is in use. Start location on screen, or during a "
            + "background activity session.")
    /// `requestTemporaryFullAccuracyAuthorization(withPurposeKey:completion:)` fails.
    public static let appNotInUse = Self(
        .conflict, "app_not_in_use", "App is not in use",
        "The user can allow full accuracy for a time only while the app is in use: on screen, or during a background "
            + "activity session.")
    /// `CLError.regionMonitoringFailure`.
    public static func regionMonitoringFailure(_ reason: String) -> Self {
        Self(
            .conflict, "region_monitoring_failure", "Region can't be monitored",
            "The region cannot be monitored: \(reason).")
    }
    /// Apple has no beacon region with a minor number alone.
    public static let beaconMajorMissing = Self(
        .unprocessable, "beacon_major_missing", "Major number of the beacon is missing",
        "A minor number needs a major number.")
    /// A `CLMonitor` exists in the process that created it.
    public static func monitorNotOpen(_ monitor: String) -> Self {
        Self(
            .conflict, "monitor_not_open", "Monitor is not open",
            "The process of the app has not opened the monitor \"\(monitor)\". Open it first.")
    }
    public static let conditionUnclear = Self(
        .unprocessable, "condition_unclear", "Condition needs a circle or a beacon",
        "A condition of a monitor has either a circle or a beacon.")
    /// `CLMonitor.Event.conditionLimitExceeded`.
    public static let tooManyConditions = Self(
        .conflict, "condition_limit_exceeded", "App monitors too many conditions",
        "An app can monitor \(LifecyclePolicy.conditionsPerApp) conditions: remove one first.")
    public static let tooManyMonitors = Self(
        .conflict, "too_many_monitors", "App has too many monitors",
        "An app can have \(LifecyclePolicy.monitorsPerApp) monitors. A monitor without conditions ends with its process."
    )
    public static let bluetoothOff = Self(
        .conflict, "bluetooth_off", "Bluetooth is off", "The device gets no Bluetooth events while Bluetooth is off.")
    /// The system calls an app only for events that it waits for (Apple, TN3115).
    public static func bluetoothNotAwaited(_ role: BluetoothRole) -> Self {
        Self(
            .conflict, "bluetooth_not_awaited", "App does not wait for Bluetooth events",
            "The app has no Bluetooth manager in the role \"\(role.rawValue)\". Without a restoration identifier, a manager "
                + "ends with the process of its app.")
    }
    public static let tooManyHealthTypes = Self(
        .conflict, "too_many_health_types", "App has too many background deliveries",
        "An app can have background deliveries for \(LifecyclePolicy.healthTypesPerApp) types of samples: "
            + "disable one first.")
    public static let answerMissing = Self(
        .unprocessable, "answer_missing", "Answer of the user is missing",
        "The system asks the user, so the request needs an answer: allow or deny.")
    public static func entitlementMissing(_ entitlement: Entitlement) -> Self {
        Self(
            .conflict, "entitlement_missing", "App lacks an entitlement",
            "The manifest lacks the entitlement \(entitlement.rawValue).")
    }
    public static func unavailableOnDevice(_ need: String) -> Self {
        Self(
            .conflict, "unavailable_on_device", "Device lacks the hardware", "The device lacks the hardware: \(need).")
    }

    /// Returns the refusal with the reading of the disputed rule that decided.
    func decided(by rule: DisputedRule, _ reading: Reading) -> Self {
        let name = reading == .document ? "the source document" : "Apple's documentation"
        return Self(
            reason.kind, reason.code, reason.title, "\(reason.detail) The rule \(rule.rawValue) is as in \(name).")
    }
}
