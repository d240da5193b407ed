import Contracts
import Foundation
import NIOSSL
import SwiftASN1
import X509

/// What a client's certificate says: it is not valid, or it stands for a topic.
///
/// Source: Apple, "Establishing a certificate-based connection to APNs": the subject's user ID is the bundle identifier.
struct ClientCertificate: Sendable, Equatable {
    /// Nil where the certificate is not valid.
    let topic: String?
    /// Those that it is for; a certificate that names none is for both.
    let environments: Set<PushEnvironment>

    static let invalid = ClientCertificate(topic: nil, environments: [])

    /// Looks at a chain as the client sent it: its own certificate first.
    ///
    /// - Parameter authorities: who may have issued it.
    static func judge(_ chain: [NIOSSLCertificate], authorities: CertificateStore) async -> ClientCertificate {
        guard let certificates = try? chain.map({ try Certificate(derEncoded: $0.toDERBytes()) }),
            let leaf = certificates.first
        else { return .invalid }
        var verifier = Verifier(rootCertificates: authorities) { RFC5280Policy() }
        let result = await verifier.validate(
            leaf: leaf, intermediates: CertificateStore(certificates.dropFirst()))
        guard case .validCertificate = result, let topic = leaf.userID else { return .invalid }
        let named = PushEnvironment.allCases.filter { leaf.extensions[oid: $0.certificateExtension] != nil }
        return ClientCertificate(topic: topic, environments: Set(named.isEmpty ? PushEnvironment.allCases : named))
    }
}

extension PushEnvironment {
    /// The extension by which Apple's certificates name their environments.
    ///
    /// Source: Apple, "Certification Practice Statement, Worldwide Developer Relations", marker OIDs of push certificates.
    var certificateExtension: ASN1ObjectIdentifier {
        switch self {
        case .sandbox: [1, 2, 840, 113635, 100, 6, 3, 1]
        case .production: [1, 2, 840, 113635, 100, 6, 3, 2]
        }
    }
}

extension ASN1ObjectIdentifier {
    /// `userid` (RFC 4519 section 2.39).
    static let userID: ASN1ObjectIdentifier = [0, 9, 2342, 19_200_300, 100, 1, 1]
}

extension Certificate {
    /// The user ID in the subject.
    var userID: String? {
        for names in subject {
            for attribute in names where attribute.type == .userID { return String(attribute.value) }
        }
        return nil
    }
}
