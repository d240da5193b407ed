import Foundation
import NIOCore
import NIOHTTP1
import Records
import TestSupport
import Testing

/// Answers of apps to challenges over REST.
@Suite(.tags(.database, .processes), .serialized) struct ChallengeAnswers {
    private static let password = #"{"user":"Aladdin","password":"open sesame"}"#

    private static func use(_ credential: String) -> String {
        #"{"disposition":"useCredential","credential":\#(credential)}"#
    }

    /// Runs with an app that has a Basic challenge, while the clock is frozen.
    private func run(
        _ body: (TransferSuite, _ server: CannedServer, _ challenge: String) async throws -> Void
    ) async throws {
        let server = try await CannedServer.start { request in
            request.headers["Authorization"] == ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="]
                ? ok("in") : "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=files\r\nContent-Length: 3\r\n\r\nout"
        }
        let (suite, transfer) = try await TransferSuite.start(origins: [server.url("")])
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone")
        try await suite.freezeClock()
        try await suite.download(server.url())
        try await body(suite, server, try await suite.challenge(of: 1))
    }

    private func credentials(_ suite: TransferSuite) async throws -> String {
        try await suite.sql("SELECT count(*) FROM transfer.credentials")
    }

    @Test func `a credential of another kind is refused`() async throws {
        try await run { suite, server, challenge in
            let fingerprint = #"{"fingerprint":"\#(String(repeating: "ab", count: 32))"}"#
            let mismatch = try await suite.answer(challenge, Self.use(fingerprint))
            #expect(mismatch.status == 422 && mismatch.code == "credential_mismatch")
            for document in [
                Self.use(#"{"fingerprint":"\#(String(repeating: "ab", count: 32))","user":"u","password":"p"}"#),
                Self.use(#"{"token":"x"}"#), Self.use(#"{"user":"u"}"#),
                #"{"disposition":"useCredential"}"#,
                #"{"disposition":"rejectProtectionSpace","credential":\#(Self.password)}"#,
            ] {
                let answer = try await suite.answer(challenge, document)
                #expect(answer.status == 422 && answer.code == "invalid_document", "\(document)")
            }
            #expect(try await credentials(suite) == "0")
            #expect(try await suite.challenge(of: 1) == challenge, "the challenge still waits")
            #expect(try await suite.answer(challenge, Self.use(Self.password)).status == 200)
            let done = try await suite.completed(1)
            #expect(done["response"]?["status"]?.int == 200 && server.requests == 3)
        }
    }

    @Test func `a challenge is answered once`() async throws {
        try await run { suite, server, challenge in
            let other = try await suite.answer(challenge, Self.use(Self.password), app: "other")
            #expect(other.status == 404, "it belongs to another app")
            let key = ["Idempotency-Key": "k"]
            let first = try await suite.answer(challenge, Self.use(Self.password), headers: key)
            #expect(first.status == 200)
            let again = try await suite.answer(challenge, Self.use(Self.password))
            #expect(again.status == 404 && again.code == "unknown_challenge")
            let cancelled = try await suite.answer(challenge, #"{"disposition":"cancelAuthenticationChallenge"}"#)
            #expect(cancelled.code == "unknown_challenge")
            let repeated = try await suite.answer(challenge, Self.use(Self.password), headers: key)
            #expect(repeated.status == 200 && repeated.body == first.body)
            let changed = try await suite.answer(
                challenge, Self.use(#"{"user":"Aladdin","password":"open barley"}"#), headers: key)
            #expect(changed.status == 200 && changed.body == first.body, "no digest of a password is stored")
            let different = try await suite.answer(
                challenge, #"{"disposition":"cancelAuthenticationChallenge"}"#, headers: key)
            #expect(different.status == 422 && different.code == "idempotency_conflict")
            #expect(try await credentials(suite) == "1")
            let done = try await suite.completed(1)
            #expect(done["error"] == .null && done["response"]?["status"]?.int == 200 && server.requests == 3)
        }
    }

    @Test func `an answer after the time limit is refused`() async throws {
        try await run { suite, server, challenge in
            try await suite.stepClock(by: 31)
            let done = try await suite.completed(1)
            #expect(done["error"] == .null && done["response"]?["status"]?.int == 401, "the 401 is the response")
            let late = try await suite.answer(challenge, Self.use(Self.password))
            #expect(late.status == 404 && late.code == "unknown_challenge")
            #expect(try await credentials(suite) == "0")
            #expect(server.requests == 2)
            let answered = try await suite.sql(
                """
                SELECT data->>'disposition', data->>'timedOut' FROM bus.events
                WHERE type = 'transfer.challenge.answered'
                """)
            #expect(answered == "performDefaultHandling|true")
        }
    }

    /// The server gets no request before its certificate is trusted.
    @Test func `only the presented certificate can be trusted`() async throws {
        let certificate = try TestCertificate(names: ["elsewhere.example"])
        let server = try await CannedServer.start(tls: certificate.server) { _ in ok("in") }
        let url = "https://localhost:\(server.port)"
        let (suite, transfer) = try await TransferSuite.start(origins: [url])
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone")
        try await suite.freezeClock()
        try await suite.download(url + "/")
        let challenge = try await suite.challenge(of: 1)
        let other = try TestCertificate(names: ["elsewhere.example"]).fingerprint
        for credential in [#"{"fingerprint":"\#(other)"}"#, Self.password] {
            let answer = try await suite.answer(challenge, Self.use(credential))
            #expect(answer.status == 422 && answer.code == "credential_mismatch", "\(credential)")
        }
        #expect(try await suite.challenge(of: 1) == challenge && server.requests == 0)
        let right = try certificate.fingerprint
        #expect(try await suite.answer(challenge, Self.use(#"{"fingerprint":"\#(right)"}"#)).status == 200)
        #expect(try await suite.completed(1)["response"]?["status"]?.int == 200 && server.requests == 1)
    }

    /// `rejectProtectionSpace` leads to the next offered scheme, and to −1013 after the last one.
    @Test func `a task fails when its app rejects all offered schemes`() async throws {
        let server = try await CannedServer.start { _ in
            status(
                401, #"WWW-Authenticate: Basic realm="files""#,
                #"WWW-Authenticate: Digest realm="files", nonce="n", qop="auth", algorithm=SHA-256"#)
        }
        let (suite, transfer) = try await TransferSuite.start(origins: [server.url("")])
        defer { transfer.signal(SIGTERM) }
        try await suite.prepare("phone")
        try await suite.freezeClock()
        try await suite.download(server.url())
        for method in ["digest", "basic"] {
            let asked = try await suite.task(1, until: "has a \(method) challenge") {
                $0["challenge"]?["authenticationMethod"]?.string == method
            }
            let challenge = try #require(asked["challenge"]?["id"]?.string)
            #expect(try await suite.answer(challenge, #"{"disposition":"rejectProtectionSpace"}"#).status == 200)
        }
        let done = try await suite.completed(1)
        #expect(done["error"]?["code"]?.int == -1013)
        #expect(done.ends == Array(repeating: "authenticationRequired", count: 3) && server.requests == 3)
    }
}
