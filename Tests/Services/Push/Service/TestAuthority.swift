import Crypto
import Foundation
import SwiftASN1
import X509

@testable import PushService

/// A test authority that issues certificates with any content.
struct TestAuthority {
    let certificate: Certificate
    private let key: Certificate.PrivateKey

    /// Creates a root.
    init(_ name: String) throws {
        key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let name = try DistinguishedName { CommonName(name) }
        certificate = try Self.issue(
            to: name, key.publicKey, by: name, key, try Self.authorityExtensions(usages: nil))
    }

    private init(_ certificate: Certificate, _ key: Certificate.PrivateKey) {
        self.certificate = certificate
        self.key = key
    }

    /// Issues an intermediate authority.
    func intermediate(_ name: String, usages: [ExtendedKeyUsage.Usage]? = nil) throws -> TestAuthority {
        let own = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let issued = try Self.issue(
            to: try DistinguishedName { CommonName(name) }, own.publicKey, by: certificate.subject, key,
            try Self.authorityExtensions(usages: usages))
        return TestAuthority(issued, own)
    }

    /// Issues a client certificate and its key.
    ///
    /// - Parameter usages: its extended key usage; nil for none.
    func client(
        _ topic: String, usages: [ExtendedKeyUsage.Usage]? = [.clientAuth], isCritical: Bool = false
    ) throws -> (certificate: Certificate, key: Certificate.PrivateKey) {
        let own = Certificate.PrivateKey(P256.Signing.PrivateKey())
        var extensions = try Certificate.Extensions { Critical(BasicConstraints.notCertificateAuthority) }
        try Self.add(usages, isCritical: isCritical, to: &extensions)
        let issued = try Self.issue(
            to: try DistinguishedName([.init(type: .userID, utf8String: topic)]), own.publicKey,
            by: certificate.subject, key, extensions)
        return (issued, own)
    }

    /// Returns all parts as one PEM text, as clients read it from a file.
    static func pem(_ certificates: [Certificate], _ key: Certificate.PrivateKey? = nil) throws -> String {
        var parts = try certificates.map { try $0.serializeAsPEM().pemString }
        if let key { parts.append(try key.serializeAsPEM().pemString) }
        return parts.joined(separator: "\n") + "\n"
    }

    private static func authorityExtensions(
        usages: [ExtendedKeyUsage.Usage]?
    ) throws -> Certificate.Extensions {
        var extensions = try Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
            Critical(KeyUsage(keyCertSign: true))
        }
        try add(usages, isCritical: false, to: &extensions)
        return extensions
    }

    private static func add(
        _ usages: [ExtendedKeyUsage.Usage]?, isCritical: Bool, to extensions: inout Certificate.Extensions
    ) throws {
        guard let usages else { return }
        try extensions.append(Certificate.Extension(try ExtendedKeyUsage(usages), critical: isCritical))
    }

    private static func issue(
        to subject: DistinguishedName, _ publicKey: Certificate.PublicKey, by issuer: DistinguishedName,
        _ key: Certificate.PrivateKey, _ extensions: Certificate.Extensions
    ) throws -> Certificate {
        try Certificate(
            version: .v3, serialNumber: .init(), publicKey: publicKey, notValidBefore: Date() - 3600,
            notValidAfter: Date() + 86_400, issuer: issuer, subject: subject, extensions: extensions,
            issuerPrivateKey: key)
    }
}
