import Contracts
import Foundation
import SwiftASN1
import X509

/// The result of the verification of a client certificate: invalid, or valid for a topic.
///
/// Source: Apple, "Establishing a certificate-based connection to APNs": the subject's user ID is the bundle
/// identifier.
struct ClientCertificate: Sendable, Equatable {
    /// The bundle identifier; nil if the certificate is invalid.
    let topic: String?
    /// The environments of the certificate. A certificate without a marker extension is for both.
    let environments: Set<PushEnvironment>

    static let invalid = ClientCertificate(topic: nil, environments: [])

    /// Verifies a client certificate.
    ///
    /// - Returns: the result, and the path from the certificate to the root, both included; empty if it is invalid.
    static func judge(
        _ leaf: Certificate, intermediates: [Certificate], roots: CertificateStore
    ) async -> (certificate: ClientCertificate, path: [Certificate]) {
        var verifier = Verifier(rootCertificates: roots) {
            RFC5280Policy()
            ClientUsagePolicy()
        }
        let result = await verifier.validate(leaf: leaf, intermediates: CertificateStore(intermediates))
        guard case .validCertificate(let path) = result, let topic = leaf.userID else {
            return (.invalid, [])
        }
        let named = PushEnvironment.allCases.filter { leaf.extensions[oid: $0.certificateExtension] != nil }
        let environments = Set(named.isEmpty ? PushEnvironment.allCases : named)
        return (ClientCertificate(topic: topic, environments: environments), Array(path))
    }
}

/// Requires client authentication of each extended key usage in the chain, except the root's.
///
/// Source: RFC 5280 section 4.2.1.12.
private struct ClientUsagePolicy: VerifierPolicy {
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier] = [.X509ExtensionID.extendedKeyUsage]

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) async -> PolicyEvaluationResult {
        do {
            for certificate in chain.dropLast(chain.count > 1 ? 1 : 0) {
                guard let usages = try certificate.extensions.extendedKeyUsage else { continue }
                guard usages.contains(.clientAuth) || usages.contains(.any) else {
                    return .failsToMeetPolicy(reason: "a certificate is not for clients")
                }
            }
            return .meetsPolicy
        } catch { return .failsToMeetPolicy(reason: "an extended key usage can't be read") }
    }
}

extension PushEnvironment {
    /// The extension that marks an environment in Apple's certificates.
    ///
    /// Source: Apple, "Certification Practice Statement, Worldwide Developer Relations", marker OIDs of push
    /// certificates.
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
