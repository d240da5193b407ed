import Contracts
import Crypto
import Foundation
import NIOSSL
import TransferMachine

/// What a server's certificate is held to.
enum CertificateVerification: Sendable, Hashable {
    /// The trust roots, the dates, the name.
    case system
    /// It must be this very one, told by its fingerprint; then neither issuer nor name matter.
    case pinned(String)
    /// None passes: the certificate is only looked at.
    case none

    /// - Throws: ``PeerCertificate`` where it does not pass.
    func verify(_ certificate: NIOSSLCertificate?) throws {
        guard self != .system else { return }
        guard let certificate else { throw FetchFailure(.secureConnectionFailed) }
        let peer = try PeerCertificate(certificate)
        guard case .pinned(peer.fingerprint) = self else { throw peer }
    }
}

/// A certificate that a server has shown and that is not trusted.
struct PeerCertificate: Error, Equatable {
    /// SHA-256 of its DER, in hexadecimal.
    let fingerprint: String
    /// By its dates; one that is not is nobody's question.
    let isCurrent: Bool

    init(_ certificate: NIOSSLCertificate) throws {
        fingerprint = SHA256.hash(data: try certificate.toDERBytes()).hexadecimal
        let now = Date().timeIntervalSince1970
        isCurrent = Double(certificate.notValidBefore) <= now && now <= Double(certificate.notValidAfter)
    }

    /// Whether a connection failed since the certificate is not trusted, or is another's.
    static func isMissing(in error: any Error) -> Bool {
        switch error {
        case NIOSSLError.handshakeFailed(BoringSSLError.sslError(let errors)):
            errors.contains { "\($0)".contains("CERTIFICATE_VERIFY_FAILED") }
        case NIOSSLError.unableToValidateCertificate: true
        default: (error as? NIOSSLExtraError) == .failedToValidateHostname
        }
    }
}

/// The certificates that the app vouches for, beyond those that the system trusts: one an origin.
struct ServerTrust {
    /// A server may change its certificate while it is asked about, but not for ever.
    private static let questionLimit = 3

    private let decide: ChallengeDecider
    private var vouchedFor: [WebOrigin: String] = [:]
    private var questions = 0

    init(_ decide: @escaping ChallengeDecider) { self.decide = decide }

    func verification(of origin: WebOrigin) -> CertificateVerification {
        vouchedFor[origin].map { .pinned($0) } ?? .system
    }

    /// Asks about a certificate. Returns when it is to be trusted from now on.
    ///
    /// - Throws: ``FetchFailure``: it is not, or the app must be asked.
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
