import Contracts
import HTTPTypes
public import ServiceKit
public import TransferMachine

/// How the machine's refusals look over HTTP. Exhaustive, and the only place that knows.
extension TransferRefusal: ProblemConvertible {
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
        return Problem(status, code, "transfer refuses this").because(description)
    }
}

extension TransferMachine: FleetMember {}

extension [Problem] {
    /// What the machine may refuse at a route about a device.
    ///
    /// - Parameter refusals: those that not every such route has; what they carry is an example.
    static func ofDevice(_ refusals: TransferRefusal...) -> [Problem] {
        ([.deviceNotRegistered] + refusals).map(\.problem)
    }

    /// At a route about an installed app.
    static func ofApp(_ refusals: TransferRefusal...) -> [Problem] {
        ([.deviceNotRegistered, .appNotInstalled("mail")] + refusals).map(\.problem)
    }

    /// At a route that stands for code of an app.
    static func ofCode(_ refusals: TransferRefusal...) -> [Problem] {
        ([.deviceNotRegistered, .appNotInstalled("mail"), .appNotRunning(.suspended)] + refusals).map(\.problem)
    }

    /// At a route that creates tasks.
    static var ofNewTask: [Problem] {
        ofCode(
            .unknownSession("s"), .sessionInvalidated("s"), .sessionNotAttached("s"), .tooManyTasks(limit: 64),
            .deviceFull, .unsupportedURL)
    }
}

extension Problem {
    static let originNotAllowed = Problem(
        .unprocessableContent, "origin_not_allowed", "This origin is not among those that may be fetched from")
    static let fileNotReady = Problem(.conflict, "file_not_ready", "The task has no finished file")
    static let fileGone = Problem(
        .gone, "file_gone", "didFinishDownloadingTo has returned, and the app did not claim the file")
    static let credentialMismatch = Problem(
        .unprocessableContent, "credential_mismatch", "The credential is not of the kind that the challenge asks for")
}
