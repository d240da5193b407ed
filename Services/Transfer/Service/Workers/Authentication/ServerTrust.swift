import Contracts
import Crypto
import Foundation
import NIOSSL
import TransferCore

/// The verification of a server's certificate.
enum CertificateVerification: Sendable, Hashable {
    /// Verifies trust roots, dates and name.
    case system
    /// Accepts the certificate with this fingerprint, with any issuer and name.
    case pinned(String)
    /// No certificate passes. This reads the certificate only.
    case none

    /// - Throws: ``PeerCertificate`` if it does not pass.
    func verify(_ certificate: NIOSSLCertificate?) throws {
        guard self != .system else { return }
        guard let certificate else { throw FetchFailure(.secureConnectionFailed) }
        let peer = try PeerCertificate(certificate)
        guard case .pinned(peer.fingerprint) = self else { throw peer }
    }
}

/// An untrusted certificate of a server.
struct PeerCertificate: Error, Equatable {
    /// SHA-256 of its DER, in hexadecimal.
    let fingerprint: String
    /// Whether its dates are valid. If not, the app gets no challenge.
    let isCurrent: Bool

    init(_ certificate: NIOSSLCertificate) throws {
        fingerprint = SHA256.hash(data: try certificate.toDERBytes()).hexadecimal
        let now = Date().timeIntervalSince1970
        isCurrent = Double(certificate.notValidBefore) <= now && now <= Double(certificate.notValidAfter)
    }

    /// Whether a connection failed because the certificate is not trusted or has another name.
    static func isMissing(in error: any Error) -> Bool {
        switch error {
        case NIOSSLError.handshakeFailed(BoringSSLError.sslError(let errors)):
            errors.contains { "\($0)".contains("CERTIFICATE_VERIFY_FAILED") }
        case NIOSSLError.unableToValidateCertificate: true
        default: (error as? NIOSSLExtraError) == .failedToValidateHostname
        }
    }
}

/// The certificates that the app trusts in addition to those of the system, one for each origin.
struct ServerTrust {
    /// The largest number of challenges, because a server may change its certificate again and again.
    private static let questionLimit = 3

    private let decide: ChallengeDecider
    private var vouchedFor: [WebOrigin: String] = [:]
    private var questions = 0

    init(_ decide: @escaping ChallengeDecider) { self.decide = decide }

    func verification(of origin: WebOrigin) -> CertificateVerification {
        vouchedFor[origin].map { .pinned($0) } ?? .system
    }

    /// Trusts a certificate from now on, if the app does.
    ///
    /// - Throws: ``FetchFailure`` if the app does not trust it or must answer first.
    mutating func consider(_ certificate: PeerCertificate, of origin: WebOrigin) async throws {
        guard certificate.isCurrent, questions < Self.questionLimit else { throw FetchFailure(.secureConnectionFailed) }
        questions += 1
        var challenge = AuthenticationChallenge()
        challenge.authenticationMethod = .serverTrust
        challenge.host = origin.host
        challenge.port = origin.port
        challenge.fingerprint = certificate.fingerprint
        switch try await decide(challenge) {
        case .use(.serverTrust): vouchedFor[origin] = certificate.fingerprint
        case .use, .ask: throw FetchFailure(.authenticationRequired, challenge)
        case .acceptAnswer, .reject: throw FetchFailure(.serverUntrusted)
        }
    }
}
