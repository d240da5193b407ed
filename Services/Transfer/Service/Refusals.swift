import Contracts
public import HTTPKit
import HTTPTypes
public import ServiceKit
public import TransferMachine

extension TransferRefusal: ProblemConvertible {
    /// The problem document of the refusal.
    public var problem: Problem {
        let status: HTTPResponse.Status
        switch self {
        case .deviceNotRegistered, .appNotInstalled, .unknownSession, .unknownTask, .unknownFile, .unknownChallenge:
            status = .notFound
        case .unsupportedURL, .unusableResumeData: status = .unprocessableContent
        case .appNotRunning, .sessionInUse, .sessionInvalidated, .tooManySessions, .tooManyTasks, .tooManyFiles,
            .sessionNotAttached, .deviceFull, .nothingToClaim, .staleAttempt:
            status = .conflict
        case .unreadableEvent: status = .internalServerError
        }
        return Problem(status, code, title).with(detail: description)
    }

    private var title: String {
        switch self {
        case .deviceNotRegistered: "Device is not registered"
        case .appNotInstalled: "App is not installed"
        case .appNotRunning: "App is not running"
        case .unknownSession: "Session does not exist"
        case .unknownTask: "Task does not exist"
        case .sessionInUse: "Session belongs to another app"
        case .sessionInvalidated: "Session is invalidated"
        case .unsupportedURL: "URL is not supported"
        case .unusableResumeData: "Resume data is not usable"
        case .unknownFile: "File does not exist"
        case .unknownChallenge: "Challenge is not pending"
        case .nothingToClaim: "Task has no file to claim"
        case .tooManyFiles: "App has too many files"
        case .sessionNotAttached: "Session is not attached"
        case .deviceFull: "Device is full"
        case .tooManySessions: "Device has too many sessions"
        case .tooManyTasks: "Session has too many tasks"
        case .staleAttempt: "Attempt is stale"
        case .unreadableEvent: "Event is unreadable"
        }
    }
}

extension TransferMachine: FleetMember {}

extension [Problem] {
    /// Returns the refusals of a route about a device.
    ///
    /// - Parameter refusals: further refusals; their values are examples.
    static func ofDevice(_ refusals: TransferRefusal...) -> [Problem] {
        ([.deviceNotRegistered] + refusals).map(\.problem)
    }

    /// Returns the refusals of a route about an installed app.
    static func ofApp(_ refusals: TransferRefusal...) -> [Problem] {
        ([.deviceNotRegistered, .appNotInstalled("mail")] + refusals).map(\.problem)
    }

    /// Returns the refusals of a call on behalf of an app.
    static func ofCode(_ refusals: TransferRefusal...) -> [Problem] {
        ([.deviceNotRegistered, .appNotInstalled("mail"), .appNotRunning(.suspended)] + refusals).map(\.problem)
    }

    /// The refusals of a route that creates tasks.
    static var ofNewTask: [Problem] {
        ofCode(
            .unknownSession("s"), .sessionInvalidated("s"), .sessionNotAttached("s"), .tooManyTasks(limit: 64),
            .deviceFull, .unsupportedURL)
    }
}

extension Problem {
    static let originNotAllowed = Problem(
        .unprocessableContent, "origin_not_allowed", "Origin is not allowed")
    static let fileNotReady = Problem(
        .conflict, "file_not_ready", "Task has no file", detail: "The task is not completed, or it failed.")
    static let fileGone = Problem(.gone, "file_gone", "File is gone")
    static let credentialMismatch = Problem(
        .unprocessableContent, "credential_mismatch", "Credential does not match the challenge",
        detail: "Send user and password for Basic and Digest, token for Bearer, fingerprint for a certificate.")
}
