import Crypto
import Foundation
import NIOSSL
import SwiftASN1
import X509

@testable import TransferService

/// A certificate of a server with its key.
struct TestCertificate {
    private let certificate: Certificate
    private let key: Certificate.PrivateKey

    /// Creates a self-signed certificate, or one of an unknown authority.
    ///
    /// - Parameter age: The seconds since it became valid. It is valid for a day.
    init(names: [String], age: TimeInterval = 3600, isSelfSigned: Bool = true) throws {
        key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let subject = try DistinguishedName { CommonName("server \(names.first ?? "")") }
        let issuer = isSelfSigned ? subject : try DistinguishedName { CommonName("an authority") }
        certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: key.publicKey, notValidBefore: Date() - age,
            notValidAfter: Date() - age + 86_400, issuer: issuer, subject: subject,
            extensions: Certificate.Extensions { SubjectAlternativeNames(names.map { .dnsName($0) }) },
            issuerPrivateKey: isSelfSigned ? key : Certificate.PrivateKey(P256.Signing.PrivateKey()))
    }

    private var chain: [NIOSSLCertificate] {
        get throws { try NIOSSLCertificate.fromPEMBytes(Array(certificate.serializeAsPEM().pemString.utf8)) }
    }

    /// The configuration of a server with this certificate.
    var server: TLSConfiguration {
        get throws {
            let key = try NIOSSLPrivateKey(bytes: Array(key.serializeAsPEM().pemString.utf8), format: .pem)
            return .makeServerConfiguration(
                certificateChain: try chain.map { .certificate($0) }, privateKey: .privateKey(key))
        }
    }

    /// The trust roots of a client that trusts it.
    var roots: NIOSSLTrustRoots { get throws { .certificates(try chain) } }

    /// The SHA-256 digest of its DER form, computed by a library that the product does not use for this.
    var fingerprint: String {
        get throws {
            var serializer = DER.Serializer()
            try serializer.serialize(certificate)
            return SHA256.hash(data: Data(serializer.serializedBytes)).map { String(format: "%02x", $0) }.joined()
        }
    }
}
