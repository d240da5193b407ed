import Contracts
import Crypto
import Foundation
import Records
import ServiceKit

/// What an app answers a challenge with.
struct ChallengeAnswer: Record, Equatable {
    var disposition = ChallengeDisposition.performDefaultHandling
    var credential: CredentialDocument?

    init() {}

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("credential", &credential)
        fields.field("disposition", &disposition)
    }

    /// - Throws: `invalid_document` where there is a credential and none is used, or none to use.
    func requireSense() throws(Problem) {
        switch (disposition, credential) {
        case (.useCredential, nil):
            throw .invalidDocument.because("credential: useCredential needs one")
        case (.useCredential, let credential?) where !credential.isOfOneKind:
            throw .invalidDocument.because(
                "credential: must have user and password, or token, or fingerprint, and no more")
        case (.useCredential, _?), (_, nil): return
        case (_, _?): throw .invalidDocument.because("credential: only useCredential takes one")
        }
    }
}

/// `URLCredential`. It is kept beside the log, never in it.
struct CredentialDocument: Record, Equatable {
    var user: String?
    var password: String?
    /// Of Bearer.
    var token: String?
    /// Of `serverTrust`: SHA-256 of the certificate that is trusted, in hexadecimal.
    var fingerprint: String?

    init() {}

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.omittable("fingerprint", &fingerprint, .text(64...95))
        fields.omittable("password", &password, .text(0...1024))
        fields.omittable("token", &token, .text(1...4096))
        fields.omittable("user", &user, .text(0...256))
    }

    fileprivate var isOfOneKind: Bool {
        switch (user, password, token, fingerprint) {
        case (_?, _?, nil, nil), (nil, nil, _?, nil), (nil, nil, nil, _?): true
        default: false
        }
    }

    /// Whether it answers a challenge of this kind; a certificate is trusted by its very fingerprint only.
    func answers(_ challenge: AuthenticationChallenge) -> Bool {
        switch challenge.authenticationMethod {
        case .basic, .digest: user != nil
        case .bearer: token != nil
        case .serverTrust:
            fingerprint.map { $0.lowercased().filter { $0 != ":" } } == challenge.fingerprint && fingerprint != nil
        }
    }
}
