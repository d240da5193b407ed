public import Foundation

/// A self-signed certificate for this machine. A client with it trusts no other certificate.
public struct PEMCertificate: Sendable {
    public let folder: URL
    public var chainFile: String { folder.appendingPathComponent("certificate.pem").path }
    public var keyFile: String { folder.appendingPathComponent("key.pem").path }

    public static func make(days: Int = 2) async throws -> PEMCertificate {
        let certificate = PEMCertificate(folder: try emptyFolder())
        let openssl = try ChildProcess.start(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                "\(days)",
                "-subj", "/CN=\(UUID().uuidString)", "-addext", "subjectAltName=DNS:localhost",
                "-keyout", certificate.keyFile, "-out", certificate.chainFile,
            ])
        guard try await openssl.exit() == .exited(0) else {
            throw ChildFailed(description: "openssl made no certificate")
        }
        return certificate
    }

    private static func emptyFolder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    public func copy() throws -> PEMCertificate {
        let copy = PEMCertificate(folder: try Self.emptyFolder())
        try replaceKey(of: copy)
        try replaceCertificate(of: copy)
        return copy
    }

    public func replaceKey(of other: PEMCertificate) throws {
        try Data(contentsOf: URL(fileURLWithPath: keyFile)).write(
            to: URL(fileURLWithPath: other.keyFile), options: .atomic)
    }

    public func replaceCertificate(of other: PEMCertificate) throws {
        try Data(contentsOf: URL(fileURLWithPath: chainFile)).write(
            to: URL(fileURLWithPath: other.chainFile), options: .atomic)
    }
}
