import Foundation
import TestSupport
import Testing

extension DeploymentTests {
    private static let overlay = root + "/deploy/docker/https.yml"

    /// The overlay changes each address, each check and each scrape to HTTPS. The certificate for trials has all names.
    @Test func `the overlay for HTTPS leaves nothing by HTTP`() async throws {
        #expect(try await faults(ofOverlay: Self.overlay) == [])
        try await expectSchema(ofOverlay: Self.overlay)
    }

    @Test(arguments: [
        ("LIFECYCLE_URL: https", "LIFECYCLE_URL: http"), ("TLS_KEY: /run/tls/tls.key", "TLS_KEY: /run/tls/key.pem"),
        ("SERVICES_AUTHORITY:", "SERVICES_AUTHORITIES:"), ("prometheus.https.yml", "prometheus.yml"),
        ("ALLOWED_ORIGINS:-https", "ALLOWED_ORIGINS:-http"), ("--push=https", "--push=http"),
        ("    environment:\n      TLS_CERTIFICATE: /run/tls/tls.crt", "    environment: {}"),
        ("/ca.crt:/run/tls/ca.crt:ro", ":/run/tls:ro"), ("cat /apns/ca.pem /run", "cat /run"),
        ("/authorities.crt:/etc/ssl", "/ca.crt:/etc/ssl"),
    ])
    func `a fault in the overlay for HTTPS is found`(right: String, wrong: String) async throws {
        let found = try await changing(Self.overlay, right, wrong) { [self] in try await faults(ofOverlay: $0) }
        #expect(!found.isEmpty)
    }

    private func faults(ofOverlay overlay: String) async throws -> [String] {
        let deploy = Self.root + "/deploy/"
        return try await check("https", [Self.compose, overlay, deploy + "prometheus", deploy + "docker/certificate"])
    }
}
