import Contracts
import HTTPKit
import HTTPTypes
import Machines
public import ServiceKit
public import TransferCore

extension TransferMachine: FleetMember {}

extension TransferRefusal {
    /// The refusal of a generation without background sessions, as an example.
    static let noBackgroundSessions = Self.unsupported(.backgroundSessions, on: Generations.standard[.ios6])
    /// The refusal of a generation whose uploads can't be resumed, as an example.
    static let noResumableUploads = Self.unsupported(.resumableUploads, on: Generations.standard[.ios16])
}

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
            .deviceFull, .unsupportedURL, .noBackgroundSessions)
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
        detail: "Send user and password for Basic and Digest, fingerprint for a certificate.")
}
