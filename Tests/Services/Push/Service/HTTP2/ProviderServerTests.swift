import Contracts
import Foundation
import Logging
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import ServiceKit
import ServiceLifecycle
import Synchronization
import Telemetry
import TestSupport
import Testing
import Timeline

@testable import PushService

/// The transport alone, with stub answers.
@Suite(.timeLimit(.minutes(2))) struct ProviderServerTests {
    /// Runs a server with a development authority while the body runs.
    private func withServer(
        _ limits: ProviderServer.Limits = .init(),
        answering: @escaping ProviderAnswering = { request, _ in
            ProviderAnswer(
                status: 200,
                headers: [.init("apns-id", request.header("apns-id") ?? "none"), .init("path", request.path)])
        },
        _ body: @Sendable @escaping (Served) async throws -> Void
    ) async throws {
        let folder = URL.temporaryDirectory.appending(path: "dormouse-apns-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let logger = Logger(label: "test")
        let server = ProviderServer(limits: limits, metrics: Metrics(), logger: logger, answering: answering)
        let authority = try DevelopmentAuthority.open(folder)
        let settings = ProviderTLS.Settings(SettingsReader(["APNS_CERTIFICATES": folder.path]))
        let port = try await server.listen(
            host: "127.0.0.1", port: 0, tls: try ProviderTLS(settings, logger: logger))
        let group = ServiceGroup(services: [server], logger: logger)
        try await group.run {
            try await body(Served(port: port, authority: authority, stop: { await group.triggerGracefulShutdown() }))
        }
    }

    private struct Served: Sendable {
        let port: Int
        let authority: DevelopmentAuthority
        let stop: @Sendable () async -> Void

        func connect(certificate: String? = nil) async throws -> HTTP2Client {
            try await .connect(port: port, authority: authority.caFile.path, certificate: certificate)
        }
    }

    @Test func `a 200 ends with its headers and an error has one data frame`() async throws {
        try await withServer(answering: { request, _ in
            request.path == "/good"
                ? .taken(apnsID: "a", uniqueID: "u") : .refused(.unregistered, apnsID: "b", timestamp: 7)
        }) { served in
            let client = try await served.connect()
            let good = try await client.exchange(1, "POST", "/good", body: Array("{}".utf8))
            #expect(good.status == "200" && good.endedOnHeaders)
            #expect(good.headers.first(name: "apns-unique-id") == "u")
            let bad = try await client.exchange(3, "POST", "/bad")
            #expect(bad.status == "410" && !bad.endedOnHeaders)
            #expect(bad.text == #"{"reason":"Unregistered","timestamp":7}"#)
            #expect(bad.headers.first(name: "content-type") == "application/json")
            await client.close()
        }
    }

    @Test func `a connection has one stream until a valid credential`() async throws {
        try await withServer(answering: try await Self.admitting()) { served in
            let client = try await served.connect()
            #expect(try await Self.streams(client) == 1)
            _ = try await client.exchange(1, "POST", "/other")
            try await client.request(3, "POST", "/good")
            #expect(try await Self.streams(client) == 1000)
            for stream in stride(from: 5, to: 205, by: 2) { try await client.request(stream, "POST", "/more") }
            #expect(try await client.answer(203).status == "200")
            await client.close()
        }
    }

    /// Returns an endpoint that admits the connection's provider at the path `/good`.
    private static func admitting() async throws -> ProviderAnswering {
        let signer = ProviderSigner()
        let key = try signer.registered()
        let now = Instant(milliseconds: 1_750_000_000_000)
        let token = try #require(ProviderToken(try await signer.token(issuedAt: now)))
        return { request, connection in
            if request.path == "/good" {
                _ = connection.session.withLock {
                    try? $0.admit(token, keys: [key], environment: .sandbox, now: now)
                }
            }
            return .taken(apnsID: "a", uniqueID: nil)
        }
    }

    private static func streams(_ client: HTTP2Client) async throws -> Int? {
        try await client.next { frame in
            guard case .settings(.settings(let settings)) = frame.payload else { return nil }
            return settings.first { $0.parameter == .maxConcurrentStreams }?.value
        }
    }

    @Test func `GOAWAY has a reason and requests in progress are answered`() async throws {
        let began = Signal<Void>()
        let goOn = Signal<Void>()
        try await withServer(answering: { request, _ in
            began.fire(())
            try? await goOn.value()
            return .taken(apnsID: "late", uniqueID: nil)
        }) { served in
            let client = try await served.connect()
            try await client.request(1, "POST", "/slow")
            try await began.value()
            await served.stop()
            #expect(try await client.goAway() == #"{"reason":"Shutdown"}"#)
            goOn.fire(())
            #expect(try await client.answer(1).headers.first(name: "apns-id") == "late")
            try await client.closed()
        }
    }

    @Test(arguments: [("/3/device/x", "apns-id"), ("/4/broadcasts/apps/com.example.app", "apns-request-id")])
    func `a request that ends after GOAWAY gets Shutdown`(_ path: String, _ header: String) async throws {
        let id = "0d4ed9a6-7b5f-4f10-a9a2-1f2f6f0a8f11"
        try await withServer { served in
            let client = try await served.connect()
            try await client.request(1, "POST", path, [(header, id)], body: Array(#"{"aps":"#.utf8), ends: false)
            // This answer shows that the server has the beginning of the first request.
            try await client.send(0, .ping(HTTP2PingData(withInteger: 7), ack: false))
            let answered = try await client.next { frame -> Bool? in
                guard case .ping(_, ack: true) = frame.payload else { return nil }
                return true
            }
            #expect(answered == true)
            await served.stop()
            #expect(try await client.goAway() == #"{"reason":"Shutdown"}"#)
            let rest = IOData.byteBuffer(ByteBuffer(string: "{}}"))
            try await client.send(1, .data(.init(data: rest, endStream: true)))
            let answer = try await client.answer(1)
            #expect(answer.status == "503" && answer.text == #"{"reason":"Shutdown"}"#)
            #expect(answer.headers.first(name: header) == id)
            try await client.closed()
        }
    }

    @Test func `an idle connection gets GOAWAY with IdleTimeout`() async throws {
        var limits = ProviderServer.Limits()
        limits.idle = .milliseconds(50)
        try await withServer(limits, answering: try await Self.admitting()) { served in
            let client = try await served.connect()
            #expect(try await client.exchange(1, "POST", "/good").status == "200")
            #expect(try await client.goAway() == #"{"reason":"IdleTimeout"}"#)
            try await client.closed()
        }
    }

    @Test func `a connection without requests gets the timeout of a request`() async throws {
        var limits = ProviderServer.Limits()
        limits.handshake = .seconds(1)
        try await withServer(limits) { served in
            let client = try await served.connect()
            #expect(try await client.goAway() == #"{"reason":"IdleTimeout"}"#)
            try await client.closed()
        }
    }

    @Test func `a refused request does not extend the time for a valid credential`() async throws {
        var limits = ProviderServer.Limits()
        limits.handshake = .seconds(1)
        try await withServer(limits, answering: { _, _ in .refused(.invalidProviderToken, apnsID: "a") }) { served in
            let client = try await served.connect()
            #expect(try await client.exchange(1, "POST", "/").status == "403")
            #expect(try await client.goAway() == #"{"reason":"IdleTimeout"}"#)
            try await client.closed()
        }
    }

    @Test func `a request in progress is answered before a connection without a credential ends`() async throws {
        var limits = ProviderServer.Limits()
        limits.handshake = .milliseconds(100)
        limits.request = .milliseconds(500)
        try await withServer(limits) { served in
            let client = try await served.connect()
            try await client.request(1, "POST", "/slow", ends: false)
            let answer = try await client.answer(1)
            #expect(answer.status == "400" && answer.text == #"{"reason":"IdleTimeout"}"#)
            #expect(try await client.goAway() == #"{"reason":"IdleTimeout"}"#)
            try await client.closed()
        }
    }

    @Test func `a body that does not arrive gets IdleTimeout and a reset`() async throws {
        var limits = ProviderServer.Limits()
        limits.request = .milliseconds(50)
        try await withServer(limits) { served in
            let client = try await served.connect()
            try await client.request(
                1, "POST", "/slow", [("apns-id", "0d4ed9a6-7b5f-4f10-a9a2-1f2f6f0a8f11")], ends: false)
            let answer = try await client.answer(1)
            #expect(answer.status == "400" && answer.text == #"{"reason":"IdleTimeout"}"#)
            #expect(answer.headers.first(name: "apns-id") == "0d4ed9a6-7b5f-4f10-a9a2-1f2f6f0a8f11")
            // Channels use another id header.
            try await client.request(5, "POST", "/4/broadcasts/apps/com.example.app", ends: false)
            let ofChannel = try await client.answer(5)
            #expect(ofChannel.status == "400" && ofChannel.headers.contains(name: "apns-request-id"))
            // The connection stays open.
            #expect(try await client.exchange(7, "POST", "/next").status == "200")
            await client.close()
        }
    }

    @Test func `a body above the limit is not read to its end`() async throws {
        try await withServer(answering: { request, _ in
            request.body == nil ? .refused(.payloadTooLarge, apnsID: "x") : .taken(apnsID: "y", uniqueID: nil)
        }) { served in
            let client = try await served.connect()
            try await client.request(1, "POST", "/big", body: Array(repeating: 0x20, count: 6000), ends: false)
            #expect(try await client.answer(1).status == "413")
            let exact = Array(repeating: UInt8(0x20), count: ProviderRequest.bodyLimit)
            #expect(try await client.exchange(3, "POST", "/exact", body: exact).status == "200")
            await client.close()
        }
    }

    @Test func `a client certificate is verified and passed on`() async throws {
        try await withServer(answering: { _, connection in
            let words = connection.certificate.map { certificate in
                let environments = certificate.environments.map(\.rawValue).sorted().joined(separator: ",")
                return "\(certificate.topic ?? "invalid") \(environments)"
            }
            return ProviderAnswer(status: 200, headers: [.init("seen", words ?? "none")])
        }) { served in
            func seen(_ certificate: String?) async throws -> String? {
                let client = try await served.connect(certificate: certificate)
                defer { Task { await client.close() } }
                return try await client.exchange(1, "POST", "/").headers.first(name: "seen")
            }
            let other = served.authority.folder.appending(path: "other")
            let stranger = try DevelopmentAuthority.open(other)
            let sandbox = try Self.issue(served.authority, "sandbox.pem", [.sandbox])
            #expect(try await seen(nil) == "none")
            #expect(try await seen(sandbox) == "com.example.app sandbox")
            #expect(
                try await seen(try Self.issue(served.authority, "both.pem", [])) == "com.example.app production,sandbox"
            )
            #expect(try await seen(try Self.issue(served.authority, "old.pem", [], days: 0)) == "invalid ")
            #expect(try await seen(try Self.issue(stranger, "strange.pem", [])) == "invalid ")
        }
    }

    private static func issue(
        _ authority: DevelopmentAuthority, _ name: String, _ environments: [PushEnvironment], days: Int = 1
    ) throws -> String {
        let issued = try authority.issueClientCertificate(
            topic: "com.example.app", environments: environments, days: days)
        let file = authority.folder.appending(path: name)
        try (issued.certificate + "\n" + issued.key).write(to: file, atomically: true, encoding: .utf8)
        return file.path
    }

    @Test func `the authority is kept and its certificate is renewed for other names`() throws {
        let folder = URL.temporaryDirectory.appending(path: "dormouse-apns-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let first = try DevelopmentAuthority.open(folder)
        try first.provideServerCertificate(["localhost", "127.0.0.1", "::1"])
        let server = try Data(contentsOf: first.serverFile)
        let second = try DevelopmentAuthority.open(folder)
        #expect(second.certificate == first.certificate)
        try second.provideServerCertificate(["localhost", "127.0.0.1", "::1"])
        #expect(try Data(contentsOf: first.serverFile) == server)
        try second.provideServerCertificate(["push.example"])
        #expect(try Data(contentsOf: first.serverFile) != server)
        // An empty file counts as missing.
        try Data().write(to: first.serverFile)
        try second.provideServerCertificate(["push.example"])
        #expect(try !Data(contentsOf: first.serverFile).isEmpty)
        for secret in ["ca-key.pem", "server-key.pem"] {
            let file = folder.appending(path: secret)
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }
}
