import NIOSSL
import SwiftASN1
import Synchronization
import X509

/// The authorities of client certificates, and the intermediate certificates seen in valid chains.
final class ClientAuthorities: Sendable {
    private let roots: CertificateStore
    /// The intermediate certificates of all valid chains. They are few, because only an authority can issue one.
    private let intermediates = Mutex<Set<Certificate>>([])

    init(_ roots: [Certificate]) { self.roots = CertificateStore(roots) }

    /// Verifies a chain from a handshake, with the client certificate first.
    func judge(_ chain: [NIOSSLCertificate]) async -> ClientCertificate {
        guard let certificates = Self.read(chain), let leaf = certificates.first else { return .invalid }
        let (certificate, path) = await ClientCertificate.judge(
            leaf, intermediates: Array(certificates.dropFirst()), roots: roots)
        let between = path.dropFirst().dropLast()
        if !between.isEmpty { intermediates.withLock { $0.formUnion(between) } }
        return certificate
    }

    /// Verifies the client certificate of a resumed session, which does not have the rest of its chain. The session
    /// began in this process, so the intermediate certificates of a valid chain are known.
    func judge(resumed certificate: NIOSSLCertificate) async -> ClientCertificate {
        guard let leaf = Self.read([certificate])?.first else { return .invalid }
        let known = intermediates.withLock { Array($0) }
        return await ClientCertificate.judge(leaf, intermediates: known, roots: roots).certificate
    }

    private static func read(_ chain: [NIOSSLCertificate]) -> [Certificate]? {
        try? chain.map { try Certificate(derEncoded: $0.toDERBytes()) }
    }
}
