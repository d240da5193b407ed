import NIOSSL
import SwiftASN1
import Synchronization
import X509

/// Who may have issued the certificates of clients, and what leads from those to it.
final class ClientAuthorities: Sendable {
    private let roots: CertificateStore
    /// What lay between a client's certificate and a root, of every chain that was valid. Only an authority can make one, so
    /// they are few.
    private let intermediates = Mutex<Set<Certificate>>([])

    init(_ roots: [Certificate]) { self.roots = CertificateStore(roots) }

    /// Looks at a chain as the client sent it: its own certificate first.
    func judge(_ chain: [NIOSSLCertificate]) async -> ClientCertificate {
        guard let certificates = Self.read(chain), let leaf = certificates.first else { return .invalid }
        let (certificate, path) = await ClientCertificate.judge(
            leaf, intermediates: Array(certificates.dropFirst()), roots: roots)
        let between = path.dropFirst().dropLast()
        if !between.isEmpty { intermediates.withLock { $0.formUnion(between) } }
        return certificate
    }

    /// Looks at the certificate of a session that a client resumes: of the chain that it showed at first, the session has only
    /// the beginning. A session is resumed where it was made, so the rest of a chain that was valid is known here.
    func judge(resumed certificate: NIOSSLCertificate) async -> ClientCertificate {
        guard let leaf = Self.read([certificate])?.first else { return .invalid }
        let known = intermediates.withLock { Array($0) }
        return await ClientCertificate.judge(leaf, intermediates: known, roots: roots).certificate
    }

    private static func read(_ chain: [NIOSSLCertificate]) -> [Certificate]? {
        try? chain.map { try Certificate(derEncoded: $0.toDERBytes()) }
    }
}
