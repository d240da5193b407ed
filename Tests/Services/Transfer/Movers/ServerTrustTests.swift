import Contracts
import NIOCore
import NIOSSL
import Synchronization
import TestSupport
import Testing

@testable import TransferService

/// Servers whose certificates the system does not trust.
@Suite struct ServerTrusts {
    private func fetching(_ server: CannedServer, host: String = "localhost") throws -> Fetching {
        try Fetching("https://\(host):\(server.port)/", from: server)
    }

    @Test func whatTheSystemTrustsIsNoQuestion() async throws {
        let certificate = try TestCertificate(names: ["localhost"])
        let server = try await CannedServer.start(tls: certificate.server) { _ in ok("in") }
        var fetching = try fetching(server)
        fetching.trustRoots = try certificate.roots
        let outcome = try await fetching.run()
        #expect(outcome.body == "in" && outcome.asked.isEmpty)
    }

    @Test(arguments: [true, false])
    func anUnknownOneIsAskedAboutByItsFingerprint(isSelfSigned: Bool) async throws {
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
        #expect(server.requests == 1, "nothing was sent before it was trusted")

        fetching.decide = { _ in .ask }
        #expect(try await fetching.failure() == FetchFailure(.authenticationRequired, challenge))
        for decision in [ChallengeDecision.reject, .acceptAnswer] {
            fetching.decide = { _ in decision }
            #expect(try await fetching.failure() == FetchFailure(.serverUntrusted))
        }
        #expect(server.requests == 1)
    }

    /// Trusted by the system's roots, but not under this name.
    @Test func anotherServersCertificateIsAskedAboutToo() async throws {
        let certificate = try TestCertificate(names: ["elsewhere.example"])
        let server = try await CannedServer.start(tls: certificate.server) { _ in ok("in") }
        var fetching = try fetching(server)
        fetching.trustRoots = try certificate.roots
        fetching.decide = { _ in .ask }
        #expect(try await fetching.failure() != nil)
        fetching.decide = { _ in .use(.serverTrust) }
        #expect(try await fetching.run().body == "in")
    }

    @Test func anAddressHasACertificateLikeAName() async throws {
        let certificate = try TestCertificate(names: ["elsewhere.example"])
        let server = try await CannedServer.start(tls: certificate.server) { _ in ok("in") }
        var fetching = try fetching(server, host: "127.0.0.1")
        fetching.decide = { _ in .use(.serverTrust) }
        #expect(try await fetching.run().body == "in")
    }

    /// The one that was vouched for is gone before the request goes: another takes its place, and gets nothing.
    @Test func aChangedOneIsAskedAboutAnew() async throws {
        let (first, second) = (try TestCertificate(names: ["a"]), try TestCertificate(names: ["b"]))
        let server = Replacement()
        let old = try await CannedServer.start(tls: first.server) { _ in ok("old") }
        let port = old.port
        var fetching = try fetching(old)
        let trusted = try first.fingerprint
        fetching.decide = { challenge in
            guard challenge.fingerprint == trusted else { return .acceptAnswer }
            try await old.stop()
            server.set(try await CannedServer.start(port: port, tls: second.server) { _ in ok("new") })
            return .use(.serverTrust)
        }
        #expect(try await fetching.failure() == FetchFailure(.serverUntrusted))
        #expect(server.requests == 0)
    }

    private final class Replacement: Sendable {
        private let server = Mutex<CannedServer?>(nil)
        var requests: Int { server.withLock { $0?.requests } ?? -1 }
        func set(_ next: CannedServer) { server.withLock { $0 = next } }
    }

    @Test func anExpiredOneIsNobodysQuestion() async throws {
        let certificate = try TestCertificate(names: ["localhost"], age: 100_000)
        let server = try await CannedServer.start(tls: certificate.server) { _ in ok("in") }
        var fetching = try fetching(server)
        fetching.decide = { _ in .use(.serverTrust) }
        #expect(try await fetching.failure() == FetchFailure(.secureConnectionFailed))
        #expect(server.requests == 0)
    }

    /// App Transport Security wants TLS 1.2 at least.
    @Test func oldVersionsOfTLSAreNotSpoken() async throws {
        var tls = try TestCertificate(names: ["localhost"]).server
        tls.minimumTLSVersion = .tlsv1
        tls.maximumTLSVersion = .tlsv11
        let server = try await CannedServer.start(tls: tls) { _ in ok("in") }
        #expect(try await fetching(server).failure() == FetchFailure(.secureConnectionFailed))
    }
}
