import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import Records
import Synchronization
import TestSupport
import Testing

/// Tasks from creation to end, with real processes and origins that need redirects or credentials.
@Suite(.tags(.database, .processes), .serialized) struct MovingTasks {
    private static let session = "/v1/devices/phone/apps/app/sessions/s"
    private static let task = session + "/tasks/1"
    private static let bytes = ByteBuffer(randomBytes: 3 << 20)

    private static func sha256(_ buffer: ByteBuffer) -> String {
        SHA256.hash(data: Data(buffer.readableBytesView)).map { String(format: "%02x", $0) }.joined()
    }

    /// Runs with an app in the foreground that has a session.
    private func run(from origins: [String] = [], _ body: (TransferSuite) async throws -> Void) async throws {
        try await runProcess(from: origins) { suite, _ in try await body(suite) }
    }

    private func runProcess(
        from origins: [String] = [], _ body: (TransferSuite, ChildProcess) async throws -> Void
    ) async throws {
        let (suite, transfer) = try await TransferSuite.start(origins: origins)
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone")
        try await body(suite, transfer)
    }

    private func document(_ suite: TransferSuite) async throws -> JSON {
        try await suite.call(.GET, suite.transferPort, Self.task).json
    }

    private func completed(_ suite: TransferSuite) async throws -> JSON {
        try await eventually(within: 300, describe: "the task has finished") {
            try await document(suite)["state"]?.string == "completed"
        }
        return try await document(suite)
    }

    private func download(_ suite: TransferSuite, _ url: String) async throws {
        try await suite.call(
            .POST, suite.transferPort, Self.session + "/downloads", #"{"resume":true,"url":"\#(url)"}"#)
    }

    /// Waits for the challenge and answers it.
    private func answer(_ suite: TransferSuite, with credential: (JSON) -> String) async throws -> JSON {
        try await eventually(within: 60, describe: "the app has a challenge") {
            try await document(suite)["challenge"]?["id"]?.string != nil
        }
        let challenge = try #require(try await document(suite)["challenge"])
        try await suite.call(
            .POST, suite.transferPort, "/v1/devices/phone/apps/app/challenges/\(try #require(challenge["id"]?.string))",
            #"{"disposition":"useCredential","credential":\#(credential(challenge))}"#)
        return challenge
    }

    private func isAskedAgain(_ suite: TransferSuite, failures: Int) async throws {
        try await eventually(within: 60, describe: "the app has a second challenge") {
            try await document(suite)["challenge"]?["previousFailureCount"]?.int == failures
        }
    }

    private static let password = #"{"user":"Aladdin","password":"open sesame"}"#

    @Test func `an upload arrives after a redirect and a challenge`() async throws {
        let received = Received()
        let server = try await CannedServer.start { request in
            if request.path == "/" { return status(307, "Location: /target") }
            guard request.headers["Authorization"] == ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="] else {
                return status(401, #"WWW-Authenticate: Basic realm="files""#)
            }
            received.request.withLock { $0 = request }
            return "HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nthere"
        }
        try await run(from: [server.url("")]) { suite in
            _ = try await suite.send(
                .PUT, suite.transferPort, "/v1/devices/phone/apps/app/files/film",
                headers: ["Content-Type": "video/mp4"], Self.bytes)
            try await suite.call(
                .POST, suite.transferPort, Self.session + "/uploads",
                #"{"resume":true,"url":"\#(server.url())","method":"PUT","file":"film","headers":{"X-Own":"1"}}"#)
            let challenge = try await answer(suite) { _ in Self.password }
            #expect(challenge["authenticationMethod"]?.string == "basic" && challenge["realm"]?.string == "files")
            let done = try await completed(suite)

            #expect(done["error"] == .null && done["response"]?["status"]?.int == 201)
            #expect(done["bytesSent"]?.int == Self.bytes.readableBytes)
            #expect(done["currentURL"]?.string == server.url("/target"))
            #expect(done["sha256"]?.string == Self.sha256(ByteBuffer(string: "there")))
            let last = received.request.withLock(\.self)
            let request = try #require(last)
            #expect(request.method == "PUT" && request.headers["X-Own"] == ["1"])
            #expect(request.headers["Content-Type"] == ["video/mp4"])
            #expect(Self.sha256(request.body) == Self.sha256(Self.bytes))
            let events = try await suite.events("phone")
            for type in ["redirect.followed", "challenge.received", "challenge.answered", "body.sent"] {
                #expect(events.contains("transfer." + type), "\(type)")
            }
            let secrets = try await suite.cluster.sql(
                "SELECT count(*) FROM bus.events WHERE data::text LIKE '%sesame%'", database: suite.database)
            #expect(secrets.trimmingCharacters(in: .whitespacesAndNewlines) == "0", "credentials are not in the log")
        }
    }

    private final class Received: Sendable { let request = Mutex<CannedRequest?>(nil) }

    @Test func `a wrong password causes another challenge`() async throws {
        let origin = DigestOrigin(DigestOrigin.Kind(algorithm: "SHA-256", hasQop: true))
        let server = try await CannedServer.start { origin.answer($0) }
        try await run(from: [server.url("")]) { suite in
            try await download(suite, server.url())
            let first = try await answer(suite) { _ in #"{"user":"Mufasa","password":"wrong"}"# }
            #expect(first["authenticationMethod"]?.string == "digest")
            try await isAskedAgain(suite, failures: 1)
            _ = try await answer(suite) { _ in #"{"user":"Mufasa","password":"wrong again"}"# }
            try await isAskedAgain(suite, failures: 2)
            let right = JSON.object(["user": .string("Mufasa"), "password": .string(DigestOrigin.password)])
            _ = try await answer(suite) { _ in String(decoding: right.bytes, as: UTF8.self) }
            let done = try await completed(suite)
            #expect(done["sha256"]?.string == Self.sha256(ByteBuffer(string: "in")))
        }
    }

    @Test func `an app can trust a certificate by its fingerprint`() async throws {
        let certificate = try TestCertificate(names: ["elsewhere.example"])
        let server = try await CannedServer.start(tls: certificate.server) { _ in ok("in") }
        let url = "https://localhost:\(server.port)"
        try await run(from: [url]) { suite in
            try await download(suite, url + "/")
            let challenge = try await answer(suite) { #"{"fingerprint":"\#($0["fingerprint"]?.string ?? "")"}"# }
            #expect(challenge["authenticationMethod"]?.string == "serverTrust")
            #expect(challenge["fingerprint"]?.string == (try certificate.fingerprint))
            let done = try await completed(suite)
            #expect(done["error"] == .null && done["sha256"]?.string == Self.sha256(ByteBuffer(string: "in")))
        }
    }

    @Test(arguments: ["sha-256", "sha-512"])
    func `bytes that do not match Repr-Digest fail the task`(algorithm: String) async throws {
        let text = ByteBuffer(string: "in")
        let right =
            algorithm == "sha-256"
            ? Data(SHA256.hash(data: Data(text.readableBytesView)))
            : Data(SHA512.hash(data: Data(text.readableBytesView)))
        let server = try await CannedServer.start { request in
            let digest = request.path == "/right" ? right : Data([0])
            return "HTTP/1.1 200 OK\r\nRepr-Digest: \(algorithm)=:\(digest.base64EncodedString()):\r\n"
                + "Content-Length: 2\r\n\r\nin"
        }
        try await run(from: [server.url("")]) { suite in
            try await download(suite, server.url("/wrong"))
            let done = try await completed(suite)
            #expect(done["error"]?["code"]?.int == -1016)
            #expect((done["attempts"]?.items ?? []).map { $0["end"]?.string } == ["digestMismatch"])
            try await download(suite, server.url("/right"))
            try await eventually(within: 60, describe: "the other task has finished") {
                let other = try await suite.call(.GET, suite.transferPort, Self.session + "/tasks/2").json
                return other["state"]?.string == "completed" && other["error"] == .null
            }
        }
    }

    /// The service sends the file to itself and fetches it again.
    @Test func `a file of 256 MiB is sent and fetched in less than 48 MiB of memory`() async throws {
        try await runProcess { suite, transfer in
            let bytes = ByteBuffer(repeating: 7, count: 256 << 20)
            let url = "http://127.0.0.1:\(suite.proxy.port)/content/copy"
            let file = try await suite.send(
                .PUT, suite.transferPort, "/v1/devices/phone/apps/app/files/large", bytes)
            try Memory.forgetMost(of: transfer.pid)
            let before = try Memory.now(of: transfer.pid)
            try await suite.call(
                .POST, suite.transferPort, Self.session + "/uploads",
                #"{"resume":true,"url":"\#(url)","method":"PUT","file":"large"}"#)
            let sent = try await completed(suite)
            #expect(sent["response"]?["status"]?.int == 201 && sent["bytesSent"]?.int == bytes.readableBytes)
            try await download(suite, url)
            let second = Self.session + "/tasks/2"
            try await eventually(within: 300, describe: "the copy is downloaded") {
                try await suite.call(.GET, suite.transferPort, second).json["state"]?.string == "completed"
            }
            let got = try await suite.call(.GET, suite.transferPort, second).json
            #expect(got["sha256"]?.string == file.json["sha256"]?.string)
            let grown = try Memory.most(of: transfer.pid) - before
            #expect(grown < 48 << 20, "\(grown >> 20) MiB more")
        }
    }

    /// At EDGE speed 20 MB take more than ten minutes. Then the device enters a faster network.
    @Test func `a download is as slow as the network of its device`() async throws {
        try await run { suite in
            let bytes = ByteBuffer(randomBytes: 20 << 20)
            _ = try await suite.send(.PUT, suite.transferPort, "/content/big", bytes)
            try await suite.call(
                .PATCH, suite.lifecyclePort, "/v1/devices/phone/conditions",
                #"{"network":{"kind":"cellular","shape":"edge"}}"#)
            try await eventually(within: 60, describe: "the network is known") {
                try await suite.cluster.sql(
                    "SELECT 1 FROM bus.events WHERE type = 'transfer.device.updated' AND data::text LIKE '%edge%'",
                    database: suite.database
                ).hasPrefix("1")
            }
            try await download(suite, "http://127.0.0.1:\(suite.proxy.port)/content/big")
            try await eventually(within: 60, describe: "some bytes are received") {
                try await document(suite)["bytesReceived"]?.int ?? 0 > 0
            }
            let early = try await document(suite)
            #expect(early["bytesReceived"]?.int ?? 0 < 2 << 20)
            try await suite.call(
                .PATCH, suite.lifecyclePort, "/v1/devices/phone/conditions",
                #"{"network":{"kind":"cellular","shape":"5g"}}"#)
            let done = try await completed(suite)
            #expect(done["sha256"]?.string == Self.sha256(bytes))
            #expect((done["attempts"]?.items ?? []).count == 1, "the same attempt continued")
        }
    }
}
