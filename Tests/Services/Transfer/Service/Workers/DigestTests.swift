import Contracts
import Foundation
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import TransferService

/// Digest authentication (RFC 7616).
@Suite(.tags(.processes, .stockClient)) struct DigestAuthentication {
    private func answer(
        _ fields: String, user: String = "Mufasa", password: String, nonce: String, times: Int = 1
    ) throws -> String {
        let parsed = try #require(HTTPChallenge.parse(["Digest " + fields]).first)
        var answer = DigestAnswer(
            try #require(DigestChallenge(parsed)), user: user, password: password, clientNonce: nonce)
        for _ in 1..<times { _ = answer.authorization(.GET, "/dir/index.html") }
        return answer.authorization(.GET, "/dir/index.html")
    }

    private static let vector = """
        realm="http-auth@example.org", qop="auth, auth-int", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", \
        opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
        """

    /// RFC 7616 section 3.9.1.
    @Test(arguments: [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ])
    func `the answers match the vectors of RFC 7616`(algorithm: String, response: String) throws {
        let header = try answer(
            Self.vector + ", algorithm=\(algorithm)", password: "Circle of Life",
            nonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")
        let fields = try #require(HTTPChallenge.parse([header]).first)
        #expect(fields.scheme == "digest")
        #expect(
            fields.parameters == [
                "username": "Mufasa", "realm": "http-auth@example.org", "uri": "/dir/index.html",
                "algorithm": algorithm, "nonce": "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", "nc": "00000001",
                "cnonce": "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", "qop": "auth", "response": response,
                "opaque": "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS",
            ])
        // Some servers accept these values only without quotes.
        #expect(header.contains("algorithm=\(algorithm),") && header.contains("qop=auth,"))
        #expect(header.contains("nc=00000001,"))
    }

    /// RFC 2617 section 3.5 and RFC 2069 with its erratum 749.
    @Test func `the answers match the vectors of the older RFCs`() throws {
        let nonce = #"realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093""#
        let later = try answer(nonce + #", qop="auth""#, password: "Circle Of Life", nonce: "0a4f113b")
        #expect(later.contains(#"response="6629fae49393a05397450978507c4ef1""#))
        #expect(!later.contains("algorithm"))
        let first = try answer(nonce, password: "CircleOfLife", nonce: "0a4f113b")
        #expect(first.contains(#"response="1949323746fe6a43ef61f9606e7febea""#))
        #expect(!first.contains("nc=") && !first.contains("cnonce"))
    }

    @Test func `answers count their requests and escape user names`() throws {
        let third = try answer(Self.vector, password: "x", nonce: "y", times: 3)
        #expect(third.contains("nc=00000003"))
        let named = try answer(Self.vector, user: "J\u{E4}s\u{F8}n Doe", password: "x", nonce: "y")
        #expect(named.contains("username*=UTF-8''J%C3%A4s%C3%B8n%20Doe"))
        let quoted = try answer(Self.vector, user: #"a"b\c"#, password: "x", nonce: "y")
        #expect(quoted.contains(#"username="a\"b\\c""#))
        let injected = try answer(Self.vector, user: "a\r\nX: y", password: "x", nonce: "y")
        #expect(!injected.contains("\r"))
    }

    @Test(arguments: [
        #"nonce="n""#, #"realm="r""#, #"realm="r", nonce="n", algorithm=SHA-512-256"#,
        #"realm="r", nonce="n", qop="auth-int""#,
    ])
    func `an incomplete or unsupported challenge is ignored`(fields: String) throws {
        #expect(DigestChallenge(try #require(HTTPChallenge.parse(["Digest " + fields]).first)) == nil)
    }

    @Test(arguments: DigestOrigin.kinds)
    func `a server that accepts curl accepts the answers`(kind: DigestOrigin.Kind) async throws {
        let origin = DigestOrigin(kind)
        let server = try await CannedServer.start { origin.answer($0) }
        func curl(_ password: String) async throws -> String {
            try await Downloader.curl.run([
                "-sS", "--noproxy", "*", "--digest", "-u", "Mufasa:\(password)", server.url("/a/b?c=d%20e"),
            ])
        }
        try #require(try await curl(DigestOrigin.password) == "in", "the server accepts curl")
        try #require(try await curl("wrong") == "out")

        var fetching = try Fetching(server.url("/a/b?c=d%20e"), from: server)
        fetching.decide = { _ in .use(.password(user: "Mufasa", password: DigestOrigin.password)) }
        let outcome = try await fetching.run()
        #expect(outcome.body == "in" && outcome.asked.count == 1)
        fetching.decide = { _ in .use(.password(user: "Mufasa", password: "wrong")) }
        #expect(try await fetching.failure() != nil)
    }

    /// A redirect uses up the nonce. The next nonce is used without another challenge for the app.
    @Test func `a stale nonce is renewed without asking the app`() async throws {
        let origin = DigestOrigin(DigestOrigin.Kind(algorithm: "SHA-256", hasQop: true), usesOfANonce: 1)
        let server = try await CannedServer.start { request in
            let answer = origin.answer(request)
            return answer.hasSuffix("in") && request.path == "/" ? status(302, "Location: /next") : answer
        }
        var fetching = try Fetching(server.url(), from: server)
        fetching.decide = { _ in .use(.password(user: "Mufasa", password: DigestOrigin.password)) }
        let outcome = try await fetching.run()
        #expect(outcome.body == "in" && outcome.asked.count == 1)
        #expect(server.requests == 4, "challenge, redirect, stale nonce, response")
    }

    @Test func `a server that finds every nonce stale is not asked forever`() async throws {
        let origin = DigestOrigin(DigestOrigin.Kind(algorithm: "MD5", hasQop: true), usesOfANonce: 0)
        let server = try await CannedServer.start { origin.answer($0) }
        var fetching = try Fetching(server.url(), from: server)
        fetching.decide = { _ in .use(.password(user: "Mufasa", password: DigestOrigin.password)) }
        #expect(try await fetching.failure() != nil)
        #expect(server.requests == 4)
    }

    @Test func `the digest of an upload contains its method`() async throws {
        let origin = DigestOrigin(DigestOrigin.Kind(algorithm: "SHA-256", hasQop: true))
        let server = try await CannedServer.start { origin.answer($0) }
        var fetching = try Fetching(server.url(), by: .PUT, from: server)
        fetching.request.body = FileBody([FilePiece(holding: ByteBuffer(string: "body"))])
        fetching.decide = { _ in .use(.password(user: "Mufasa", password: DigestOrigin.password)) }
        #expect(try await fetching.run().body == "in")
    }
}
