import Crypto
import Foundation
import NIOSSL
import SwiftASN1
import X509

@testable import TransferService

/// A server's certificate, with its key.
struct TestCertificate {
    private let certificate: Certificate
    private let key: Certificate.PrivateKey

    /// One that signs itself, or that nobody's authority has signed.
    ///
    /// - Parameter age: how many seconds ago it began to be valid; it is for a day.
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

    /// For a server that shows it.
    var server: TLSConfiguration {
        get throws {
            let key = try NIOSSLPrivateKey(bytes: Array(key.serializeAsPEM().pemString.utf8), format: .pem)
            return .makeServerConfiguration(
                certificateChain: try chain.map { .certificate($0) }, privateKey: .privateKey(key))
        }
    }

    /// For a client that trusts it.
    var roots: NIOSSLTrustRoots { get throws { .certificates(try chain) } }

    /// SHA-256 of its DER, worked out by the other library.
    var fingerprint: String {
        get throws {
            var serializer = DER.Serializer()
            try serializer.serialize(certificate)
            return SHA256.hash(data: Data(serializer.serializedBytes)).map { String(format: "%02x", $0) }.joined()
        }
    }
}
