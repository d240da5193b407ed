import Contracts
import NIOHTTP1
import OrderedCollections
import Synchronization
import TestSupport
import Testing

@testable import TransferService

/// Challenges of servers and the credentials that are sent.
@Suite struct Authentication {
    private static let basic = status(401, #"WWW-Authenticate: Basic realm="files""#)

    private static func challenge(
        _ method: AuthenticationMethod, _ server: CannedServer, realm: String? = "files", failures: Int = 0
    ) -> AuthenticationChallenge {
        var challenge = AuthenticationChallenge()
        challenge.authenticationMethod = method
        challenge.host = "127.0.0.1"
        challenge.port = server.port
        challenge.realm = realm
        challenge.previousFailureCount = failures
        return challenge
    }

    /// RFC 7617 sections 2 and 2.1.
    @Test(arguments: [
        ("Aladdin", "open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        ("test", "123\u{A3}", "Basic dGVzdDoxMjPCow=="),
        ("", "", "Basic Og=="),
    ])
    func `Basic credentials match the examples of RFC 7617`(user: String, password: String, want: String) async throws {
        let server = try await CannedServer.start { request in
            request.headers["Authorization"] == [want] ? ok("in") : Self.basic
        }
        var fetching = try Fetching(server.url(), from: server)
        fetching.decide = { _ in .use(.password(user: user, password: password)) }
        let outcome = try await fetching.run()
        #expect(outcome.body == "in")
        #expect(outcome.asked == [Self.challenge(.basic, server)])
    }

    /// A request with its own token gets the answer of the server, because Bearer is no challenge for an app.
    @Test func `a 401 that offers only Bearer is the response`() async throws {
        let server = try await CannedServer.start { request in
            request.headers["Authorization"] == ["Bearer mF_9.B5f-4.1JqM"]
                ? ok("in") : status(401, #"WWW-Authenticate: Bearer realm="files", error="invalid_token""#)
        }
        for (token, code) in [("mF_9.B5f-4.1JqM", 200), ("expired", 401)] {
            var fetching = try Fetching(server.url(), from: server, headers: ["Authorization": "Bearer \(token)"])
            fetching.decide = { _ in .ask }
            let outcome = try await fetching.run()
            #expect(outcome.status == code && outcome.asked.isEmpty)
        }
        #expect(server.requests == 2)
    }

    /// The answer to a challenge replaces the refused field of the request.
    @Test func `a Basic challenge follows a refused Authorization of the request`() async throws {
        let server = try await CannedServer.start { request in
            request.headers["Authorization"] == ["Basic dTpw"] ? ok("in") : Self.basic
        }
        var fetching = try Fetching(server.url(), from: server, headers: ["Authorization": "Bearer old"])
        fetching.decide = { _ in .use(.password(user: "u", password: "p")) }
        let outcome = try await fetching.run()
        #expect(outcome.body == "in" && outcome.asked == [Self.challenge(.basic, server)])
    }

    @Test func `a proxy challenge is answered in Proxy-Authorization`() async throws {
        let server = try await CannedServer.start { request in
            request.headers["Proxy-Authorization"] == ["Basic dTpw"]
                ? ok("in") : status(407, #"Proxy-Authenticate: Basic realm="files""#)
        }
        var fetching = try Fetching(server.url(), from: server)
        fetching.decide = { _ in .use(.password(user: "u", password: "p")) }
        let outcome = try await fetching.run()
        #expect(outcome.body == "in" && outcome.asked.map(\.isProxy) == [true])
    }

    @Test func `without a credential the 401 is the response`() async throws {
        let server = try await CannedServer.start { _ in
            "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=files\r\nContent-Length: 4\r\n\r\nsay!"
        }
        let outcome = try await Fetching(server.url(), from: server).run()
        #expect(outcome.status == 401 && outcome.body == "say!" && outcome.asked.count == 1)
        let unknown = try await CannedServer.start { _ in status(401, "WWW-Authenticate: Negotiate") }
        let negotiated = try await Fetching(unknown.url(), from: unknown).run()
        #expect(negotiated.status == 401 && negotiated.asked.isEmpty)
    }

    @Test func `an unknown protection space ends the attempt with a challenge`() async throws {
        let server = try await CannedServer.start { _ in Self.basic }
        var fetching = try Fetching(server.url(), from: server)
        fetching.decide = { _ in .ask }
        #expect(try await fetching.failure() == FetchFailure(.authenticationRequired, Self.challenge(.basic, server)))
        #expect(server.requests == 1)
    }

    @Test func `a refused credential is not sent twice`() async throws {
        let server = try await CannedServer.start { _ in Self.basic }
        var fetching = try Fetching(server.url(), from: server)
        fetching.decide = { _ in .use(.password(user: "u", password: "wrong")) }
        let failure = FetchFailure(.authenticationRequired, Self.challenge(.basic, server, failures: 1))
        #expect(try await fetching.failure() == failure)
        #expect(server.requests == 2)
    }

    @Test func `of several schemes the strongest known one is asked for first`() async throws {
        let digest = #"Digest realm="files", nonce="n""#
        let server = try await CannedServer.start { _ in
            status(
                401, #"WWW-Authenticate: Basic realm="files", Negotiate, \#(digest)"#,
                #"WWW-Authenticate: Bearer, \#(digest), algorithm=SHA-256, \#(digest), algorithm=SHA-512-256"#)
        }
        var fetching = try Fetching(server.url(), from: server)
        let asked = Asked()
        fetching.decide = { challenge in
            asked.all.withLock { $0.append(challenge) }
            return .reject
        }
        #expect(try await fetching.failure() == FetchFailure(.authenticationRequired))
        #expect(
            asked.all.withLock(\.self) == [Self.challenge(.digest, server), Self.challenge(.basic, server)])
    }

    private final class Asked: Sendable { let all = Mutex<[AuthenticationChallenge]>([]) }

    @Test func `credentials are not sent to another origin after a redirect`() async throws {
        let second = try await CannedServer.start { request in
            ok(request.headers.contains(name: "Authorization") ? "told" : "kept")
        }
        let first = try await CannedServer.start { request in
            request.headers.contains(name: "Authorization")
                ? status(302, request.path == "/near" ? "Location: /x" : "Location: \(second.url())") : Self.basic
        }
        var fetching = try Fetching(first.url("/away"), from: first, second)
        fetching.decide = { _ in .use(.password(user: "u", password: "p")) }
        #expect(try await fetching.run().body == "kept")
    }

    @Test func `a credential is asked for once per origin`() async throws {
        let server = try await CannedServer.start { request in
            guard request.headers["Authorization"] == ["Basic dTpw"] else { return Self.basic }
            return request.path == "/" ? status(302, "Location: /next") : ok("in")
        }
        var fetching = try Fetching(server.url(), from: server)
        fetching.decide = { _ in .use(.password(user: "u", password: "p")) }
        let outcome = try await fetching.run()
        #expect(outcome.body == "in" && outcome.asked.count == 1 && server.requests == 3)
    }

    @Test func `printed credentials do not show their secrets`() {
        let credential = Credential.password(user: "u5er", password: "5ecret")
        let headers = SecretHeaders(values: ["Authorization": "Bearer 5ecret"])
        for secret in [credential, headers] as [any Sendable] {
            for text in ["\(secret)", String(reflecting: secret), "\([secret])", "\(secret as Any)"] {
                #expect(!text.contains("5e"), "\(text.count)")
            }
            var dumped = ""
            dump(secret, to: &dumped)
            #expect(!dumped.contains("5e"))
        }
        #expect(!"\(ChallengeDecision.use(credential))".contains("5e"))
    }
}

/// Parsing of challenges (RFC 9110 section 11.6.1).
@Suite struct ChallengeFields {
    private func read(_ fields: String...) -> [HTTPChallenge] { HTTPChallenge.parse(fields) }

    @Test func `fields with several challenges are parsed`() {
        // The example of the RFC.
        #expect(
            read(#"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#) == [
                HTTPChallenge(scheme: "basic", parameters: ["realm": "simple"]),
                HTTPChallenge(
                    scheme: "newauth", parameters: ["realm": "apps", "type": "1", "title": #"Login to "apps""#]),
            ])
        #expect(read("A x=1", "B , , C").map(\.scheme) == ["a", "b", "c"])
        #expect(read("Negotiate YWJj==, Basic realm=a").map(\.scheme) == ["negotiate", "basic"])
        #expect(read("NTLM, Bearer").map(\.scheme) == ["ntlm", "bearer"])
        #expect(
            read(", ,Basic  realm = \"a, b=c\" ,charset=UTF-8, ")
                == [HTTPChallenge(scheme: "basic", parameters: ["realm": "a, b=c", "charset": "UTF-8"])])
        #expect(read("Basic REALM=a, realm=b") == [HTTPChallenge(scheme: "basic", parameters: ["realm": "a"])])
    }

    @Test(arguments: ["", ",", "=", "Basic realm=\"a", "Basic realm=\"a\\", "\"Basic\"", "Basic;x=1"])
    func `an invalid field has no challenges`(field: String) { #expect(read(field).isEmpty) }

    @Test func `challenges before an error in a field count`() {
        #expect(
            read(#"Basic realm="a "b"", charset=UTF-8, Bearer"#) == [
                HTTPChallenge(scheme: "basic", parameters: ["realm": "a ", "charset": "UTF-8"]),
                HTTPChallenge(scheme: "bearer"),
            ])
        #expect(read("Basic realm=a, Digest realm=\"b", "Bearer").map(\.scheme) == ["basic", "bearer"])
    }

    @Test func `random challenge fields are parsed without a crash`() async throws {
        let words = ["Basic", " ", ",", "=", "\"", "\\", "realm", "a", "==", "\t", "Digest", "\u{E9}", ";"]
        try await propertyTest(seedsFrom: 1, count: 2000) { generator in
            let count = Int.random(in: 0...12, using: &generator)
            let field = (0..<count).map { _ in words.randomElement(using: &generator) ?? "" }.joined()
            #expect(HTTPChallenge.parse([field]).count <= field.count)
        }
    }
}
