import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import ServiceKit
import Telemetry
import TestSupport
import Testing

@Suite("TLS", .tags(.processes), .timeLimit(.minutes(5))) struct CertificateTests {
    @Test func `a service with a certificate accepts only HTTPS`() async throws {
        let certificate = try await PEMCertificate.make()
        try await TestService.run(certificate: certificate) { service in
            #expect(try await certificate.status(of: "/healthz", service.port) == 200)
            await #expect(throws: (any Error).self) { _ = try await service.send("GET", "/healthz") }
            let stranger = try await PEMCertificate.make()
            await #expect(throws: (any Error).self) {
                _ = try await stranger.status(of: "/healthz", service.port)
            }
        }
    }

    @Test func `a new certificate is served without a restart, and an invalid one is ignored`() async throws {
        let (served, next) = (try await PEMCertificate.make(), try await PEMCertificate.make())
        let first = try served.copy()
        try await TestService.run(certificate: served) { service in
            #expect(try await first.status(of: "/healthz", service.port) == 200)
            try next.replaceKey(of: served)
            try await eventually(describe: "the pair that does not match is logged") {
                service.log.all.contains { $0.contains("is not the key of TLS_CERTIFICATE") }
            }
            #expect(try await first.status(of: "/healthz", service.port) == 200)
            try next.replaceCertificate(of: served)
            try await eventually(describe: "the new certificate is served") {
                (try? await next.status(of: "/healthz", service.port)) == 200
            }
            await #expect(throws: (any Error).self) { _ = try await first.status(of: "/healthz", service.port) }
            let errors = service.log.all.filter { $0.contains("failed to reload certificate") }
            #expect(errors.count == 1, "it is logged once for many reloads")
        }
    }

    @Test func `a certificate and key that change one after the other cause no error`() async throws {
        let (served, next) = (try await PEMCertificate.make(), try await PEMCertificate.make())
        let log = LogLines()
        let logger = Logger(label: "naps") { _ in
            LogOutput(label: "naps", level: .info, format: .json, write: log.append)
        }
        let certificate = try ServerCertificate(
            chainFile: served.chainFile, keyFile: served.keyFile, logger: logger)
        // The reload happens between the two changes.
        try next.replaceKey(of: served)
        #expect(!certificate.reload())
        try next.replaceCertificate(of: served)
        #expect(certificate.reload())
        #expect(!log.all.contains { $0.contains("failed to reload") })
        // A fault that two reloads find is logged once.
        let third = try await PEMCertificate.make()
        try third.replaceKey(of: served)
        for said in [0, 1, 1] {
            #expect(!certificate.reload())
            #expect(log.all.count { $0.contains("failed to reload") } == said)
        }
        // A fault that was repaired in between is logged again.
        try next.replaceKey(of: served)
        #expect(!certificate.reload())
        try third.replaceKey(of: served)
        for said in [1, 2] {
            #expect(!certificate.reload())
            #expect(log.all.count { $0.contains("failed to reload") } == said)
        }
    }

    @Test func `the metrics have the expiry of the served certificate`() async throws {
        let (served, next) = (try await PEMCertificate.make(), try await PEMCertificate.make(days: 7))
        let metrics = Metrics()
        let logger = Logger(label: "certificate")
        let certificate = try ServerCertificate(chainFile: served.chainFile, keyFile: served.keyFile, logger: logger)
        certificate.add(to: metrics, port: "http")
        func told() -> Double? {
            let name = #"dormouse_certificate_expires_timestamp_seconds{port="http"} "#
            let line = metrics.text.split(separator: "\n").first { $0.hasPrefix(name) }
            return line.flatMap { Double($0.dropFirst(name.count)) }
        }
        func expiry() throws -> Double {
            Double(try #require(NIOSSLCertificate.fromPEMFile(served.chainFile).first).notValidAfter)
        }
        let first = try expiry()
        #expect(told() == first)
        try next.replaceKey(of: served)
        try next.replaceCertificate(of: served)
        #expect(certificate.reload())
        #expect(try told() == expiry() && expiry() != first)
    }

    @Test(arguments: [false, true])
    func `the container's health check reports whether the service is ready`(isSecure: Bool) async throws {
        let certificate = isSecure ? try await PEMCertificate.make() : nil
        try await TestService.run(certificate: certificate) { service in
            let isReady = try await Self.isReady(service.port, certificate?.chainFile)
            #expect(isReady)
            // A check with the other scheme fails.
            #expect(try await !Self.isReady(service.port, isSecure ? nil : "/some/certificate"))
        }
        #expect(try await !Self.isReady(1, certificate?.chainFile))
    }

    private static func isReady(_ port: Int, _ file: String?) async throws -> Bool {
        let script = Repository.file("deploy/docker/healthcheck")
        let environment = ["PORT": "\(port)", "TLS_CERTIFICATE": file ?? ""]
        let check = try ChildProcess.start(script.path, environment: environment)
        return try await check.exit() == .exited(0)
    }

    @Test func `an invalid certificate or key stops the start with one line`() async throws {
        let (one, other) = (try await PEMCertificate.make(), try await PEMCertificate.make())
        let nonsense = one.folder.appendingPathComponent("nonsense").path
        try "-----BEGIN CERTIFICATE-----\nnonsense\n".write(toFile: nonsense, atomically: true, encoding: .utf8)
        let certificate = "TLS_CERTIFICATE (--tls-certificate)"
        let key = "TLS_KEY (--tls-key)"
        for (chainFile, keyFile, line) in [
            ("/nowhere", one.keyFile, "\(certificate): cannot read the file that it names"),
            (one.chainFile, "/nowhere", "\(key): cannot read the file that it names"),
            (nonsense, one.keyFile, "\(certificate): the file has no certificate in PEM"),
            (one.chainFile, nonsense, "\(key): the file has no private key in PEM without a password"),
            (
                one.chainFile, other.keyFile,
                "\(key) is not the key of TLS_CERTIFICATE: use a certificate and its own key"
            ),
            (one.chainFile, "", "\(certificate) and \(key) must be set together"),
        ] {
            let flags = ["--tls-certificate", chainFile] + (keyFile.isEmpty ? [] : ["--tls-key", keyFile])
            let configuration = try ServiceConfiguration.reading(flags)
            #expect(throws: ConfigurationError(line)) {
                _ = try configuration.certificate.certificate(logger: Logger(label: "naps"))
            }
        }
        #expect(try ServiceConfiguration.reading().certificate.certificate(logger: Logger(label: "naps")) == nil)
    }
}

extension PEMCertificate {
    /// Returns the status that a client gets which trusts only this certificate.
    func status(of path: String, _ port: Int) async throws -> UInt {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(chainFile)
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
        configuration.connectionPool.retryConnectionEstablishment = false
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        do {
            let request = HTTPClientRequest(url: "https://localhost:\(port)\(path)")
            let status = try await client.execute(request, timeout: .seconds(60)).status.code
            try await client.shutdown()
            return status
        } catch {
            try await client.shutdown()
            throw error
        }
    }
}
