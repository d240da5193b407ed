import Contracts
import Crypto
import Foundation
import HTTPKit
import Records

/// An app's answer to a challenge.
struct ChallengeAnswer: Record, Equatable {
    var credential: CredentialDocument?
    var disposition = ChallengeDisposition.performDefaultHandling

    /// - Throws: `invalid_document` if disposition and credential do not fit.
    func requireSense() throws(Problem) {
        switch (disposition, credential) {
        case (.useCredential, nil):
            throw .invalidDocument.with(detail: "credential: required for useCredential")
        case (.useCredential, let credential?) where !credential.isOfOneKind:
            throw .invalidDocument.with(
                detail: "credential: must have either user and password, or fingerprint")
        case (.useCredential, _?), (_, nil): return
        case (_, _?): throw .invalidDocument.with(detail: "credential: allowed for useCredential only")
        }
    }
}

/// A `URLCredential`. The log never contains it.
struct CredentialDocument: Record, Equatable {
    /// For `serverTrust`: the SHA-256 of the trusted certificate, in hexadecimal.
    var fingerprint: String?
    var password: String?
    var user: String?

    enum Constraints {
        static let fingerprint: Constraint<String> = .text(64...95)
        static let password: Constraint<String> = .text(0...1024)
        static let user: Constraint<String> = .text(0...256)
    }

    fileprivate var isOfOneKind: Bool {
        switch (user, password, fingerprint) {
        case (_?, _?, nil), (nil, nil, _?): true
        default: false
        }
    }

    /// Whether it fits the kind of a challenge. The fingerprint must be that of the challenge's certificate.
    func answers(_ challenge: AuthenticationChallenge) -> Bool {
        switch challenge.authenticationMethod {
        case .basic, .digest: user != nil
        case .serverTrust:
            fingerprint.map { $0.lowercased().filter { $0 != ":" } } == challenge.fingerprint && fingerprint != nil
        }
    }
}
