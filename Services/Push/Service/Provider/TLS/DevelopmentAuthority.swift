import Contracts
import Crypto
import Foundation
import Glibc
import ServiceKit
import SwiftASN1
import X509

/// A certificate authority for development, created in a folder on first start. It issues the certificates of the
/// endpoint and of clients.
///
/// Clients trust the folder's `ca.pem`. The other files belong to the service: `ca-key.pem`, `server.pem`,
/// `server-key.pem`.
struct DevelopmentAuthority: Sendable {
    let folder: URL
    let certificate: Certificate
    private let key: Certificate.PrivateKey

    var caFile: URL { folder.appending(path: "ca.pem") }
    var serverFile: URL { folder.appending(path: "server.pem") }
    var serverKeyFile: URL { folder.appending(path: "server-key.pem") }
    /// The names of the setting and the files for error messages about the endpoint's certificate.
    var names: ServerCertificate.Names {
        .folder(
            "APNS_CERTIFICATES", chain: serverFile.lastPathComponent, key: serverKeyFile.lastPathComponent)
    }

    /// Reads the authority of a folder, or creates it. A file lock serializes processes that share the folder.
    ///
    /// - Throws: a one-line error if the folder is not writable or its authority is invalid.
    static func open(_ folder: URL) throws -> DevelopmentAuthority {
        try locked(folder) {
            let (file, keyFile) = (folder.appending(path: "ca.pem"), folder.appending(path: "ca-key.pem"))
            if FileManager.default.fileExists(atPath: file.path) {
                guard let pem = try? String(contentsOf: file, encoding: .utf8),
                    let keyPEM = try? String(contentsOf: keyFile, encoding: .utf8),
                    let certificate = try? Certificate(pemEncoded: pem),
                    let key = try? Certificate.PrivateKey(pemEncoded: keyPEM),
                    key.publicKey == certificate.publicKey, certificate.notValidAfter > Date()
                else {
                    throw ConfigurationError(
                        "APNS_CERTIFICATES (--apns-certificates): \(folder.path) has no valid authority; remove the"
                            + " folder, and the service creates a new authority")
                }
                return DevelopmentAuthority(folder: folder, certificate: certificate, key: key)
            }
            let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
            let name = try DistinguishedName { CommonName("Dormouse development authority") }
            let certificate = try issue(
                to: name, key.publicKey, days: 3650, by: name, key,
                Certificate.Extensions {
                    Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                    Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                })
            try write(try key.serializeAsPEM().pemString, to: keyFile)
            try write(try certificate.serializeAsPEM().pemString, to: file, mode: 0o644)
            return DevelopmentAuthority(folder: folder, certificate: certificate, key: key)
        }
    }

    /// Issues the endpoint's certificate for these DNS names and addresses, unless the folder has a valid one.
    func provideServerCertificate(_ names: [String]) throws {
        try Self.locked(folder) {
            let wanted = try Self.names(names)
            // The file may exist and have no certificate.
            let known = (try? String(contentsOf: serverFile, encoding: .utf8)).flatMap {
                try? PEMDocument.parseMultiple(pemString: $0).first.map { try Certificate(pemDocument: $0) }
            }
            if let known, known.notValidAfter > Date() + 30 * 86_400, known.issuer == certificate.subject,
                certificate.publicKey.isValidSignature(known.signature, for: known),
                try known.extensions.subjectAlternativeNames == wanted,
                let keyPEM = try? String(contentsOf: serverKeyFile, encoding: .utf8),
                let key = try? Certificate.PrivateKey(pemEncoded: keyPEM), key.publicKey == known.publicKey
            {
                return
            }
            let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
            let leaf = try Self.issue(
                to: try DistinguishedName { CommonName("Dormouse APNs endpoint") }, key.publicKey, days: 397,
                by: certificate.subject, self.key,
                Certificate.Extensions {
                    Critical(BasicConstraints.notCertificateAuthority)
                    Critical(KeyUsage(digitalSignature: true))
                    try ExtendedKeyUsage([.serverAuth])
                    wanted
                })
            try Self.write(try key.serializeAsPEM().pemString, to: serverKeyFile)
            let chain = try leaf.serializeAsPEM().pemString + "\n" + certificate.serializeAsPEM().pemString
            try Self.write(chain, to: serverFile, mode: 0o644)
        }
    }

    /// Issues a client certificate and its key, in PEM.
    ///
    /// - Parameters:
    ///   - topic: the bundle identifier of the app.
    ///   - environments: the environments to mark; a certificate without a mark is for both.
    func issueClientCertificate(
        topic: String, environments: [PushEnvironment], days: Int = 397
    ) throws -> (certificate: String, key: String) {
        let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let subject = try DistinguishedName([
            .init(type: .userID, utf8String: topic),
            .init(type: .commonName, utf8String: "Apple Push Services: \(topic)"),
        ])
        var extensions = try Certificate.Extensions {
            Critical(BasicConstraints.notCertificateAuthority)
            Critical(KeyUsage(digitalSignature: true))
            try ExtendedKeyUsage([.clientAuth])
        }
        for environment in environments {
            // The value is ASN.1 NULL: the presence of the extension counts.
            try extensions.append(.init(oid: environment.certificateExtension, critical: false, value: [5, 0]))
        }
        let leaf = try Self.issue(
            to: subject, key.publicKey, days: days, by: certificate.subject, self.key, extensions)
        return (try leaf.serializeAsPEM().pemString, try key.serializeAsPEM().pemString)
    }

    private static func issue(
        to subject: DistinguishedName, _ publicKey: Certificate.PublicKey, days: Int, by issuer: DistinguishedName,
        _ key: Certificate.PrivateKey, _ extensions: Certificate.Extensions
    ) throws -> Certificate {
        // Valid from an hour ago, because the clocks of containers differ.
        let now = Date() - 3600
        return try Certificate(
            version: .v3, serialNumber: .init(), publicKey: publicKey,
            notValidBefore: min(now, now + Double(days) * 86_400),
            notValidAfter: now + Double(days) * 86_400, issuer: issuer, subject: subject, extensions: extensions,
            issuerPrivateKey: key)
    }

    private static func names(_ names: [String]) throws -> SubjectAlternativeNames {
        SubjectAlternativeNames(
            names.map { name in
                if let bytes = address(name) { return .ipAddress(ASN1OctetString(contentBytes: bytes[...])) }
                return .dnsName(name)
            })
    }

    /// Returns the bytes of an IP address; nil for other names.
    private static func address(_ text: String) -> [UInt8]? {
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 { return withUnsafeBytes(of: v4) { Array($0) } }
        var v6 = in6_addr()
        if inet_pton(AF_INET6, text, &v6) == 1 { return withUnsafeBytes(of: v6) { Array($0) } }
        return nil
    }

    // MARK: Files

    /// Runs the body under an exclusive file lock of the folder. Creates a missing folder.
    private static func locked<T>(_ folder: URL, _ body: () throws -> T) throws -> T {
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw unwritable(folder) }
        let lock = Glibc.open(folder.appending(path: ".lock").path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw unwritable(folder) }
        defer { close(lock) }
        guard flock(lock, LOCK_EX) == 0 else { throw unwritable(folder) }
        return try body()
    }

    private static func write(_ text: String, to file: URL, mode: mode_t = 0o600) throws {
        let new = file.appendingPathExtension("new")
        guard PrivateFile.write(text + "\n", to: new.path, mode: mode), rename(new.path, file.path) == 0 else {
            throw unwritable(file.deletingLastPathComponent())
        }
    }

    private static func unwritable(_ folder: URL) -> ConfigurationError {
        ConfigurationError(
            "APNS_CERTIFICATES (--apns-certificates): can't write \(folder.path); name a writable folder, or set"
                + " APNS_TLS_CERTIFICATE and APNS_TLS_KEY")
    }
}

extension ASN1ObjectIdentifier {
    /// `cn` (RFC 4519 section 2.3).
    fileprivate static let commonName: ASN1ObjectIdentifier = [2, 5, 4, 3]
}
