import Contracts
import NIOCore
import NIOSSL
import TestSupport
import Testing

@testable import TransferService

/// Servers with certificates that the system does not trust.
@Suite struct ServerTrusts {
    private func fetching(_ server: CannedServer, host: String = "localhost") throws -> Fetching {
        try Fetching("https://\(host):\(server.port)/", from: server)
    }

    @Test func `a certificate that the system trusts causes no challenge`() async throws {
        let certificate = try TestCertificate(names: ["localhost"])
        let server = try await CannedServer.start(tls: certificate.server) { _ in ok("in") }
        var fetching = try fetching(server)
        fetching.trustRoots = try certificate.roots
        let outcome = try await fetching.run()
        #expect(outcome.body == "in" && outcome.asked.isEmpty)
    }

    @Test(arguments: [true, false])
    func `an untrusted certificate causes a challenge with its fingerprint`(isSelfSigned: Bool) async throws {
        let certificate = try TestCertificate(names: ["elsewhere.example"], isSelfSigned: isSelfSigned)
        let server = try await CannedServer.start(tls: certificate.server) { _ in ok("in") }
        var fetching = try fetching(server)
        fetching.decide = { _ in .use(.serverTrust) }
        let outcome = try await fetching.run()
        #expect(outcome.body == "in")
        var challenge = AuthenticationChallenge()
        challenge.authenticationMethod = .serverTrust
        challenge.host = "localhost"
        challenge.port = server.port
        challenge.fingerprint = try certificate.fingerprint
        #expect(outcome.asked == [challenge])
        #expect(server.requests == 1, "no request was sent before the certificate was trusted")

        fetching.decide = { _ in .ask }
        #expect(try await fetching.failure() == FetchFailure(.authenticationRequired, challenge))
        for decision in [ChallengeDecision.reject, .acceptAnswer] {
            fetching.decide = { _ in decision }
            #expect(try await fetching.failure() == FetchFailure(.serverUntrusted))
        }
        #expect(server.requests == 1)
    }

    /// The roots trust the certificate, but it has another host name.
    @Test func `a certificate of another host causes a challenge`() async throws {
        let certificate = try TestCertificate(names: ["elsewhere.example"])
        let server = try await CannedServer.start(tls: certificate.server) { _ in ok("in") }
        var fetching = try fetching(server)
        fetching.trustRoots = try certificate.roots
        fetching.decide = { _ in .ask }
        #expect(try await fetching.failure() != nil)
        fetching.decide = { _ in .use(.serverTrust) }
        #expect(try await fetching.run().body == "in")
    }

    @Test func `a certificate can be trusted for a host without a name`() async throws {
        let certificate = try TestCertificate(names: ["elsewhere.example"])
        let server = try await CannedServer.start(tls: certificate.server) { _ in ok("in") }
        var fetching = try fetching(server, host: "127.0.0.1")
        fetching.decide = { _ in .use(.serverTrust) }
        #expect(try await fetching.run().body == "in")
    }

    /// Another server with another certificate replaces the trusted one before the request.
    @Test func `a changed certificate causes a new challenge and gets no request`() async throws {
        let (first, second) = (try TestCertificate(names: ["a"]), try TestCertificate(names: ["b"]))
        let answered = Tally()
        let server = try await CannedServer.start(tls: first.server) { _ in ok("old") }
        var fetching = try fetching(server)
        let trusted = try first.fingerprint
        fetching.decide = { challenge in
            guard challenge.fingerprint == trusted else { return .acceptAnswer }
            try server.replace(tls: second.server) { _ in
                answered.add()
                return ok("new")
            }
            return .use(.serverTrust)
        }
        #expect(try await fetching.failure() == FetchFailure(.serverUntrusted))
        #expect(server.requests == 0 && answered.count == 0)
    }

    @Test func `an expired certificate fails without a challenge`() async throws {
        let certificate = try TestCertificate(names: ["localhost"], age: 100_000)
        let server = try await CannedServer.start(tls: certificate.server) { _ in ok("in") }
        var fetching = try fetching(server)
        fetching.decide = { _ in .use(.serverTrust) }
        #expect(try await fetching.failure() == FetchFailure(.secureConnectionFailed))
        #expect(server.requests == 0)
    }

    /// App Transport Security requires TLS 1.2 or later.
    @Test func `old versions of TLS are refused`() async throws {
        var tls = try TestCertificate(names: ["localhost"]).server
        tls.minimumTLSVersion = .tlsv1
        tls.maximumTLSVersion = .tlsv11
        let server = try await CannedServer.start(tls: tls) { _ in ok("in") }
        #expect(try await fetching(server).failure() == FetchFailure(.secureConnectionFailed))
    }
}
